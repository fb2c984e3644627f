#include <errno.h>

#include "node-agent/gopclntab/gopclntab_line.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

static const char *const names[] = {"main.a", "main.b", "main.c"};
static const unsigned minors[] = {13, 16, 18, 20}; /* one per format */

struct fixture {
	struct go_image_builder image;
	struct gopclntab table;
	struct gopclntab_trees trees;
	struct gopclntab_line line;
};

static void begin(struct fixture *f, unsigned minor)
{
	go_image_build(&f->image, minor, names);
	f->trees = (struct gopclntab_trees){&f->image.memory, GO_IMAGE_GOFUNC};
	assert_int_equal(gopclntab_open_at(&f->table, &f->image.memory, GO_IMAGE_TABLE,
					   GO_IMAGE_TABLE_BYTES, GO_IMAGE_TEXT),
			 0);
}

static int find(struct fixture *f, uint64_t offset)
{
	return gopclntab_find_line(&f->table, &f->image.memory, &f->trees, GO_IMAGE_TEXT + offset,
				   &f->line);
}

static void expect(struct fixture *f, uint64_t offset, const char *name, const char *file,
		   uint32_t line)
{
	assert_int_equal(find(f, offset), 0);
	assert_string_equal(f->line.name, name);
	assert_string_equal(f->line.file, file);
	assert_int_equal(f->line.line, line);
}

TEST(test_lines_and_inlined_calls_of_all_formats_are_found)
{
	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		struct fixture f;

		begin(&f, minors[i]);
		assert_int_equal(f.table.version, i);
		expect(&f, 0x00, "main.a", "/src/a.go", 10);
		assert_int_equal(f.line.caller, 0);
		expect(&f, 0x0f, "main.a", "/src/a.go", 10);
		expect(&f, 0x10, "main.middle", "/src/b.go", 20);
		assert_int_equal(f.line.caller, GO_IMAGE_TEXT + 0x08);
		expect(&f, 0x3f, "main.inner", "/src/b.go", 25);
		assert_int_equal(f.line.caller, GO_IMAGE_TEXT + 0x18);
		expect(&f, 0xff, "main.a", "/src/a.go", 30);
		assert_int_equal(find(&f, GO_IMAGE_TEXT_BYTES), -ENOENT);
		assert_int_equal(find(&f, (uint64_t)-1), -ENOENT);
	}
}

TEST(test_a_function_without_tables_has_its_name_alone)
{
	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		struct fixture f;

		begin(&f, minors[i]);
		/* a file of number -1: none; the line's table is at offset 0: none */
		expect(&f, 0x100, "main.b", "", 0);
		assert_int_equal(f.line.caller, 0);
		expect(&f, 0x2ef, "main.c", "", 0);
	}
}

TEST(test_a_tree_that_goes_round_has_callers_within_its_function)
{
	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		struct fixture f;
		uint64_t at = 0x28;

		begin(&f, minors[i]);
		/* each is called where the other is */
		go_image_put_tree(&f.image, f.table.version, 0, 1, 0x28);
		go_image_put_tree(&f.image, f.table.version, 1, 1, 0x18);
		for (int turn = 0; turn < 100; turn++) {
			assert_int_equal(find(&f, at), 0);
			assert_in_range(f.line.caller, GO_IMAGE_TEXT, GO_IMAGE_TEXT + 0xff);
			at = f.line.caller - GO_IMAGE_TEXT;
		}
	}
}

