/*
 * Builds small ELF files in memory for tests. Only assertions check bounds. Edit the bytes of a
 * finished file to make a corrupt one.
 */
#ifndef TEST_LIB_ELF_BUILDER_H
#define TEST_LIB_ELF_BUILDER_H

#include <assert.h>
#include <elf.h>

#include "common/base.h"

#define ELF_BUILDER_BYTES 65536u
#define ELF_BUILDER_SECTIONS 20u
#define ELF_BUILDER_SEGMENTS 6u

struct elf_builder {
	uint8_t data[ELF_BUILDER_BYTES];
	size_t len;
	Elf64_Shdr sections[ELF_BUILDER_SECTIONS];
	uint32_t n_sections;
	uint32_t n_segments;
	char names[2048];
	size_t names_len;
	char strings[4096]; /* of symbols */
	size_t strings_len;
	Elf64_Sym symbols[256];
	uint32_t n_symbols;
};

static inline Elf64_Ehdr *elf_builder_header(struct elf_builder *b)
{
	return (Elf64_Ehdr *)(void *)b->data;
}

static inline void elf_builder_init(struct elf_builder *b, uint16_t machine)
{
	Elf64_Ehdr *eh = elf_builder_header(b);

	memset(b, 0, sizeof(*b));
	memcpy(eh->e_ident, ELFMAG, SELFMAG);
	eh->e_ident[EI_CLASS] = ELFCLASS64;
	eh->e_ident[EI_DATA] = ELFDATA2LSB;
	eh->e_type = ET_DYN;
	eh->e_machine = machine;
	eh->e_phoff = sizeof(*eh);
	eh->e_phentsize = sizeof(Elf64_Phdr);
	eh->e_shentsize = sizeof(Elf64_Shdr);
	b->len = sizeof(*eh) + ELF_BUILDER_SEGMENTS * sizeof(Elf64_Phdr);
	b->n_sections = 1; /* the null section */
	b->names_len = 1;
	b->strings_len = 1;
	b->n_symbols = 1;
}

static inline void elf_builder_segment(struct elf_builder *b, uint32_t type, uint32_t flags,
				       uint64_t offset, uint64_t vaddr, uint64_t size)
{
	Elf64_Ehdr *eh = elf_builder_header(b);
	Elf64_Phdr *ph = (Elf64_Phdr *)(void *)(b->data + eh->e_phoff) + b->n_segments++;

	assert(b->n_segments <= ELF_BUILDER_SEGMENTS);
	*ph = (Elf64_Phdr){
		.p_type = type,
		.p_flags = flags,
		.p_offset = offset,
		.p_vaddr = vaddr,
		.p_filesz = size,
		.p_memsz = size,
	};
	eh->e_phnum = (uint16_t)b->n_segments;
}

/* data NULL: zeros. Returns the section, for its index and offset. */
static inline Elf64_Shdr *elf_builder_section(struct elf_builder *b, const char *name,
					      uint32_t type, uint64_t flags, uint64_t vaddr,
					      const void *data, size_t len)
{
	Elf64_Shdr *sh = &b->sections[b->n_sections++];

	assert(b->n_sections <= ELF_BUILDER_SECTIONS);
	b->len = (b->len + 15) & ~(size_t)15;
	assert(len <= sizeof(b->data) - b->len);
	*sh = (Elf64_Shdr){
		.sh_name = (uint32_t)b->names_len,
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = vaddr,
		.sh_offset = b->len,
		.sh_size = len,
	};
	memcpy(b->names + b->names_len, name, strlen(name) + 1);
	b->names_len += strlen(name) + 1;
	if (data)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	return sh;
}

static inline void elf_builder_symbol(struct elf_builder *b, const char *name, unsigned bind,
				      unsigned type, uint64_t value, uint64_t size)
{
	b->symbols[b->n_symbols++] = (Elf64_Sym){
		.st_name = (uint32_t)b->strings_len,
		.st_info = (uint8_t)ELF64_ST_INFO(bind, type),
		.st_shndx = 1,
		.st_value = value,
		.st_size = size,
	};
	memcpy(b->strings + b->strings_len, name, strlen(name) + 1);
	b->strings_len += strlen(name) + 1;
}

/* What elf_builder_symbol() collected since the last time, as SHT_SYMTAB or SHT_DYNSYM. */
static inline void elf_builder_symbol_table(struct elf_builder *b, uint32_t type)
{
	Elf64_Shdr *strings =
		elf_builder_section(b, ".strings", SHT_STRTAB, 0, 0, b->strings, b->strings_len);
	Elf64_Shdr *symbols = elf_builder_section(b, ".symbols", type, 0, 0, b->symbols,
						  b->n_symbols * sizeof(Elf64_Sym));

	symbols->sh_entsize = sizeof(Elf64_Sym);
	symbols->sh_link = (uint32_t)(strings - b->sections);
	b->strings_len = 1;
	b->n_symbols = 1;
}

static inline void elf_builder_finish(struct elf_builder *b)
{
	Elf64_Ehdr *eh = elf_builder_header(b);
	Elf64_Shdr *names = elf_builder_section(b, ".shstrtab", SHT_STRTAB, 0, 0, NULL, 0);

	memcpy(b->data + b->len, b->names, b->names_len);
	names->sh_size = b->names_len;
	b->len = (b->len + b->names_len + 15) & ~(size_t)15;
	eh->e_shoff = b->len;
	eh->e_shnum = (uint16_t)b->n_sections;
	eh->e_shstrndx = (uint16_t)(b->n_sections - 1);
	assert(b->n_sections * sizeof(Elf64_Shdr) <= sizeof(b->data) - b->len);
	memcpy(b->data + b->len, b->sections, b->n_sections * sizeof(Elf64_Shdr));
	b->len += b->n_sections * sizeof(Elf64_Shdr);
}

#endif /* TEST_LIB_ELF_BUILDER_H */
