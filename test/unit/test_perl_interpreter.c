/* What is found in a file of Perl. Real ones are in test/perl. */
#include <errno.h>

#include "node-agent/interpreter/perl/perl_interpreter.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define TEXT 0x2000u
#define KEY 0x6000u
#define STACK 0x6100u
#define STATEMENT 0x6200u

enum build { THREADED, UNTHREADED, NOTHING };

static struct elf_builder elf;
static struct interpreter_image image;

static int recognise(enum build build, uint8_t revision, uint8_t version)
{
	const uint8_t constants[] = {revision, version};
	static struct elf_layout layout;
	struct byte_source src;
	uint64_t at;

	elf_builder_init(&elf, EM_X86_64);
	at = elf_builder_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0, constants,
				 sizeof(constants))
		     ->sh_offset;
	elf_builder_symbol(&elf, "Perl_runops_standard", STB_GLOBAL, STT_FUNC, TEXT, 76);
	if (revision != 0) {
		elf_builder_symbol(&elf, "PL_revision", STB_GLOBAL, STT_OBJECT, at, 1);
		elf_builder_symbol(&elf, "PL_version", STB_GLOBAL, STT_OBJECT, at + 1, 1);
	}
	if (build == THREADED) {
		elf_builder_symbol(&elf, "PL_thr_key", STB_GLOBAL, STT_OBJECT, KEY, 4);
	} else if (build == UNTHREADED) {
		elf_builder_symbol(&elf, "PL_curstackinfo", STB_GLOBAL, STT_OBJECT, STACK, 8);
		elf_builder_symbol(&elf, "PL_curcop", STB_GLOBAL, STT_OBJECT, STATEMENT, 8);
	}
	elf_builder_symbol_table(&elf, SHT_DYNSYM);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, 0, ELF_BUILDER_BYTES / 2);
	elf_builder_finish(&elf);
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return perl_interpreter_ops.recognise(&layout, &src, &image);
}

TEST(a_file_is_perl_by_what_it_has)
{
	assert_int_equal(recognise(THREADED, 5, 36), 0);
	assert_int_equal(image.language, INTERPRETER_PERL);
	assert_true(image.perl.threaded);
	assert_int_equal(image.roots[0].kind, INTERPRETER_ROOT_KEY);
	assert_int_equal(image.roots[0].vaddr, KEY);
	assert_int_equal(image.roots[0].n_steps, 1);
	assert_int_equal(image.roots[0].steps[0], 224);
	assert_int_equal(image.first_at.kind, INTERPRETER_ROOT_KEY);
	assert_int_equal(image.first_at.steps[0], 208);
	assert_int_equal(image.n_loops, 1);
	assert_int_equal(image.loops[0].start, TEXT);
	assert_int_equal(image.loops[0].end, TEXT + 76);
}

TEST(without_threads_it_has_global_variables)
{
	assert_int_equal(recognise(UNTHREADED, 5, 36), 0);
	assert_false(image.perl.threaded);
	assert_int_equal(image.roots[0].kind, INTERPRETER_ROOT_GLOBAL);
	assert_int_equal(image.roots[0].vaddr, STACK);
	assert_int_equal(image.roots[0].n_steps, 0);
	assert_int_equal(image.first_at.kind, INTERPRETER_ROOT_GLOBAL);
	assert_int_equal(image.first_at.vaddr, STATEMENT);
}

TEST(releases_have_offsets_of_their_own)
{
	static const struct {
		int64_t statement;
		int next; /* 0: not known */
		uint8_t revision, version;
		bool name_in_body;
	} cases[] = {
		{0, 0, 5, 26, false},      {224, -96, 5, 28, false},  {224, -96, 5, 30, false},
		{224, -104, 5, 32, false}, {208, -104, 5, 34, false}, {208, -104, 5, 36, true},
		{208, -104, 5, 38, true},  {208, -104, 5, 40, true},  {208, -104, 5, 42, true},
		{208, -104, 5, 44, true},  {0, 0, 5, 41, false},      {0, 0, 5, 43, false},
		{0, 0, 5, 46, false},      {0, 0, 7, 36, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = recognise(THREADED, cases[i].revision, cases[i].version);

		assert_int_equal(r, cases[i].next ? 0 : -ENOTSUP);
		if (r < 0)
			continue;
		assert_int_equal(image.frames.next, cases[i].next);
		assert_int_equal(image.frames.code + 8, image.frames.n_bytes);
		assert_int_equal(image.first_at.steps[0], cases[i].statement);
		assert_int_equal(image.roots[0].steps[0], cases[i].statement + 16);
		assert_int_equal(image.perl.name_in_body, cases[i].name_in_body);
	}
}

TEST(a_perl_that_says_too_little_is_not_known)
{
	assert_int_equal(recognise(NOTHING, 5, 36), -ENOTSUP);
	assert_int_equal(recognise(THREADED, 0, 0), -ENOTSUP);
}