TEST(test_nodes_that_lead_nowhere_are_broken)
{
	static const struct {
		uint32_t name, caller;
	} nodes[] = {
		{1, 0x100},              /* a caller in the next function */
		{1, UINT32_MAX},         /* a negative one */
		{UINT32_MAX, 0x08},      /* a negative name */
		{GO_IMAGE_BYTES, 0x08},  /* outside of the table */
		{INT32_MAX, 0x08},       /* far outside */
		{0, 0x08},               /* "" */
		{1, (uint32_t)INT32_MIN} /* … */
	};

	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(nodes); k++) {
			struct fixture f;

			begin(&f, minors[i]);
			if (nodes[k].name == 0 && minors[i] == 13)
				continue; /* its offset 0 is the header's */
			go_image_put_tree(&f.image, f.table.version, 1, nodes[k].name,
					  nodes[k].caller);
			assert_int_equal(find(&f, 0x28), -ENOENT);
			/* the other formats are not affected */
			expect(&f, 0x18, "main.middle", "/src/b.go", 20);
		}
	}
}

TEST(test_a_tree_that_is_not_there_is_unreadable)
{
	struct fixture f;

	begin(&f, 20);
	f.trees.gofunc = GO_IMAGE_BYTES;
	assert_int_equal(find(&f, 0x28), -ENODATA);
	expect(&f, 0x08, "main.a", "/src/a.go", 10); /* needs none */
	f.trees.gofunc = 0;                          /* unknown: inlined calls are not found */
	expect(&f, 0x28, "main.a", "/src/b.go", 25);
	begin(&f, 16);
	/* before 1.18 the address is the function's own */
	f.trees.gofunc = 0;
	expect(&f, 0x28, "main.inner", "/src/b.go", 25);
}

TEST(test_values_that_never_end_end_with_the_table)
{
	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		struct fixture f;

		begin(&f, minors[i]);
		/* no step moves forward, up to the end */
		memset(f.image.data + GO_IMAGE_TABLE + GO_IMAGE_VALUES + 0x20, 0x80,
		       GO_IMAGE_TABLE_BYTES - GO_IMAGE_VALUES - 0x20);
		assert_int_equal(find(&f, 0x08), -ENOENT);
		for (size_t at = GO_IMAGE_VALUES + 0x20; at < GO_IMAGE_TABLE_BYTES; at += 2) {
			go_image_put_table(&f.image, at, 2, 1);
			go_image_put_table(&f.image, at + 1, 0, 1);
		}
		assert_int_equal(find(&f, 0x08), -ENOENT);
	}
}

static void expect_whole_answers(struct fixture *f)
{
	for (uint64_t a = 0; a < 0x100; a += 8) {
		if (find(f, a) < 0)
			continue;
		assert_true(f->line.name[0] != '\0');
		assert_non_null(memchr(f->line.file, '\0', sizeof(f->line.file)));
		if (f->line.caller != 0)
			assert_in_range(f->line.caller, GO_IMAGE_TEXT, GO_IMAGE_TEXT + 0xff);
	}
}

/* Whichever word is wrong, there is an error or a complete answer, and no read is outside. */
TEST(test_tables_with_a_wrong_word_give_whole_answers)
{
	static const uint32_t wrong[] = {0, 1, 0x7fffffff, 0x80000000, UINT32_MAX};
	const size_t n_words = GO_IMAGE_RECORD_BYTES / 4;

	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		for (size_t k = 0; k < n_words * ARRAY_SIZE(wrong); k++) {
			struct fixture f;

			begin(&f, minors[i]);
			go_image_put_table(&f.image, GO_IMAGE_RECORDS + k % n_words * 4,
					   wrong[k / n_words], 4);
			expect_whole_answers(&f);
		}
	}
}

TEST(test_a_table_that_is_cut_gives_whole_answers_or_none)
{
	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		for (size_t len = 0; len < GO_IMAGE_TABLE_BYTES; len += 8) {
			struct fixture f;

			begin(&f, minors[i]);
			if (gopclntab_open_at(&f.table, &f.image.memory, GO_IMAGE_TABLE, len,
					      GO_IMAGE_TEXT) < 0)
				continue;
			for (uint64_t a = 0; a < 0x100; a += 8) {
				if (find(&f, a) == 0)
					assert_memory_equal(f.line.name, "main.", 5);
			}
		}
	}
}
