/* An ELF file with much code that nothing describes, as browsers have: made in memory. */
#ifndef TEST_LIB_LARGE_TEXT_H
#define TEST_LIB_LARGE_TEXT_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_TEXT_OFFSET 0x1000u /* in the file, and the address */
#define LARGE_TEXT_FUNCTION 64u   /* bytes; each calls the next one */
#define LARGE_TEXT_CALL 8u        /* in the function */
#define LARGE_TEXT_RETURN 14u

/* Returns the file, of LARGE_TEXT_OFFSET + text_bytes; the caller frees it. */
static inline uint8_t *large_text_new(size_t text_bytes)
{
	/* push %rbp; mov %rsp,%rbp; sub $0x40,%rsp; call; leave; ret */
	static const uint8_t function[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40,
					   0xe8, 0x33, 0,    0,    0,    0xc9, 0xc3};
	uint8_t *file = malloc(LARGE_TEXT_OFFSET + text_bytes);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)(void *)file;
	Elf64_Phdr *ph = (Elf64_Phdr *)(void *)(file + sizeof(*eh));

	if (!file)
		return NULL;
	memset(file, 0xcc, LARGE_TEXT_OFFSET + text_bytes);
	memset(file, 0, LARGE_TEXT_OFFSET);
	*eh = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(*eh),
		.e_ehsize = sizeof(*eh),
		.e_phentsize = sizeof(*ph),
		.e_phnum = 1,
	};
	*ph = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = LARGE_TEXT_OFFSET,
		.p_vaddr = LARGE_TEXT_OFFSET,
		.p_filesz = text_bytes,
		.p_memsz = text_bytes,
		.p_align = LARGE_TEXT_OFFSET,
	};
	for (size_t at = 0; at + LARGE_TEXT_FUNCTION <= text_bytes; at += LARGE_TEXT_FUNCTION)
		memcpy(file + LARGE_TEXT_OFFSET + at, function, sizeof(function));
	return file;
}

#endif /* TEST_LIB_LARGE_TEXT_H */
