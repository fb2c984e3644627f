/* What is found in a file of Erlang's emulator. Real ones are in test/erlang. */
#include <errno.h>

#include "node-agent/interpreter/erlang/erlang_interpreter.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define DATA 0x6000u /* variables: addresses beyond the file's bytes */
#define KEY (DATA + 0x10)
#define INDEX (DATA + 0x20)
#define RANGES (DATA + 0x40)
#define ATOMS (DATA + 0x100)

enum place {
	PLACE_SCHEDULER = 0, /* in .text */
	PLACE_LOOKUP = 32,
	PLACE_FIND = 192,
	PLACE_MAIN = 320,
	PLACE_CALLER = 384,
	PLACE_DIRTY = 448,
	PLACE_END = 512,
};

static struct elf_builder elf;
static struct interpreter_image image;
static uint8_t text[PLACE_END];

static struct build {
	const char *otp;
	const char *without; /* a symbol */
	uint16_t machine;
	bool interprets;
	bool is_inline; /* the search for a module is part of the lookup */
	bool has_caller;
} build;

static int set_up(void **state)
{
	(void)state;
	build = (struct build){
		.otp = "27", .without = "", .machine = EM_X86_64, .has_caller = true};
	return 0;
}

/* An instruction whose last 4 bytes are an address, relative to its end. */
static void put(unsigned at, const char *code, size_t n, uint64_t text_at, uint64_t to)
{
	int32_t relative = (int32_t)(to - (text_at + at + n + 4));

	memcpy(text + at, code, n);
	memcpy(text + at + n, &relative, sizeof(relative));
}

static void put_text(uint64_t text_at)
{
	unsigned find = build.is_inline ? PLACE_LOOKUP + 8 : PLACE_FIND;

	memset(text, 0x90, sizeof(text));
	put(PLACE_SCHEDULER, "\x8b\x3d", 2, text_at, KEY); /* mov …(%rip),%edi */
	if (!build.is_inline)
		put(PLACE_LOOKUP + 8, "\xe8", 1, text_at, text_at + PLACE_FIND);
	put(find, "\x44\x8b\x05", 3, text_at, INDEX);      /* mov …(%rip),%r8d */
	put(find + 7, "\x4c\x8d\x0d", 3, text_at, RANGES); /* lea …(%rip),%r9 */
	if (build.has_caller)
		put(PLACE_CALLER, "\xe8", 1, text_at, text_at + PLACE_MAIN);
}

static void symbol(const char *name, unsigned type, uint64_t at, uint64_t bytes)
{
	if (strcmp(name, build.without) != 0)
		elf_builder_symbol(&elf, name, STB_GLOBAL, type, at, bytes);
}

static int recognise(void)
{
	static struct elf_layout layout;
	struct byte_source src;
	struct {
		uint32_t is_jit;
		char otp[8];
	} constants = {.is_jit = !build.interprets};
	Elf64_Shdr *section;
	uint64_t at, code;

	memcpy(constants.otp, build.otp, strlen(build.otp) + 1);
	elf_builder_init(&elf, build.machine);
	at = elf_builder_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0, &constants,
				 sizeof(constants))
		     ->sh_offset;
	section = elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0,
				      text, sizeof(text));
	code = section->sh_offset;
	section->sh_addr = code;
	put_text(code);
	memcpy(elf.data + code, text, sizeof(text));
	symbol("etp_beamasm", STT_OBJECT, at, 4);
	symbol("etp_otp_release", STT_OBJECT, at + 4, 3);
	symbol("erts_get_scheduler_data", STT_FUNC, code + PLACE_SCHEDULER, 16);
	symbol("erts_lookup_function_info", STT_FUNC, code + PLACE_LOOKUP, 128);
	symbol("process_main", STT_FUNC, code + PLACE_MAIN, 32);
	symbol("erts_dirty_process_main", STT_FUNC, code + PLACE_DIRTY, 64);
	symbol("the_active_code_index", STT_OBJECT, INDEX, 4);
	symbol("erts_atom_table", STT_OBJECT, ATOMS, 128);
	elf_builder_symbol_table(&elf, SHT_DYNSYM);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, 0, ELF_BUILDER_BYTES / 2);
	elf_builder_finish(&elf);
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return erlang_interpreter_ops.recognise(&layout, &src, &image);
}

