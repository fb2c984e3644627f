/* What is found in a file of PHP of how code that opcache has compiled leaves its frame. */
#include <elf.h>
#include <errno.h>
#include <sys/mman.h>

#include "node-agent/files/file_registry.h"
#include "node-agent/interpreter/php/php_interpreter.h"
#include "node-agent/interpreter/process/interpreter_files.h"
#include "node-agent/interpreter/process/process_memory.h"
#include "test/lib/elf_functions.h"
#include "test/lib/own_process.h"
#include "test/lib/unit.h"

#define GLOBALS 0x6000u
#define POINTER 0x7000u /* zend_execute_ex */

static struct elf_builder elf;
static struct interpreter_image image;

enum place { LOOP, EXECUTE, CALL, GENERATOR, OTHER, PLACES };

static const char *const names[PLACES] = {"execute_ex", "zend_execute", "zend_call_function",
					  "zend_generator_resume", "other"};
static struct elf_function functions[PLACES];
static struct elf_layout php;
static unsigned n_written[PLACES];

static void write_code(enum place place, const char *code, size_t n)
{
	memcpy(elf.data + functions[place].start + n_written[place], code, n);
	n_written[place] += (unsigned)n;
}
#define WRITE(place, code) write_code(place, code, sizeof(code) - 1)

/* An instruction whose last 4 bytes are an address, relative to its end. */
#define WRITE_WITH(place, code, to) write_with(place, code, sizeof(code) - 1, to)
static void write_with(enum place place, const char *code, size_t n, uint64_t to)
{
	uint64_t end = functions[place].start + n_written[place] + n + 4;
	int32_t distance = (int32_t)(to - end);
	char bytes[4];

	memcpy(bytes, &distance, sizeof(bytes));
	write_code(place, code, n);
	write_code(place, bytes, sizeof(bytes));
}

#define LEA_RAX "\x48\x8d\x05"
#define LEA_RBP "\x48\x8d\x2d"
#define LOAD_RAX "\x48\x8b\x05"
#define CALL_AT_RAX "\xff\x10"
#define CALL_AT_RBP "\xff\x55\x00"

static void begin_code(void)
{
	uint64_t at;

	elf_builder_init(&elf, EM_X86_64);
	elf_builder_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0, "X-Powered-By: PHP/8.2.29",
			    25);
	at = elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, NULL,
				 1024)
		     ->sh_offset;
	elf.sections[elf.n_sections - 1].sh_addr = at;
	memset(elf.data + at, 0x90, 1024);
	memset(n_written, 0, sizeof(n_written));
	for (unsigned i = 0; i < PLACES; i++) {
		functions[i] = (struct elf_function){at, 128};
		at += 128;
	}
}

/* push %r13; push %r12; push %rbp; push %rbx; sub $0x78,%rsp: Debian bookworm's */
#define BOOKWORM "\x41\x55\x41\x54\x55\x53\x48\x83\xec\x78"
/*
 * endbr64; push %rbp; mov %rsp,%rbp; push %r13; push %r12; push %rbx; sub $0xa8,%rsp: Debian
 * trixie's
 */
#define TRIXIE                                                                 \
	"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x41\x55\x41\x54\x53\x48\x81\xec\xa8" \
	"\x00\x00\x00"

static void end_code(uint16_t machine)
{
	for (unsigned i = 0; i < OTHER; i++)
		elf_builder_symbol(&elf, names[i], STB_GLOBAL, STT_FUNC, functions[i].start, 128);
	elf_builder_symbol(&elf, "executor_globals", STB_GLOBAL, STT_OBJECT, GLOBALS, 512);
	elf_builder_symbol(&elf, "zend_execute_ex", STB_GLOBAL, STT_OBJECT, POINTER, 8);
	elf_builder_symbol_table(&elf, SHT_DYNSYM);
	elf_functions_unwind(&elf, functions, PLACES);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, 0, ELF_BUILDER_BYTES / 2);
	elf_builder_finish(&elf);
	elf_builder_header(&elf)->e_machine = machine;
}

static int recognise_code(uint16_t machine)
{
	struct byte_source src;

	end_code(machine);
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&php, &src), 0);
	return php_interpreter_ops.recognise(&php, &src, &image);
}

