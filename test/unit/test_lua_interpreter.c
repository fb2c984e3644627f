/* What is found in a file of Lua. Real ones are in test/lua. */
#include <errno.h>

#include "node-agent/interpreter/lua/lua_interpreter.h"
#include "test/lib/elf_functions.h"
#include "test/lib/unit.h"

enum place { API_CALL, CALL, LOOP, LARGE, RESUME, PROTECTED, PLACES };

static const uint64_t sizes[PLACES] = {64, 128, 9000, 1000, 128, 128};

/* push %r15; push %r14; mov %rdi,%r14; push %rbp; push %rbx; sub $0x18,%rsp */
#define LOOP_CODE "\x41\x57\x41\x56\x49\x89\xfe\x55\x53\x48\x83\xec\x18"
#define MARK_CODE "\x80\x4b\x42\x08"                  /* orb $8,66(%rbx) */
#define STORE_CODE "\x4c\x89\x65\x20\x4c\x89\x65\x20" /* mov %r12,32(%rbp), twice */
/* push %rbx; mov %rdi,%rbx */
#define CALL_CODE "\x53\x48\x89\xfb"
/* sub $0x108,%rsp; mov %rdi,8(%rsp); call *%rax */
#define PROTECTED_CODE "\x48\x81\xec\x08\x01\x00\x00\x48\x89\x7c\x24\x08\xff\xd0"

static struct elf_builder elf;
static struct elf_function functions[PLACES];
static struct interpreter_image image;

static void call(enum place from, unsigned offset, enum place to)
{
	elf_functions_link(&elf, functions[from].start + offset, functions[to].start, true);
}

static void write_code(enum place place, unsigned offset, const char *code, size_t n)
{
	memcpy(elf.data + functions[place].start + offset, code, n);
}
#define WRITE(place, offset, code) write_code(place, offset, code, sizeof(code) - 1)

static void add_text(void)
{
	uint64_t at = elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0,
					  NULL, 12000)
			      ->sh_offset;

	elf.sections[1].sh_addr = at;
	memset(elf.data + at, 0x90, 12000);
	for (unsigned i = 0; i < PLACES; i++) {
		functions[i] = (struct elf_function){at, sizes[i]};
		at += (sizes[i] + 15) & ~UINT64_C(15);
	}
	WRITE(LOOP, 0, LOOP_CODE MARK_CODE);
	WRITE(LOOP, 64, STORE_CODE);
	WRITE(CALL, 0, CALL_CODE);
	WRITE(PROTECTED, 0, PROTECTED_CODE);
	call(API_CALL, 16, LARGE);
	call(API_CALL, 32, CALL);
	call(CALL, 32, LOOP);
	call(RESUME, 32, PROTECTED);
}

static int recognise_built(const char *ident, uint16_t machine)
{
	static struct elf_layout layout;
	struct byte_source src;
	uint64_t ident_at;

	ident_at = elf_builder_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0, ident, 80)
			   ->sh_offset;
	elf_builder_symbol(&elf, "lua_ident", STB_GLOBAL, STT_OBJECT, ident_at, 80);
	elf_builder_symbol(&elf, "lua_callk", STB_GLOBAL, STT_FUNC, functions[API_CALL].start, 64);
	elf_builder_symbol(&elf, "lua_resume", STB_GLOBAL, STT_FUNC, functions[RESUME].start, 128);
	elf_builder_symbol_table(&elf, SHT_DYNSYM);
	elf_functions_unwind(&elf, functions, PLACES);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, 0, ELF_BUILDER_BYTES / 2);
	elf_builder_finish(&elf);
	elf_builder_header(&elf)->e_machine = machine;
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return lua_interpreter_ops.recognise(&layout, &src, &image);
}

static void build(void)
{
	elf_builder_init(&elf, EM_X86_64);
	add_text();
}

static int recognise(const char *release)
{
	char ident[80] = "";

	snprintf(ident, sizeof(ident), "$LuaVersion: %s  Copyright", release);
	return recognise_built(ident, EM_X86_64);
}

static const struct chain_site *site_of(enum place place)
{
	for (size_t i = 0; i < CHAIN_SITES; i++) {
		const struct chain_site *s = &image.calls.sites[i];

		if (s->n_bytes != 0 &&
		    (uint32_t)(functions[place].start - functions[LOOP].start) == s->start)
			return s;
	}
	return NULL;
}

