/* What is found in a file of PHP. Real ones are in test/php. */
#include <errno.h>

#include "node-agent/interpreter/php/php_interpreter.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define TEXT 0x2000u
#define GLOBALS 0x6000u
#define GLOBALS_OFFSET 0x6100u

static struct elf_builder elf;
static struct interpreter_image image;
static bool has_threads; /* built for several threads */

/* constants NULL: without a section of them. */
static int recognise(const char *constants, bool has_globals)
{
	static struct elf_layout layout;
	struct byte_source src;

	elf_builder_init(&elf, EM_X86_64);
	if (constants)
		elf_builder_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0x1000, constants,
				    strlen(constants) + 1);
	elf_builder_symbol(&elf, "execute_ex", STB_GLOBAL, STT_FUNC, TEXT, 256);
	if (has_globals)
		elf_builder_symbol(&elf, "executor_globals", STB_GLOBAL, STT_OBJECT, GLOBALS, 512);
	if (has_threads) {
		elf_builder_symbol(&elf, "tsrm_get_ls_cache", STB_GLOBAL, STT_FUNC, TEXT + 256, 16);
		elf_builder_symbol(&elf, "executor_globals_offset", STB_GLOBAL, STT_OBJECT,
				   GLOBALS_OFFSET, 8);
	}
	elf_builder_symbol_table(&elf, SHT_DYNSYM);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, 0, ELF_BUILDER_BYTES / 2);
	elf_builder_finish(&elf);
	byte_source_from_memory(&src, elf.data, elf.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return php_interpreter_ops.recognise(&layout, &src, &image);
}

TEST(a_file_is_php_by_what_it_has)
{
	assert_int_equal(recognise("a\nX-Powered-By: PHP/8.2.29\n", true), 0);
	assert_int_equal(image.language, INTERPRETER_PHP);
	assert_int_equal(image.roots[0].kind, INTERPRETER_ROOT_GLOBAL);
	assert_int_equal(image.roots[0].vaddr, GLOBALS + 488);
	assert_int_equal(image.php.filename, 152);
	assert_int_equal(image.frames.check_more, 152);
	assert_int_equal(image.texts[0], 8);
	assert_int_equal(image.texts[1], 152);
	assert_int_equal(image.texts[2], CHAIN_TEXT_AT);
	assert_int_equal(image.n_loops, 1);
	assert_int_equal(image.loops[0].start, TEXT);
	assert_int_equal(image.loops[0].end, TEXT + 256);
}

TEST(releases_have_offsets_of_their_own)
{
	static const struct {
		const char *release;
		unsigned filename; /* 0: not known */
		unsigned current;
	} cases[] = {
		{"7.2.34", 0, 0},     {"7.3.33", 128, 488}, {"7.4.33", 136, 488},
		{"8.0.30", 144, 488}, {"8.1.29", 144, 488}, {"8.2.29", 152, 488},
		{"8.3.21", 144, 488}, {"8.4.27", 168, 488}, {"8.4.0RC1", 168, 488},
		{"8.5.7", 168, 512},  {"8.6.0", 168, 512},  {"8.7.0", 0, 0},
		{"8.10.0", 0, 0},     {"x.y", 0, 0},
	};
	char constants[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r;

		snprintf(constants, sizeof(constants), "X-Powered-By: PHP/%s", cases[i].release);
		r = recognise(constants, true);
		if (cases[i].filename == 0) {
			assert_true(r == -ENOTSUP || r == -ENOENT);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(image.php.filename, cases[i].filename);
		assert_int_equal(image.roots[0].vaddr, GLOBALS + cases[i].current);
	}
}

TEST(the_release_may_be_anywhere_among_the_constants)
{
	static const size_t places[] = {0, 1, 20000, 45000};
	static const char release[] = "X-Powered-By: PHP/7.4.33";
	static char constants[50000];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		memset(constants, 'x', sizeof(constants) - 1);
		memcpy(constants + places[i], release, sizeof(release) - 1);
		assert_int_equal(recognise(constants, true), 0);
		assert_int_equal(image.php.filename, 136);
	}
}

TEST(a_program_that_is_not_php_may_have_such_a_function)
{
	assert_int_equal(recognise(NULL, true), -ENOENT);
	assert_int_equal(recognise("X-Powered-By: Perl", true), -ENOENT);
}

TEST(php_without_its_globals_is_not_known)
{
	assert_int_equal(recognise("X-Powered-By: PHP/8.2.29", false), -ENOTSUP);
}

static int read_offset(void *ctx, uint64_t at, void *to, size_t n)
{
	assert_int_equal(at, 0x10000 + GLOBALS_OFFSET);
	assert_int_equal(n, sizeof(uint64_t));
	memcpy(to, ctx, n);
	return 0;
}

TEST(globals_of_a_thread_are_where_the_process_says)
{
	uint64_t offset = 0;
	const struct interpreter_memory memory = {.read = read_offset, .ctx = &offset};

	has_threads = true;
	assert_int_equal(recognise("X-Powered-By: PHP/8.2.29", false), 0);
	has_threads = false;
	assert_int_equal(image.roots[0].kind, INTERPRETER_ROOT_GETTER);
	assert_int_equal(image.roots[0].vaddr, TEXT + 256);
	assert_int_equal(php_interpreter_ops.complete(&image, 0x10000, &memory), -EAGAIN);
	offset = UINT64_C(1) << 40;
	assert_int_equal(php_interpreter_ops.complete(&image, 0x10000, &memory), -ENOTSUP);
	offset = 4096;
	assert_int_equal(php_interpreter_ops.complete(&image, 0x10000, &memory), 0);
	assert_int_equal(image.roots[0].n_steps, 1);
	assert_int_equal(image.roots[0].steps[0], 4096 + 488);
	offset = 0; /* it is known */
	assert_int_equal(php_interpreter_ops.complete(&image, 0x10000, &memory), 0);
}