/* Both beginnings save four registers. */
static void check_guest(uint16_t back, int16_t fp, unsigned n, const uint64_t *returns)
{
	assert_int_equal(recognise_code(EM_X86_64), 0);
	assert_true(image.flags & CHAIN_IN_LOOPS_FRAME);
	assert_int_equal(image.guest.back, back);
	assert_int_equal(image.guest.fp, fp);
	assert_int_equal(image.guest.n_saved, 4);
	for (unsigned i = 0; i < CHAIN_RETURNS; i++)
		assert_int_equal(image.guest.returns[i], returns[i < n ? i : n - 1]);
}

TEST(the_loop_returns_to_those_who_call_it_by_its_pointer)
{
	uint64_t returns[4];

	begin_code();
	WRITE(LOOP, BOOKWORM);
	WRITE_WITH(EXECUTE, LEA_RAX, POINTER);
	WRITE(EXECUTE, "\x48\x89\xdf" CALL_AT_RAX); /* mov %rbx,%rdi */
	returns[0] = functions[EXECUTE].start + n_written[EXECUTE];
	WRITE_WITH(CALL, "\xff\x15", POINTER); /* call *zend_execute_ex(%rip) */
	returns[1] = functions[CALL].start + n_written[CALL];
	WRITE_WITH(GENERATOR, LEA_RBP, POINTER);
	for (unsigned i = 2; i < 4; i++) { /* calls leave the register alone */
		WRITE(GENERATOR, CALL_AT_RBP);
		returns[i] = functions[GENERATOR].start + n_written[GENERATOR];
	}
	/* none that extensions could not do without */
	WRITE_WITH(OTHER, LEA_RAX, POINTER);
	WRITE(OTHER, CALL_AT_RAX);
	check_guest(152, -24, 4, returns);
}

TEST(the_loop_may_have_a_frame_pointer)
{
	uint64_t back;

	begin_code();
	WRITE(LOOP, TRIXIE);
	WRITE_WITH(CALL, LEA_RAX, POINTER);
	WRITE(CALL, CALL_AT_RAX);
	back = functions[CALL].start + n_written[CALL];
	check_guest(200, -8, 1, &back);
}

/* A library has the address of the variable in a table, among others. */
TEST(the_pointer_of_a_library_is_in_a_table)
{
	uint64_t back;

	begin_code();
	WRITE(LOOP, BOOKWORM);
	WRITE_WITH(CALL, LOAD_RAX, POINTER + 64);
	WRITE(CALL, CALL_AT_RAX);
	back = functions[CALL].start + n_written[CALL];
	check_guest(152, -24, 1, &back);
}

TEST(calls_of_something_else_are_none_of_the_loop)
{
	uint64_t back;

	begin_code();
	WRITE(LOOP, BOOKWORM);
	WRITE_WITH(EXECUTE, LEA_RAX, POINTER);
	WRITE(EXECUTE, CALL_AT_RAX);
	back = functions[EXECUTE].start + n_written[EXECUTE];
	WRITE_WITH(CALL, LEA_RAX, POINTER + 8); /* another variable */
	WRITE(CALL, CALL_AT_RAX);
	WRITE_WITH(CALL, LEA_RAX, POINTER);
	WRITE(CALL, "\xff\x50\x08"); /* call *8(%rax) */
	WRITE(CALL, CALL_AT_RAX);    /* which has changed it */
	WRITE_WITH(CALL, LEA_RAX, POINTER);
	WRITE(CALL, "\x48\x89\xf8" CALL_AT_RAX); /* mov %rdi,%rax */
	WRITE_WITH(CALL, LOAD_RAX, POINTER);     /* call *%rax: what is checked before */
	WRITE(CALL, "\xff\xd0");
	check_guest(152, -24, 1, &back);
}

