/* What is found in a file of LuaJIT. Real ones are in test/luajit. */
#include <errno.h>

#include "node-agent/interpreter/lua/luajit_interpreter.h"
#include "test/lib/elf_functions.h"
#include "test/lib/unit.h"

#define TEXT_BYTES 12000u
#define LOOP_BYTES 10000u
#define DISPATCH 0x1000
#define BASE (-0x100)
#define NUMBER (-0x200)
#define TRACES (-0x80)

#define ENTER "\x55\x53\x41\x57\x41\x56\x48\x83\xec\x28"
/* how the C frame, the state and code objects are used: luajit_vm.c */
#define LAYOUT                                                                         \
	"\x48\x89\x7c\x24\x10\x48\x89\x6c\x24\x18\x4c\x89\x7c\x24\x20\x89\x54\x24\x08" \
	"\x48\x89\x65\x50\x4c\x8b\x75\x10\x48\x8b\x55\x20\x4c\x8b\x7b\xb4"

static struct elf_builder elf;
static struct elf_function loop;
static struct interpreter_image image;
static uint64_t at;

static void add(const void *bytes, size_t n)
{
	memcpy(elf.data + at, bytes, n);
	at += n;
}
#define ADD(bytes) add(bytes, sizeof(bytes) - 1)

static void add_offset(int32_t offset)
{
	add(&offset, sizeof(offset));
}

/* without: an instruction that is left out */
static void build(unsigned without)
{
	elf_builder_init(&elf, EM_X86_64);
	loop.start = elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0,
					 NULL, TEXT_BYTES)
			     ->sh_offset;
	loop.bytes = LOOP_BYTES;
	elf.sections[1].sh_addr = loop.start;
	memset(elf.data + loop.start, 0x90, TEXT_BYTES);
	at = loop.start + 200;
	if (without != 1)
		ADD(ENTER);
	if (without != 2)
		ADD(LAYOUT);
	ADD("\x49\x81\xc6"); /* add $n,%r14 */
	add_offset(DISPATCH);
	ADD("\x49\x89\x96"); /* of something else */
	add_offset(BASE + 8);
	ADD("\x49\x89\x96");
	add_offset(BASE);
	ADD("\x49\x8b\x96");
	add_offset(BASE);
	if (without != 3) {
		ADD("\x49\xc7\x86");
		add_offset(BASE);
		add_offset(0);
	}
	ADD("\x41\xc7\x86");
	add_offset(NUMBER);
	add_offset(-1);
	ADD("\x49\x8b\x8e");
	add_offset(TRACES);
	ADD("\x48\x8b\x04\xc1");
}

static int recognise(uint16_t machine)
{
	static struct elf_layout layout;
	struct byte_source src;

	elf_builder_symbol(&elf, "luaJIT_setmode", STB_GLOBAL, STT_FUNC, loop.start + LOOP_BYTES,
			   64);
	elf_builder_symbol_table(&elf, SHT_DYNSYM);
	elf_functions_unwind(&elf, &loop, 1);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, 0, ELF_BUILDER_BYTES / 2);
	elf_builder_finish(&elf);
	elf_builder_header(&elf)->e_machine = machine;
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return luajit_interpreter_ops.recognise(&layout, &src, &image);
}

TEST(the_loop_is_found_by_how_it_is_entered)
{
	build(0);
	assert_int_equal(recognise(EM_X86_64), 0);
	assert_int_equal(image.language, INTERPRETER_LUAJIT);
	assert_int_equal(image.n_loops, 1);
	assert_int_equal(image.loops[0].start, loop.start);
	assert_int_equal(image.loops[0].end, loop.start + LOOP_BYTES);
	assert_int_equal(image.frames.next_is, CHAIN_NEXT_SLOT);
	assert_int_equal(image.flags, CHAIN_ANONYMOUS_IS_LOOP);
}

TEST(its_instructions_say_where_the_global_state_has_what)
{
	build(0);
	assert_int_equal(recognise(EM_X86_64), 0);
	assert_int_equal(image.slots.trace_base, DISPATCH + BASE);
	assert_int_equal(image.slots.trace_number, DISPATCH + NUMBER);
	assert_int_equal(image.slots.traces, DISPATCH + TRACES);
}

TEST(a_loop_of_another_layout_is_none)
{
	for (unsigned i = 1; i <= 3; i++) {
		build(i);
		assert_int_equal(recognise(EM_X86_64), -ENOTSUP);
	}
	build(0);
	assert_int_equal(recognise(EM_AARCH64), -ENOTSUP);
	build(0);
	loop.bytes = 5000;
	assert_int_equal(recognise(EM_X86_64), -ENOTSUP);
}
