/*
 * Files with more code without descriptions than is analysed at once: their tables say nothing of
 * it until samples come there, and then the parts with most samples are first.
 */
#include "node-agent/unwind/hot_code.h"

#include <errno.h>

#include "common/limits.h"
#include "node-agent/unwind/table_builder.h"
#include "test/lib/large_text.h"
#include "test/lib/unit.h"
#include "test/lib/unwind_plain.h"

#define PART_BYTES (CFI_PART_PAGES * UNWIND_PAGE_BYTES)
#define TEXT_BYTES (24 * MIB)
#define TABLE 2u

/* ---- which part is next ---- */

static void note(struct hot_code *h, uint64_t part, unsigned n)
{
	while (n-- > 0)
		hot_code_note(h, part * PART_BYTES + 7);
}

static void expect_next(struct hot_code *h, uint64_t part)
{
	struct hot_part p;

	assert_true(hot_code_samples(h) > 0);
	assert_int_equal(hot_code_take(h, true, &p), 0);
	assert_int_equal(p.extent.first_page, part * CFI_PART_PAGES);
	assert_int_equal(p.extent.n_pages, CFI_PART_PAGES);
}

TEST(the_part_with_most_samples_is_next)
{
	const struct cfi_extent extent = {.n_pages = 40 * CFI_PART_PAGES};
	const struct cfi_deferred deferred = {
		.ranges = {{PART_BYTES, 9 * PART_BYTES}, {11 * PART_BYTES + 5, 40 * PART_BYTES}},
		.n = 2,
	};
	CLEANUP(hot_code_freep) struct hot_code *h = NULL;
	struct hot_part p;

	assert_int_equal(hot_code_new(&h, &extent, &deferred), 0);
	assert_int_equal(hot_code_samples(h), 0);
	note(h, 3, HOT_CODE_SAMPLES);
	note(h, 8, 1000);
	note(h, 11, HOT_CODE_SAMPLES + 1);
	note(h, 12, HOT_CODE_SAMPLES - 1); /* too few */
	note(h, 0, 100);                   /* not deferred, as are the next two */
	note(h, 9, 100);
	note(h, 10, 100);
	note(h, 40, 100); /* not in the table */
	hot_code_note(h, UINT64_MAX);
	expect_next(h, 8);
	note(h, 8, 1000); /* it is not deferred any more */
	expect_next(h, 11);
	expect_next(h, 3);
	assert_int_equal(hot_code_samples(h), 0);
	assert_int_equal(hot_code_take(h, true, &p), -ENOENT);
}

TEST(the_last_part_is_as_long_as_the_table)
{
	const struct cfi_extent extent = {.first_page = 5, .n_pages = 2 * CFI_PART_PAGES + 1};
	const struct cfi_deferred deferred = {.ranges = {{5 * UNWIND_PAGE_BYTES, UINT64_MAX / 2}},
					      .n = 1};
	CLEANUP(hot_code_freep) struct hot_code *h = NULL;
	struct hot_part p;

	assert_int_equal(hot_code_new(&h, &extent, &deferred), 0);
	for (unsigned i = 0; i < HOT_CODE_SAMPLES; i++)
		hot_code_note(h, (5 + 2 * CFI_PART_PAGES) * UNWIND_PAGE_BYTES);
	assert_int_equal(hot_code_take(h, true, &p), 0);
	assert_int_equal(p.extent.first_page, 5 + 2 * CFI_PART_PAGES);
	assert_int_equal(p.extent.n_pages, 1);
}

TEST(the_number_of_parts_is_limited)
{
	const struct cfi_extent extent = {.n_pages = (HOT_CODE_PARTS_MAX + 10) * CFI_PART_PAGES};
	const struct cfi_deferred deferred = {.ranges = {{0, UINT64_MAX}}, .n = 1};
	CLEANUP(hot_code_freep) struct hot_code *h = NULL;
	struct hot_part p;
	unsigned n = 0;

	assert_int_equal(hot_code_new(&h, &extent, &deferred), 0);
	for (uint64_t part = 0; part < HOT_CODE_PARTS_MAX + 10; part++)
		note(h, part, HOT_CODE_SAMPLES);
	while (hot_code_take(h, true, &p) == 0)
		n++;
	assert_int_equal(n, HOT_CODE_PARTS_MAX);
}