TEST(without_known_instructions_functions_are_shown_all_the_same)
{
	static const char *const beginnings[] = {
		"\xc3",                         /* ret: no room was made */
		"\x55\xe8",                     /* push %rbp; call */
		"\x55\x48\x83\xe4\xf0",         /* and $-16,%rsp */
		"\x06",                         /* none */
		"\x48\x83\xc4\x78",             /* add $0x78,%rsp */
		"\x48\x83\xec\x7c",             /* sub $0x7c,%rsp: no multiple of a word */
		"\x48\x81\xec\x01\x01\x01\x01", /* too large */
	};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		begin_code();
		write_code(LOOP, beginnings[i], strlen(beginnings[i]));
		WRITE_WITH(CALL, LEA_RAX, POINTER);
		WRITE(CALL, CALL_AT_RAX);
		assert_int_equal(recognise_code(EM_X86_64), 0);
		assert_false(image.flags & CHAIN_IN_LOOPS_FRAME);
	}
	begin_code();
	WRITE(LOOP, BOOKWORM); /* which nobody calls */
	assert_int_equal(recognise_code(EM_X86_64), 0);
	assert_false(image.flags & CHAIN_IN_LOOPS_FRAME);
	begin_code();
	WRITE(LOOP, BOOKWORM);
	WRITE_WITH(CALL, LEA_RAX, POINTER);
	WRITE(CALL, CALL_AT_RAX);
	assert_int_equal(recognise_code(EM_AARCH64), 0);
	assert_false(image.flags & CHAIN_IN_LOOPS_FRAME);
}

/* ---- in a process ---- */

static struct mapped_file *make_file(void)
{
	struct file_id id = {.dev = 1, .ino = 1};
	struct mapped_file *ret;
	int fd = memfd_create("php", MFD_CLOEXEC);

	begin_code();
	WRITE(LOOP, BOOKWORM);
	WRITE_WITH(CALL, LEA_RAX, POINTER);
	WRITE(CALL, CALL_AT_RAX);
	end_code(EM_X86_64);
	assert_true(fd >= 0 && write(fd, elf.data, elf.len) == (ssize_t)elf.len);
	id.size_bytes = elf.len;
	assert_int_equal(mapped_file_new(&ret, &id, fd, "/usr/bin/php", 12), 0);
	return ret;
}

#define BIAS 0x100000u

/* Of the file, and of memory with an inode, if processes share it. */
static struct process_mapping of_file(struct mapped_file *file)
{
	return (struct process_mapping){.start = BIAS, .end = BIAS + 0x8000, .file = file};
}

static struct process_mapping of_memory(uint64_t start, uint64_t end, uint64_t ino)
{
	return (struct process_mapping){
		.start = start, .end = end, .kind = PROCESS_MAPPING_ANONYMOUS, .map_ino = ino};
}

TEST(memory_that_processes_share_has_the_code_of_opcache)
{
	CLEANUP(process_table_freep) struct process_table *table = NULL;
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *self = NULL;
	CLEANUP(interpreter_files_freep) struct interpreter_files *files = NULL;
	CLEANUP(process_memory_freep) struct process_memory *memory = NULL;
	CLEANUP(mapped_file_unrefp) struct mapped_file *file = make_file();
	struct process_mapping mappings[] = {
		of_file(file), of_memory(0x200000, 0x201000, 0), of_memory(0x300000, 0x310000, 7),
		of_memory(0x310000, 0x320000, 7), of_memory(0x400000, 0x410000, 7)};
	struct err err = {""};
	struct process_snapshot s;
	struct chain_layout layout;

	assert_int_equal(process_table_new(&table, &(struct process_table_config){0}, &err), 0);
	self = own_process_snapshot(table);
	assert_int_equal(process_memory_new(&memory, "/proc"), 0);
	assert_int_equal(interpreter_files_new(&files, NULL, memory), 0);
	s = *self;
	s.mappings = mappings;
	s.n_mappings = ARRAY_SIZE(mappings);
	assert_int_equal(interpreter_files_layout(files, &s, &layout), 0);
	assert_true(layout.flags & CHAIN_IN_LOOPS_FRAME);
	assert_int_equal(layout.guest.code, 0x300000);
	assert_int_equal(layout.guest.code_bytes, 0x20000);
	assert_int_equal(layout.guest.back, 152);
	assert_int_equal(layout.guest.returns[0], BIAS + functions[CALL].start + n_written[CALL]);
	s.n_mappings = 2; /* there is none yet */
	assert_int_equal(interpreter_files_layout(files, &s, &layout), 0);
	assert_int_equal(layout.guest.code_bytes, 0);
}
