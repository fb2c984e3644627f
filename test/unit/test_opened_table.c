/*
 * Tables of files with many functions are there at once, without a page, and are built in parts:
 * where samples come first. In the end they say what a table does that is built as a whole.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/limits.h"
#include "node-agent/unwind/hot_code.h"
#include "node-agent/unwind/table_builder.h"
#include "test/lib/large_text.h"
#include "test/lib/unit.h"
#include "test/lib/unwind_plain.h"

#define PART_BYTES (CFI_PART_PAGES * UNWIND_PAGE_BYTES)
#define WHOLE 2u  /* tables: built at once, */
#define OPENED 3u /* and in parts */

struct fixture {
	struct unwind_plain plain;
	struct unwind_slabs *slabs;
	struct table_builder builder;
	int fd;
	struct byte_source src;
	struct built_table whole, opened;
	struct unwind_extent process[2][3];
	struct cfi_extent extent;
	uint64_t text; /* address of a function */
};

/* The process with this pid has mapped the file of the table, and nothing else. */
static void map_table(struct fixture *f, pid_t pid, uint32_t table)
{
	static const uint64_t starts[8] = {0};
	const struct unwind_mapping mapping = {.n_pages = UINT32_MAX, .table = table};
	struct unwind_process process = {.n_mappings = 1};
	struct unwind_extent *e = f->process[pid - 1];
	struct unwind_ref ref;

	assert_int_equal(unwind_slabs_write(f->slabs, starts, sizeof(starts), &e[0]), 0);
	assert_int_equal(unwind_slabs_write(f->slabs, &mapping, sizeof(mapping), &e[1]), 0);
	process.starts = (struct unwind_ref){e[0].block, (uint16_t)(e[0].unit * 8)};
	process.mappings[0] = (struct unwind_ref){e[1].block, (uint16_t)(e[1].unit * 4)};
	assert_int_equal(unwind_slabs_write(f->slabs, &process, sizeof(process), &e[2]), 0);
	ref = (struct unwind_ref){e[2].block, e[2].unit};
	assert_int_equal(f->plain.memory.put_process(&f->plain, pid, &ref), 0);
}

/* The C library has thousands of functions. */
static void open_libc(struct fixture *f)
{
	struct stat st;
	Dl_info info;

	assert_true(dladdr((const void *)qsort, &info) != 0);
	f->fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	f->text = (uint64_t)((uintptr_t)qsort - (uintptr_t)info.dli_fbase);
	assert_int_equal(fstat(f->fd, &st), 0);
	byte_source_from_fd(&f->src, f->fd, (uint64_t)st.st_size);
}

static void begin(struct fixture *f, uint64_t max_bytes)
{
	struct unwind_slabs_config slabs = {.max_bytes = max_bytes, .grace_ns = 1};

	*f = (struct fixture){.builder = {.max_table_bytes = 32 * MIB}};
	unwind_plain_init(&f->plain);
	slabs.make_slab = f->plain.memory.make_slab;
	slabs.free_slab = f->plain.memory.free_slab;
	slabs.ctx = f->plain.memory.ctx;
	assert_int_equal(unwind_slabs_new(&f->slabs, &slabs), 0);
	f->builder.slabs = f->slabs;
	open_libc(f);
	map_table(f, 1, WHOLE);
	map_table(f, 2, OPENED);
	assert_int_equal(table_builder_build(&f->builder, &f->src, NULL, &f->whole), 0);
	assert_null(f->whole.hot);
	built_table_publish(&f->whole, &f->plain.tables[WHOLE]);
	f->builder.open_functions = 100;
	assert_int_equal(table_builder_build(&f->builder, &f->src, NULL, &f->opened), 0);
	built_table_publish(&f->opened, &f->plain.tables[OPENED]);
	assert_non_null(f->opened.hot);
	f->extent = f->opened.extent;
}