TEST(what_was_hot_before_needs_one_sample_less)
{
	const struct cfi_extent extent = {.n_pages = 40 * CFI_PART_PAGES};
	const struct cfi_deferred deferred = {.ranges = {{0, 40 * PART_BYTES}}, .n = 1};
	CLEANUP(hot_code_freep) struct hot_code *before = NULL, *again = NULL, *third = NULL;

	assert_int_equal(hot_code_new(&before, &extent, &deferred), 0);
	note(before, 3, HOT_CODE_SAMPLES);
	expect_next(before, 3);
	assert_int_equal(hot_code_new(&again, &extent, &deferred), 0);
	hot_code_remember(again, before);
	assert_int_equal(hot_code_samples(again), 0);
	note(again, 3, 1);
	note(again, 4, 1);
	expect_next(again, 3);
	assert_int_equal(hot_code_samples(again), 0);
	/* also if it was given up once more */
	assert_int_equal(hot_code_new(&third, &extent, &deferred), 0);
	hot_code_remember(third, again);
	note(third, 3, 1);
	expect_next(third, 3);
}

TEST(what_was_hot_before_is_read_first)
{
	const struct cfi_extent extent = {.n_pages = 40 * CFI_PART_PAGES};
	CLEANUP(hot_code_freep) struct hot_code *before = NULL, *again = NULL;
	struct hot_part p;

	assert_int_equal(hot_code_new_empty(&before, &extent), 0);
	note(before, 20, 1);
	assert_int_equal(hot_code_take(before, true, &p), 0);
	assert_int_equal(hot_code_new_empty(&again, &extent), 0);
	hot_code_remember(again, before);
	assert_int_equal(hot_code_take(again, true, &p), 0);
	assert_int_equal(p.extent.first_page, 20 * CFI_PART_PAGES);
	assert_int_equal(hot_code_take(again, true, &p), -ENOENT);
}

static void expect_rest(struct hot_code *h, uint64_t first, uint64_t n)
{
	struct hot_part p;

	assert_int_equal(hot_code_take_rest(h, &p), 0);
	assert_true(p.fills);
	assert_int_equal(p.extent.first_page, first * CFI_PART_PAGES);
	assert_int_equal(p.extent.n_pages, n * CFI_PART_PAGES);
}

TEST(the_rest_is_read_from_where_samples_came)
{
	const uint32_t at_once = CFI_FILL_PAGES / CFI_PART_PAGES;
	const struct cfi_extent extent = {.n_pages = 3 * CFI_FILL_PAGES};
	CLEANUP(hot_code_freep) struct hot_code *h = NULL;
	struct hot_part p;

	assert_int_equal(hot_code_new_empty(&h, &extent), 0);
	expect_rest(h, 0, at_once);
	note(h, at_once + 2, 1);
	assert_int_equal(hot_code_take(h, true, &p), 0);
	assert_int_equal(p.extent.first_page, (at_once + 2) * CFI_PART_PAGES);
	assert_int_equal(p.extent.n_pages, 4 * CFI_PART_PAGES); /* with what follows */
	expect_rest(h, at_once + 6, at_once);
	expect_rest(h, 2 * at_once + 6, at_once - 6);
	expect_rest(h, at_once, 2);
	assert_int_equal(hot_code_take_rest(h, &p), -ENOENT);
	assert_false(hot_code_is_filling(h));
}

TEST(what_is_around_a_sample_is_read_at_once_where_the_rest_is_not)
{
	const uint32_t at_once = CFI_FILL_PAGES / CFI_PART_PAGES;
	const struct cfi_extent extent = {.n_pages = 3 * CFI_FILL_PAGES};
	CLEANUP(hot_code_freep) struct hot_code *h = NULL;
	struct hot_part p;

	assert_int_equal(hot_code_new_empty(&h, &extent), 0);
	note(h, at_once + 2, 1);
	assert_int_equal(hot_code_take(h, false, &p), 0);
	assert_int_equal(p.extent.first_page, (at_once / 2 + 2) * CFI_PART_PAGES);
	assert_int_equal(p.extent.n_pages, CFI_FILL_PAGES);
	note(h, 3, 1);
	assert_int_equal(hot_code_take(h, false, &p), 0);
	assert_int_equal(p.extent.first_page, 0);
	assert_int_equal(p.extent.n_pages, (at_once / 2 + 2) * CFI_PART_PAGES);
}