TEST(the_loop_is_the_largest_function_that_calls_lead_to)
{
	build();
	assert_int_equal(recognise("Lua 5.4.6"), 0);
	assert_int_equal(image.language, INTERPRETER_LUA);
	assert_int_equal(image.n_loops, 1);
	assert_int_equal(image.loops[0].start, functions[LOOP].start);
	assert_int_equal(image.loops[0].end, functions[LOOP].start + sizes[LOOP]);
	assert_int_equal(image.roots[0].kind, INTERPRETER_ROOT_CALL);
	assert_int_equal(image.frames.next_is, CHAIN_NEXT_CALL);
	assert_int_equal(image.lua.minor, 4);
}

TEST(those_who_call_it_keep_the_state)
{
	const struct chain_site *s;

	build();
	assert_int_equal(recognise("Lua 5.4.6"), 0);
	s = site_of(CALL); /* in rbx, which the loop saves as the fourth */
	assert_non_null(s);
	assert_int_equal(s->at, -40);
	assert_int_equal(s->n_bytes, sizes[CALL]);
	s = site_of(PROTECTED); /* on its stack */
	assert_non_null(s);
	assert_int_equal(s->at, 8);
	assert_null(site_of(RESUME));
	assert_null(site_of(API_CALL));
	assert_int_equal(image.calls.entry_bytes, sizeof(LOOP_CODE) - 1 - 4);
	assert_int_equal(image.calls.argument, 5);
	assert_int_equal(image.calls.next_instruction, 12);
}

/* As with link-time optimization: the loop calls itself, and keeps the state on its stack then. */
TEST(where_a_call_has_its_argument_from_is_what_counts)
{
	const struct chain_site *s;

	build();
	WRITE(LOOP, 100, "\x4c\x89\x4c\x24\x08\x4c\x89\xcf"); /* mov %r9,8(%rsp); mov %r9,%rdi */
	call(LOOP, 108, LOOP);
	WRITE(CALL, 60, "\x4c\x89\xf7"); /* mov %r14,%rdi: the second one that the loop saves */
	call(CALL, 64, LOOP);
	assert_int_equal(recognise("Lua 5.4.6"), 0);
	s = site_of(LOOP);
	assert_non_null(s);
	assert_int_equal(s->at, 8);
	s = site_of(CALL); /* up to the second call */
	assert_non_null(s);
	assert_int_equal(s->at, -40);
	assert_int_equal(s->n_bytes, 64);
	s++;
	assert_int_equal(s->at, -24);
	assert_int_equal(s->n_bytes, sizes[CALL] - 64);
}

TEST(a_function_that_does_not_keep_it_is_no_caller)
{
	build();
	WRITE(CALL, 0, "\x90\x90\x90\x90");
	assert_int_equal(recognise("Lua 5.4.6"), 0);
	assert_null(site_of(CALL));
	build();
	WRITE(CALL, 0, CALL_CODE "\x48\x31\xdb"); /* xor %rbx,%rbx */
	WRITE(PROTECTED, 0, "\x48\x31\xff\x90\x90\x90\x90");
	assert_int_equal(recognise("Lua 5.4.6"), -ENOTSUP);
}

TEST(in_5_3_the_loop_marks_its_first_frame)
{
	build();
	assert_int_equal(recognise("Lua 5.3.6"), 0);
	assert_int_equal(image.calls.mark_bytes, sizeof(LOOP_CODE MARK_CODE) - 1);
	/* its next instruction is always in the frame */
	assert_int_equal(image.calls.next_instruction, 255);
}

TEST(what_is_not_known_is_said)
{
	char ident[80] = "$LuaVersion: Lua 5.4.6";

	build();
	assert_int_equal(recognise("Lua 5.6.0"), -ENOTSUP);
	build();
	assert_int_equal(recognise_built(ident, EM_AARCH64), -ENOTSUP);
	build();
	memset(elf.data + functions[CALL].start, 0x90, sizes[CALL]); /* nothing leads to the loop */
	assert_int_equal(recognise("Lua 5.4.6"), -ENOTSUP);
}
