/*
 * An ELF file of the build abcdef01 with as many symbols as a test wants, so that reading it takes
 * a while, and the process that does.
 */
#ifndef TEST_LIB_SLOW_SYMBOLS_H
#define TEST_LIB_SLOW_SYMBOLS_H

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/lib/unit.h"

#define SLOW_SYMBOLS_NOTE_OFFSET 2048
/* Where its build id is. */
#define SLOW_SYMBOLS_BUILD_ID_OFFSET (SLOW_SYMBOLS_NOTE_OFFSET + 16)

/* Enough symbols to kill their reader midway; fewer for TSan, which makes reading slower. */
#ifdef __SANITIZE_THREAD__
#define SLOW_SYMBOLS_MANY 100000u
#else
#define SLOW_SYMBOLS_MANY 1000000u
#endif

/* Returns a descriptor, which the caller closes. */
static inline int slow_symbols_file(uint32_t n)
{
	enum { TEXT, SYMTAB, STRTAB, NAMES, N_SECTIONS };
	static const char strings[] = "\0f", names[] = "\0";
	const uint64_t symbols = 4096, after = symbols + n * sizeof(Elf64_Sym);
	const struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[4];
	} note = {{4, 4, NT_GNU_BUILD_ID}, "GNU", {0xab, 0xcd, 0xef, 0x01}};
	Elf64_Ehdr eh = {.e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_phoff = sizeof(eh),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2,
			 .e_shoff = after + 64,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = N_SECTIONS + 1,
			 .e_shstrndx = NAMES + 1};
	const Elf64_Phdr ph[] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_X,
		 .p_vaddr = 0x1000,
		 .p_memsz = 16 * n,
		 .p_filesz = 1},
		{.p_type = PT_NOTE, .p_offset = SLOW_SYMBOLS_NOTE_OFFSET, .p_filesz = sizeof(note)},
	};
	const Elf64_Shdr sh[] = {
		{0},
		[TEXT + 1] = {.sh_type = SHT_NOBITS,
			      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			      .sh_addr = 0x1000,
			      .sh_size = 16 * n},
		[SYMTAB + 1] = {.sh_type = SHT_SYMTAB,
				.sh_offset = symbols,
				.sh_size = n * sizeof(Elf64_Sym),
				.sh_link = STRTAB + 1,
				.sh_entsize = sizeof(Elf64_Sym)},
		[STRTAB + 1] = {.sh_type = SHT_STRTAB, .sh_offset = after, .sh_size = 3},
		[NAMES + 1] = {.sh_type = SHT_STRTAB, .sh_offset = after + 3, .sh_size = 1},
	};
	Elf64_Sym *table = calloc(n, sizeof(*table));
	int fd = memfd_create("slow", MFD_CLOEXEC);

	assert_non_null(table);
	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	for (uint32_t i = 0; i < n; i++)
		table[i] = (Elf64_Sym){.st_name = 1,
				       .st_info = STT_FUNC,
				       .st_shndx = TEXT + 1,
				       .st_value = 0x1000 + 16 * (uint64_t)i,
				       .st_size = 8};
	assert_int_equal(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
	assert_int_equal(pwrite(fd, ph, sizeof(ph), sizeof(eh)), sizeof(ph));
	assert_int_equal(pwrite(fd, &note, sizeof(note), SLOW_SYMBOLS_NOTE_OFFSET), sizeof(note));
	assert_int_equal(pwrite(fd, table, n * sizeof(*table), 4096), n * sizeof(*table));
	assert_int_equal(pwrite(fd, strings, 3, (off_t)after), 3);
	assert_int_equal(pwrite(fd, names, 1, (off_t)after + 3), 1);
	assert_int_equal(pwrite(fd, sh, sizeof(sh), (off_t)after + 64), sizeof(sh));
	free(table);
	return fd;
}

/* A child of a process; 0: it has none. */
static inline pid_t slow_symbols_child(pid_t pid)
{
	char path[64], line[32] = "";
	int n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fgets(line, sizeof(line), f) ? (int)strtol(line, NULL, 10) : 0;
	(void)fclose(f);
	return n;
}

/* The helper (helper_process.h) of this process: the only child of its keeper; 0: there is none. */
static inline pid_t slow_symbols_helper(void)
{
	pid_t keeper = slow_symbols_child(getpid());

	return keeper > 0 ? slow_symbols_child(keeper) : 0;
}

#endif /* TEST_LIB_SLOW_SYMBOLS_H */