/* ---- what is given up ---- */

static void expect_drop(struct hot_code *h, enum hot_code_drop what, uint64_t first, uint64_t n)
{
	struct hot_part p;

	assert_int_equal(hot_code_drop(h, what, &p), 0);
	assert_int_equal(p.extent.first_page, first * CFI_PART_PAGES);
	assert_int_equal(p.extent.n_pages, n * CFI_PART_PAGES);
}

static void expect_no_drop(struct hot_code *h, enum hot_code_drop what)
{
	struct hot_part p;

	assert_int_equal(hot_code_drop(h, what, &p), -ENOENT);
}

static void cool(struct hot_code *h, unsigned periods)
{
	while (periods-- > 0)
		hot_code_cool(h);
}

/* And read again where samples come, but not with the rest. */
TEST(parts_without_samples_get_cold)
{
	const struct cfi_extent extent = {.n_pages = 8 * CFI_PART_PAGES};
	const struct cfi_deferred none = {.n = 0};
	CLEANUP(hot_code_freep) struct hot_code *h = NULL;
	struct hot_part p;

	assert_int_equal(hot_code_new(&h, &extent, &none), 0);
	assert_false(hot_code_has_more(h));
	note(h, 3, 1);
	expect_no_drop(h, HOT_CODE_COLD);
	cool(h, HOT_CODE_UNSAMPLED_PERIODS);
	expect_drop(h, HOT_CODE_COLD, 0, 3);
	expect_drop(h, HOT_CODE_COLD, 4, 4);
	expect_no_drop(h, HOT_CODE_COLD);
	assert_true(hot_code_has_more(h));
	assert_false(hot_code_is_filling(h));
	assert_int_equal(hot_code_take_rest(h, &p), -ENOENT);
	note(h, 5, 1);
	assert_int_equal(hot_code_take(h, true, &p), 0);
	assert_int_equal(p.extent.first_page, 5 * CFI_PART_PAGES);
	assert_int_equal(p.extent.n_pages, 3 * CFI_PART_PAGES);
	assert_true(p.fills);
	assert_true(p.again);
	cool(h, HOT_CODE_SAMPLED_PERIODS - HOT_CODE_UNSAMPLED_PERIODS);
	expect_drop(h, HOT_CODE_COLD, 3, 1);
	expect_drop(h, HOT_CODE_COLD, 6, 2);
	expect_no_drop(h, HOT_CODE_COLD);
}

TEST(parts_without_samples_go_first_where_there_is_no_room)
{
	const struct cfi_extent extent = {.n_pages = 8 * CFI_PART_PAGES};
	CLEANUP(hot_code_freep) struct hot_code *h = NULL;
	struct hot_part p;

	assert_int_equal(hot_code_new_empty(&h, &extent), 0);
	note(h, 6, 1);
	assert_int_equal(hot_code_take(h, true, &p), 0);
	expect_no_drop(h, HOT_CODE_COLD);
	expect_drop(h, HOT_CODE_UNSAMPLED, 7, 1);
	expect_no_drop(h, HOT_CODE_UNSAMPLED);
	expect_rest(h, 0, 6); /* and not the one that was dropped */
	assert_int_equal(hot_code_take_rest(h, &p), -ENOENT);
}