static void end(struct fixture *f)
{
	struct unwind_slabs_stats stats;

	built_table_withdraw(&f->whole, f->slabs, &f->plain.tables[WHOLE], 0);
	built_table_withdraw(&f->opened, f->slabs, &f->plain.tables[OPENED], 0);
	for (size_t i = 0; i < ARRAY_SIZE(f->process[0]); i++) {
		unwind_slabs_put(f->slabs, &f->process[0][i], 0);
		unwind_slabs_put(f->slabs, &f->process[1][i], 0);
	}
	unwind_slabs_read_stats(f->slabs, &stats);
	assert_int_equal(stats.used_bytes, 0);
	unwind_slabs_free(f->slabs);
	close(f->fd);
}

static int build_part(struct fixture *f, const struct hot_part *part)
{
	return table_builder_build_part(&f->builder, &f->src, &f->opened, part,
					&f->plain.tables[OPENED], 5);
}

static uint64_t address_of(const struct cfi_extent *e)
{
	return e->first_page << UNWIND_PAGE_SHIFT;
}

static uint64_t end_of(const struct cfi_extent *e)
{
	return (e->first_page + e->n_pages) << UNWIND_PAGE_SHIFT;
}

#define STEP 5u /* of the addresses that are looked at */

/*
 * How many addresses of these have no rule that the whole table has. Those that have one must have
 * the same.
 */
static unsigned count_unknown(const struct fixture *f, const struct cfi_extent *e)
{
	unsigned n = 0;

	for (uint64_t at = address_of(e); at < end_of(e); at += STEP) {
		const struct unwind_rule *whole = unwind_plain_rule(&f->plain, 1, at);
		const struct unwind_rule *part = unwind_plain_rule(&f->plain, 2, at);

		assert_non_null(whole);
		if (part && part->base != UNWIND_CFA_UNKNOWN)
			assert_memory_equal(part, whole, sizeof(*part));
		else
			n += whole->base != UNWIND_CFA_UNKNOWN;
	}
	return n;
}

TEST(one_sample_is_enough_for_the_code_around_it)
{
	static struct fixture f;
	struct hot_part part;

	begin(&f, 64 * MIB);
	assert_int_equal(f.plain.tables[OPENED].n_pages, f.extent.n_pages);
	assert_null(unwind_plain_rule(&f.plain, 2, f.text));
	assert_int_equal(hot_code_take(f.opened.hot, true, &part), -ENOENT);
	hot_code_note(f.opened.hot, f.text);
	assert_int_equal(hot_code_take(f.opened.hot, true, &part), 0);
	assert_true(part.fills);
	assert_true(f.text >= address_of(&part.extent) && f.text < end_of(&part.extent));
	assert_true(part.extent.n_pages > 0 && part.extent.n_pages <= 4 * CFI_PART_PAGES);
	assert_int_equal(build_part(&f, &part), 0);
	assert_int_equal(count_unknown(&f, &part.extent), 0);
	/* nothing beside it */
	assert_null(unwind_plain_rule(&f.plain, 2, address_of(&part.extent) - 1));
	assert_null(unwind_plain_rule(&f.plain, 2, end_of(&part.extent)));
	assert_true(hot_code_is_filling(f.opened.hot));
	end(&f);
}

TEST(all_parts_together_are_the_table)
{
	static struct fixture f;
	struct hot_part part;

	begin(&f, 64 * MIB);
	/* some come first */
	hot_code_note(f.opened.hot, end_of(&f.extent) - 1);
	hot_code_note(f.opened.hot, address_of(&f.extent) + 2 * PART_BYTES);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(hot_code_take(f.opened.hot, true, &part), 0);
		assert_int_equal(build_part(&f, &part), 0);
	}
	assert_true(count_unknown(&f, &f.extent) > 0);
	while (hot_code_take_rest(f.opened.hot, &part) == 0)
		assert_int_equal(build_part(&f, &part), 0);
	assert_false(hot_code_is_filling(f.opened.hot));
	assert_false(hot_code_has_more(f.opened.hot));
	assert_int_equal(count_unknown(&f, &f.extent), 0);
	assert_true(f.opened.bytes <= f.whole.bytes + 2 * UNWIND_BLOCK_BYTES +
					      (uint64_t)f.extent.n_pages * UNWIND_UNIT_BYTES);
	end(&f);
}