static void check_found(void)
{
	assert_int_equal(image.language, INTERPRETER_ERLANG);
	assert_int_equal(image.frames.next_is, CHAIN_NEXT_SCAN);
	assert_int_equal(image.flags, CHAIN_ANONYMOUS_IS_LOOP);
	for (size_t i = 0; i < CHAIN_PATHS; i++) {
		assert_int_equal(image.roots[i].kind, INTERPRETER_ROOT_KEY);
		assert_int_equal(image.roots[i].vaddr, KEY);
		assert_int_equal(image.roots[i].n_steps, 1);
	}
	assert_int_equal(image.roots[1].steps[0], 0);
	assert_int_equal(image.erlang.ranges, RANGES);
	assert_int_equal(image.erlang.code_index, INDEX);
	assert_int_equal(image.erlang.atoms, ATOMS);
	assert_int_equal(image.n_loops, 1);
	assert_int_equal(image.loops[0].end - image.loops[0].start, 64);
	/* from the one function to the instruction behind the call */
	assert_int_equal(image.loops[0].start - image.scan.back, PLACE_DIRTY - (PLACE_CALLER + 5));
}

TEST_FIXTURE(a_file_is_erlang_by_what_it_has, set_up, NULL)
{
	assert_int_equal(recognise(), 0);
	check_found();
	build.is_inline = true;
	assert_int_equal(recognise(), 0);
	check_found();
}

TEST_FIXTURE(releases_have_offsets_of_their_own, set_up, NULL)
{
	static const struct {
		const char *otp;
		int functions; /* 0: not known */
		unsigned lowest, back_at;
	} cases[] = {
		{"25", 96, 128, 16656}, {"27", 136, 192, 16592}, {"24", 0, 0, 0},  {"26", 0, 0, 0},
		{"28", 0, 0, 0},        {"2", 0, 0, 0},          {"270", 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		build.otp = cases[i].otp;
		assert_int_equal(recognise(), cases[i].functions ? 0 : -ENOTSUP);
		if (cases[i].functions == 0)
			continue;
		assert_int_equal(image.erlang.functions, cases[i].functions);
		assert_int_equal(image.scan.lowest, cases[i].lowest);
		assert_int_equal(image.scan.end, cases[i].lowest + 8);
		assert_int_equal(image.scan.back_at, cases[i].back_at);
		assert_int_equal(image.scan.top, 88);
	}
}

TEST_FIXTURE(an_emulator_without_a_compiler_is_not_known, set_up, NULL)
{
	build.interprets = true;
	assert_int_equal(recognise(), -ENOTSUP);
	build.without = "etp_beamasm";
	assert_int_equal(recognise(), -ENOENT);
}

TEST_FIXTURE(code_for_other_machines_is_not_known, set_up, NULL)
{
	build.machine = EM_AARCH64;
	assert_int_equal(recognise(), -ENOTSUP);
}

TEST_FIXTURE(an_emulator_that_says_too_little_is_not_known, set_up, NULL)
{
	static const char *const without[] = {
		"etp_otp_release", "erts_get_scheduler_data", "erts_lookup_function_info",
		"process_main",    "erts_dirty_process_main", "the_active_code_index",
		"erts_atom_table",
	};

	for (size_t i = 0; i < ARRAY_SIZE(without); i++) {
		build.without = without[i];
		assert_int_equal(recognise(), -ENOTSUP);
	}
	build.without = "";
	build.has_caller = false;
	assert_int_equal(recognise(), -ENOTSUP);
}