TEST(what_is_dropped_of_a_program_that_ended_is_the_rest_when_it_starts_again)
{
	const struct cfi_extent extent = {.n_pages = 8 * CFI_PART_PAGES};
	CLEANUP(hot_code_freep) struct hot_code *h = NULL;
	struct hot_part p;

	assert_int_equal(hot_code_new_empty(&h, &extent), 0);
	expect_no_drop(h, HOT_CODE_ENDED);
	note(h, 6, 1);
	assert_int_equal(hot_code_take(h, true, &p), 0);
	assert_int_equal(p.extent.n_pages, 2 * CFI_PART_PAGES);
	assert_false(p.again);
	expect_drop(h, HOT_CODE_ENDED, 7, 1);
	expect_no_drop(h, HOT_CODE_ENDED);
	expect_rest(h, 0, 6);
	assert_int_equal(hot_code_take_rest(h, &p), 0);
	assert_int_equal(p.extent.first_page, 7 * CFI_PART_PAGES);
	assert_true(p.again);
	assert_false(hot_code_is_filling(h));
	expect_drop(h, HOT_CODE_ENDED, 0, 6);
	assert_true(hot_code_is_filling(h));
}

/* ---- tables ---- */

struct fixture {
	struct unwind_plain plain;
	struct unwind_slabs *slabs;
	struct table_builder builder;
	uint8_t *file;
	struct byte_source src;
	struct built_table table;
	struct unwind_extent process[3];
};

/* A process whose only mapping is of the table. */
static void map_table(struct fixture *f)
{
	static const uint64_t starts[8] = {0};
	const struct unwind_mapping mapping = {.n_pages = UINT32_MAX, .table = TABLE};
	struct unwind_process process = {.n_mappings = 1};
	struct unwind_extent *e = f->process;
	struct unwind_ref ref;

	assert_int_equal(unwind_slabs_write(f->slabs, starts, sizeof(starts), &e[0]), 0);
	assert_int_equal(unwind_slabs_write(f->slabs, &mapping, sizeof(mapping), &e[1]), 0);
	process.starts = (struct unwind_ref){e[0].block, (uint16_t)(e[0].unit * 8)};
	process.mappings[0] = (struct unwind_ref){e[1].block, (uint16_t)(e[1].unit * 4)};
	assert_int_equal(unwind_slabs_write(f->slabs, &process, sizeof(process), &e[2]), 0);
	ref = (struct unwind_ref){e[2].block, e[2].unit};
	assert_int_equal(f->plain.memory.put_process(&f->plain, 1, &ref), 0);
}

static void begin(struct fixture *f, size_t text_bytes, uint64_t max_bytes)
{
	struct unwind_slabs_config slabs = {.max_bytes = max_bytes, .grace_ns = 1};

	*f = (struct fixture){.builder = {.max_table_bytes = 32 * MIB}};
	unwind_plain_init(&f->plain);
	slabs.make_slab = f->plain.memory.make_slab;
	slabs.free_slab = f->plain.memory.free_slab;
	slabs.ctx = f->plain.memory.ctx;
	assert_int_equal(unwind_slabs_new(&f->slabs, &slabs), 0);
	f->builder.slabs = f->slabs;
	f->file = large_text_new(text_bytes);
	assert_non_null(f->file);
	byte_source_from_memory(&f->src, f->file, LARGE_TEXT_OFFSET + text_bytes);
	map_table(f);
	assert_int_equal(table_builder_build(&f->builder, &f->src, NULL, &f->table), 0);
	built_table_publish(&f->table, &f->plain.tables[TABLE]);
}

static void end(struct fixture *f)
{
	struct unwind_slabs_stats stats;

	built_table_withdraw(&f->table, f->slabs, &f->plain.tables[TABLE], 0);
	for (size_t i = 0; i < ARRAY_SIZE(f->process); i++)
		unwind_slabs_put(f->slabs, &f->process[i], 0);
	unwind_slabs_read_stats(f->slabs, &stats);
	assert_int_equal(stats.used_bytes, 0);
	unwind_slabs_free(f->slabs);
	free(f->file);
}

static uint64_t function_at(uint64_t offset)
{
	return LARGE_TEXT_OFFSET + offset / LARGE_TEXT_FUNCTION * LARGE_TEXT_FUNCTION;
}

static const struct unwind_rule *rule(const struct fixture *f, uint64_t address)
{
	const struct unwind_rule *r = unwind_plain_rule(&f->plain, 1, address);

	assert_non_null(r);
	return r;
}