/* Walks find nothing there in between, and its memory is free. */
TEST(a_part_that_was_given_up_is_the_same_when_it_is_read_again)
{
	static struct fixture f;
	struct unwind_slabs_stats before, after;
	struct hot_part part;
	uint32_t generation;
	uint64_t bytes;

	begin(&f, 64 * MIB);
	while (hot_code_take_rest(f.opened.hot, &part) == 0)
		assert_int_equal(build_part(&f, &part), 0);
	bytes = f.opened.bytes;
	unwind_slabs_read_stats(f.slabs, &before);
	hot_code_note(f.opened.hot, f.text);
	generation = f.plain.tables[OPENED].generation;
	while (hot_code_drop(f.opened.hot, HOT_CODE_ENDED, &part) == 0)
		built_table_drop(&f.opened, f.slabs, &part.extent, &f.plain.tables[OPENED], 5);
	assert_int_not_equal(f.plain.tables[OPENED].generation, generation);
	assert_non_null(unwind_plain_rule(&f.plain, 2, f.text));
	assert_null(unwind_plain_rule(&f.plain, 2, f.text + 4 * PART_BYTES));
	unwind_slabs_read_stats(f.slabs, &after);
	assert_int_equal(before.used_bytes - after.used_bytes, bytes - f.opened.bytes);
	assert_true(f.opened.bytes < bytes / 2);
	while (hot_code_take_rest(f.opened.hot, &part) == 0)
		assert_int_equal(build_part(&f, &part), 0);
	assert_int_equal(count_unknown(&f, &f.extent), 0);
	assert_int_equal(f.opened.bytes, bytes);
	end(&f);
}

TEST(a_part_without_room_can_be_taken_again)
{
	static struct fixture f;
	struct unwind_extent taken[UNWIND_SLAB_BLOCKS];
	struct hot_part part, again;
	unsigned n = 0;

	begin(&f, MIB);
	while (n < ARRAY_SIZE(taken) &&
	       unwind_slabs_get(f.slabs, UNWIND_BLOCK_BYTES, &taken[n]) == 0)
		n++;
	assert_int_equal(hot_code_take_rest(f.opened.hot, &part), 0);
	assert_int_equal(build_part(&f, &part), -ENOSPC);
	hot_code_put_back(f.opened.hot, &part);
	while (n > 0)
		unwind_slabs_put_unseen(f.slabs, &taken[--n]);
	assert_int_equal(hot_code_take_rest(f.opened.hot, &again), 0);
	assert_memory_equal(&again, &part, sizeof(part));
	assert_int_equal(build_part(&f, &again), 0);
	assert_int_equal(count_unknown(&f, &part.extent), 0);
	end(&f);
}

/* Code of musl that nothing describes is understood from where the program begins. */
TEST(a_static_program_is_not_opened)
{
	static struct elf_layout layout;
	struct fixture f = {.fd = -1};
	const struct cfi_input in = {.layout = &layout, .src = &f.src};

	open_libc(&f);
	assert_int_equal(elf_layout_parse(&layout, &f.src), 0);
	layout.entry = layout.text_start; /* as of a program */
	layout.has_interpreter = true;
	assert_true(cfi_table_may_open(&in, 1));
	layout.has_interpreter = false;
	assert_false(cfi_table_may_open(&in, 1));
	close(f.fd);
}

/* What nothing describes is not a part that could be read by itself. */
TEST(a_file_without_descriptions_is_not_opened)
{
	static struct elf_layout layout;
	struct byte_source src;
	uint8_t *file = large_text_new(MIB);
	const struct cfi_input in = {.layout = &layout, .src = &src};

	assert_non_null(file);
	byte_source_from_memory(&src, file, LARGE_TEXT_OFFSET + MIB);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	assert_false(cfi_table_may_open(&in, 1));
	free(file);
}
