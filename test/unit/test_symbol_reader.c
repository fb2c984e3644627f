/*
 * On this program, and on files that are none. The program that reads them is this one, executed
 * with the agent's command.
 */
#include "cluster-agent/symbols/symbol_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster-agent/symbols/symbol_helper.h"
#include "common/elf/elf_layout.h"
#include "common/symbols/symbol_file.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

/* As much time as a slow machine needs. */
#define PATIENCE_MS 300000

static char own_path[PATH_MAX]; /* /proc/self/exe would be valgrind's */

static struct symbol_reader *new_reader(void)
{
	struct symbol_reader *r = NULL;

	assert_int_equal(symbol_reader_new(&r, own_path), 0);
	return r;
}

static void take(struct symbol_reader *r, struct symbol_reader_answer *ret)
{
	struct pollfd p = {.fd = symbol_reader_fd(r), .events = POLLIN};
	int result;

	do {
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		result = symbol_reader_take(r, ret);
	} while (result == -EAGAIN);
	assert_int_equal(result, 0);
}

static int memory(const void *data, size_t len)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	return fd;
}

/* Asks for the table of a file, which is closed, and returns that of the answer. */
static int read_file(struct symbol_reader *r, int fd, int program, struct symbol_reader_answer *ret)
{
	int table = memory("", 0);

	assert_int_equal(symbol_reader_ask(r, &(struct symbol_reader_files){fd, program, table}),
			 0);
	close(fd);
	if (program >= 0)
		close(program);
	take(r, ret);
	return table;
}

static void expect_refusal(struct symbol_reader *r, int fd, int result, const char *why)
{
	struct symbol_reader_answer a;
	struct stat st;
	int table = read_file(r, fd, -1, &a);

	assert_int_equal(a.result, result);
	if (why)
		assert_non_null(strstr(a.why, why));
	assert_int_equal(fstat(table, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(table);
}

static struct symbol_file *open_table(int fd)
{
	struct symbol_file *f = NULL;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(
		symbol_file_open(
			&f, &(struct symbol_file_source){.fd = fd, .n_bytes = (uint64_t)st.st_size},
			NULL),
		0);
	assert_int_equal(symbol_file_check(f, NULL), 0);
	return f;
}

TEST(a_program_becomes_a_table)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	struct symbol_reader_answer a;
	int table = read_file(r, open(own_path, O_RDONLY | O_CLOEXEC),
			      open(own_path, O_RDONLY | O_CLOEXEC), &a);
	struct symbol_file *f;

	assert_int_equal(a.result, 0);
	assert_string_equal(a.why, "");
	f = open_table(table);
	assert_true(symbol_file_header(f)->n_functions > 100);
	assert_true(symbol_file_header(f)->n_segments > 0);
	symbol_file_free(f);
	close(table);
}

TEST(what_is_no_program_has_a_reason_and_the_next_file_is_read)
{
	static const char zeros[4096];
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	struct symbol_reader_answer a;

	for (unsigned i = 0; i < 3; i++) {
		expect_refusal(r, memory("<html>", 6), -ENOEXEC, "not a 64-bit");
		expect_refusal(r, memory("", 0), -ENOEXEC, NULL);
		expect_refusal(r, memory(zeros, sizeof(zeros)), -ENOEXEC, NULL);
	}
	close(read_file(r, open(own_path, O_RDONLY | O_CLOEXEC), -1, &a));
	assert_int_equal(a.result, 0);
}

TEST(one_request_at_a_time)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	int fd = open(own_path, O_RDONLY | O_CLOEXEC), table = memory("", 0);
	const struct symbol_reader_files files = {fd, -1, table};
	struct symbol_reader_answer a;

	assert_int_equal(symbol_reader_ask(r, &files), 0);
	assert_int_equal(symbol_reader_ask(r, &files), -EBUSY);
	take(r, &a);
	assert_int_equal(symbol_reader_take(r, &a), -EAGAIN);
	close(fd);
	close(table);
}

/* ---- a process that is killed ---- */

/* A file of so many symbols that reading it takes a while. */
static int slow_file(void)
{
	enum { TEXT, SYMTAB, STRTAB, NAMES, N_SECTIONS };
	const uint32_t n = 1000000;
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
		{.p_type = PT_NOTE, .p_offset = 2048, .p_filesz = sizeof(note)},
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
	assert_int_equal(pwrite(fd, &note, sizeof(note), 2048), sizeof(note));
	assert_int_equal(pwrite(fd, table, n * sizeof(*table), 4096), n * sizeof(*table));
	assert_int_equal(pwrite(fd, strings, 3, (off_t)after), 3);
	assert_int_equal(pwrite(fd, names, 1, (off_t)after + 3), 1);
	assert_int_equal(pwrite(fd, sh, sizeof(sh), (off_t)after + 64), sizeof(sh));
	free(table);
	return fd;
}

/* The process that reads: a child of the helper, which is a child of this one. 0: there is none. */
static pid_t child_of(pid_t pid)
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

TEST(a_reader_that_is_killed_midway_is_an_error_and_the_next_file_is_read)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	int fd = slow_file(), table = memory("", 0);
	const struct symbol_reader_files files = {fd, -1, table};
	struct symbol_reader_answer a;
	pid_t helper = child_of(getpid()), reader = 0;

	assert_true(helper > 0);
	assert_int_equal(symbol_reader_ask(r, &files), 0);
	eventually((reader = child_of(helper)) > 0);
	assert_int_equal(kill(reader, SIGKILL), 0);
	take(r, &a);
	assert_int_equal(a.result, -EIO);
	assert_int_equal(symbol_reader_ask(r, &files), 0);
	take(r, &a);
	assert_int_equal(a.result, 0);
	close(fd);
	close(table);
}

TEST(a_helper_that_is_killed_is_noticed)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	int fd = open(own_path, O_RDONLY | O_CLOEXEC), table = memory("", 0);
	struct pollfd p = {.fd = symbol_reader_fd(r), .events = POLLIN};
	struct symbol_reader_answer a;

	assert_int_equal(kill(child_of(getpid()), SIGKILL), 0);
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(symbol_reader_take(r, &a), -EPIPE);
	assert_int_equal(symbol_reader_ask(r, &(struct symbol_reader_files){fd, -1, table}),
			 -EPIPE);
	close(fd);
	close(table);
}

TEST(nobody_starts_the_helper_by_hand)
{
	struct err err = {.msg = ""};

	/* descriptor 3 is no socket of ours here */
	assert_true(symbol_helper_run(&err) < 0);
	assert_non_null(strstr(err.msg, "starts this command by itself"));
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	if (argc == 2 && strcmp(argv[1], SYMBOL_HELPER_COMMAND) == 0)
		return symbol_helper_run(NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	assert_true(n > 0);
	return unit_run(NULL, NULL);
}