/* Whether the function at this offset has been analysed; if so, its rules are right. */
static bool is_known(const struct fixture *f, uint64_t offset)
{
	uint64_t address = function_at(offset);
	unsigned base = rule(f, address + LARGE_TEXT_CALL)->base;

	if (base == UNWIND_CFA_UNKNOWN)
		return false;
	assert_int_equal(base, UNWIND_CFA_FP);
	assert_int_equal(rule(f, address)->base, UNWIND_CFA_SP);
	assert_int_equal(rule(f, address)->cfa, 1);
	assert_int_equal(rule(f, address + LARGE_TEXT_RETURN)->base, UNWIND_CFA_SP);
	return true;
}

/* Analyses the part with this offset. */
static int build_part(struct fixture *f, uint64_t offset)
{
	struct hot_part part;

	for (unsigned i = 0; i < HOT_CODE_SAMPLES; i++)
		hot_code_note(f->table.hot, LARGE_TEXT_OFFSET + offset);
	assert_int_equal(hot_code_take(f->table.hot, true, &part), 0);
	return table_builder_build_part(&f->builder, &f->src, &f->table, &part,
					&f->plain.tables[TABLE], 5);
}

TEST(code_that_samples_come_to_is_known_then)
{
	const uint64_t places[] = {20 * MIB, 3 * MIB, TEXT_BYTES - 200, 0};
	static struct fixture f;
	uint64_t n_rows;

	begin(&f, TEXT_BYTES, 64 * MIB);
	assert_non_null(f.table.hot);
	n_rows = f.table.n_rows;
	assert_true(n_rows < 2 * TEXT_BYTES / UNWIND_PAGE_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		uint32_t generation = f.plain.tables[TABLE].generation;

		assert_false(is_known(&f, places[i]));
		assert_int_equal(build_part(&f, places[i]), 0);
		assert_int_equal(f.plain.tables[TABLE].generation, generation + 1);
		for (size_t j = 0; j < ARRAY_SIZE(places); j++)
			assert_int_equal(is_known(&f, places[j]), j <= i);
		assert_true(f.table.n_rows > n_rows);
		n_rows = f.table.n_rows;
	}
	/* all of a part, and nothing beside it */
	for (uint64_t at = 20 * MIB; at < 20 * MIB + PART_BYTES - UNWIND_PAGE_BYTES; at += 4096)
		assert_true(is_known(&f, at));
	assert_false(is_known(&f, 20 * MIB + PART_BYTES + LARGE_TEXT_FUNCTION));
	assert_false(is_known(&f, 20 * MIB - PART_BYTES));
	end(&f);
}

TEST(a_smaller_text_is_known_at_once)
{
	static struct fixture f;

	begin(&f, 2 * MIB, 64 * MIB);
	assert_null(f.table.hot);
	assert_true(is_known(&f, MIB));
	end(&f);
}

TEST(a_part_without_room_changes_nothing)
{
	static struct fixture f;
	uint64_t bytes, n_parts = 0;
	int r = 0;

	begin(&f, TEXT_BYTES, MIB);
	do {
		bytes = f.table.bytes;
		r = build_part(&f, n_parts * PART_BYTES);
	} while (r == 0 && ++n_parts < TEXT_BYTES / PART_BYTES);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(f.table.bytes, bytes);
	assert_true(n_parts > 0);
	assert_true(is_known(&f, (n_parts - 1) * PART_BYTES));
	assert_false(is_known(&f, n_parts * PART_BYTES + PART_BYTES / 2));
	end(&f);
}

static bool is_other_file(void *ctx)
{
	(void)ctx;
	return false;
}

TEST(a_part_of_a_file_that_has_changed_is_discarded)
{
	static struct fixture f;

	begin(&f, TEXT_BYTES, 64 * MIB);
	f.builder.is_current = is_other_file;
	assert_int_equal(build_part(&f, MIB), -ESTALE);
	assert_false(is_known(&f, MIB));
	end(&f);
}

TEST(the_table_has_the_size_of_what_it_says)
{
	static struct fixture f;

	begin(&f, TEXT_BYTES, 64 * MIB);
	f.builder.max_table_bytes = f.table.bytes;
	assert_int_equal(build_part(&f, MIB), -EFBIG);
	assert_false(is_known(&f, MIB));
	end(&f);
}
