/* Tables in slabs of plain memory: what a walk would find, and that nothing is left behind. */
#include "node-agent/unwind/built_table.h"

#include <errno.h>

#include "common/limits.h"
#include "test/lib/unit.h"
#include "test/lib/unwind_plain.h"

struct fixture {
	struct unwind_plain plain;
	struct unwind_slabs *slabs;
};

static void begin(struct fixture *f, uint64_t max_bytes)
{
	struct unwind_slabs_config cfg = {.max_bytes = max_bytes, .grace_ns = 1};

	unwind_plain_init(&f->plain);
	cfg.make_slab = f->plain.memory.make_slab;
	cfg.free_slab = f->plain.memory.free_slab;
	cfg.ctx = f->plain.memory.ctx;
	assert_int_equal(unwind_slabs_new(&f->slabs, &cfg), 0);
}

static void end(struct fixture *f)
{
	struct unwind_slabs_stats stats;

	unwind_slabs_read_stats(f->slabs, &stats);
	assert_int_equal(stats.used_bytes, 0);
	unwind_slabs_free(f->slabs);
}

/* A process whose only mapping is of this table, at address 0. */
static void map_table(struct fixture *f, uint32_t table)
{
	static const uint64_t starts[8] = {0};
	const struct unwind_mapping mapping = {.n_pages = UINT32_MAX, .table = table};
	struct unwind_extent e[3];
	struct unwind_process process = {.n_mappings = 1};
	struct unwind_ref ref;

	for (size_t i = 0; i < ARRAY_SIZE(e); i++)
		assert_int_equal(unwind_slabs_get(f->slabs, UNWIND_UNIT_BYTES, &e[i]), 0);
	process.starts = (struct unwind_ref){e[0].block, (uint16_t)(e[0].unit * 8)};
	process.mappings[0] = (struct unwind_ref){e[1].block, (uint16_t)(e[1].unit * 4)};
	memcpy(unwind_slabs_at(f->slabs, &e[0]), starts, sizeof(starts));
	memcpy(unwind_slabs_at(f->slabs, &e[1]), &mapping, sizeof(mapping));
	memcpy(unwind_slabs_at(f->slabs, &e[2]), &process, sizeof(process));
	ref = (struct unwind_ref){e[2].block, e[2].unit};
	assert_int_equal(f->plain.memory.put_process(&f->plain, 1, &ref), 0);
	for (size_t i = 0; i < ARRAY_SIZE(e); i++) /* only to have none left: nothing reuses it */
		unwind_slabs_put(f->slabs, &e[i], 0);
}

/* Pages of n rows each, every 8 bytes; rules count through all of them. */
static int build(struct fixture *f, struct built_table *b, uint32_t n_pages, uint32_t n)
{
	static struct unwind_row rows[UNWIND_BLOCK_ROWS];
	static struct unwind_rule rules[UNWIND_TABLE_RULES];
	const struct cfi_extent extent = {.first_page = 2, .n_pages = n_pages};
	int r = built_table_begin(b, f->slabs, &extent);

	for (uint32_t page = 0; r == 0 && page < n_pages; page++) {
		for (uint32_t i = 0; i < n; i++)
			rows[i] = (struct unwind_row){
				(uint16_t)(8 * i),
				(uint16_t)((page * (n + 1) + i) % UNWIND_TABLE_RULES)};
		r = built_table_add_page(b, f->slabs, page, rows, n);
	}
	for (uint32_t i = 0; i < UNWIND_TABLE_RULES; i++)
		rules[i].cfa = (uint16_t)i;
	return r ?: built_table_add_rules(b, f->slabs, rules, UNWIND_TABLE_RULES);
}

TEST(test_every_address_finds_its_rule)
{
	static struct fixture f;
	struct built_table b;

	begin(&f, 64 * MIB);
	assert_int_equal(build(&f, &b, 2 * UNWIND_BLOCK_PAGES + 5, 6), 0);
	assert_int_equal(b.n_rows, 6 * (2 * UNWIND_BLOCK_PAGES + 5));
	built_table_publish(&b, &f.plain.tables[2]);
	map_table(&f, 2);
	for (uint32_t page = 0; page < b.extent.n_pages; page++) {
		for (uint32_t i = 0; i < 7; i++) {
			uint64_t address = (uint64_t)(2 + page) * UNWIND_PAGE_BYTES + 8 * i + 3;
			const struct unwind_rule *rule = unwind_plain_rule(&f.plain, 1, address);

			assert_non_null(rule);
			assert_int_equal(rule->cfa,
					 (page * 7 + (i < 6 ? i : 5)) % UNWIND_TABLE_RULES);
		}
	}
	assert_null(unwind_plain_rule(&f.plain, 1, 2 * UNWIND_PAGE_BYTES - 1));
	built_table_withdraw(&b, f.slabs, &f.plain.tables[2], 0);
	assert_int_equal(f.plain.tables[2].n_pages, 0);
	for (size_t i = 0; i < ARRAY_SIZE(f.plain.tables[2].pages); i++)
		assert_int_equal(f.plain.tables[2].pages[i].block, 0);
	for (size_t i = 0; i < ARRAY_SIZE(f.plain.tables[2].rules); i++)
		assert_int_equal(f.plain.tables[2].rules[i].block, 0);
	end(&f);
}

/* Walks remember rules by it. */
TEST(test_each_table_of_an_index_has_a_generation)
{
	static struct fixture f;
	struct built_table b;

	begin(&f, MIB);
	for (uint32_t before = 0; before < 3; before++) {
		assert_int_equal(build(&f, &b, 1, 1), 0);
		assert_int_equal(f.plain.tables[2].generation, before);
		built_table_publish(&b, &f.plain.tables[2]);
		assert_int_equal(f.plain.tables[2].generation, before + 1);
		built_table_withdraw(&b, f.slabs, &f.plain.tables[2], 0);
	}
	end(&f);
}

TEST(test_pages_of_the_same_rule_share_a_row)
{
	const struct unwind_row one = {0, 1}, other = {0, 2};
	const struct cfi_extent extent = {.n_pages = 1000};
	static struct fixture f;
	struct built_table b;

	begin(&f, MIB);
	assert_int_equal(built_table_begin(&b, f.slabs, &extent), 0);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(built_table_add_page(&b, f.slabs, i, i < 500 ? &one : &other, 1),
				 0);
	/* 8,000 bytes of pages, and two units of rows */
	assert_int_equal(b.bytes, 8000 + 2 * UNWIND_UNIT_BYTES);
	built_table_discard(&b, f.slabs);
	end(&f);
}

TEST(test_what_finds_no_room_leaves_nothing_behind)
{
	static struct fixture f;
	struct built_table b;

	begin(&f, MIB);
	assert_int_equal(build(&f, &b, 100, UNWIND_BLOCK_ROWS), -ENOSPC);
	built_table_discard(&b, f.slabs);
	assert_int_equal(build(&f, &b, BUILT_TABLE_PAGES_MAX, 1), -ENOSPC);
	built_table_discard(&b, f.slabs);
	assert_int_equal(build(&f, &b, BUILT_TABLE_PAGES_MAX + 1, 1), -EFBIG);
	built_table_discard(&b, f.slabs);
	assert_int_equal(build(&f, &b, 50, 512), 0);
	built_table_discard(&b, f.slabs);
	end(&f);
}

/* ---- slabs that are mapped only while they are used ---- */

struct mapped_fixture {
	uint8_t *slabs[UNWIND_SLABS];
	bool fails;
};

/* Allocates, so that it fails like mmap(2) does without memory. */
static int map_slab(void *ctx, unsigned slab, void **ret)
{
	struct mapped_fixture *f = ctx;
	AUTO_FREE void *room = f->fails ? NULL : malloc(64);

	if (!room)
		return -ENOMEM;
	*ret = f->slabs[slab];
	return 0;
}

static int make_slab(void *ctx, unsigned slab, void **ret)
{
	struct mapped_fixture *f = ctx;

	if (!f->slabs[slab])
		f->slabs[slab] = calloc(1, UNWIND_SLAB_BYTES);
	return f->slabs[slab] ? map_slab(ctx, slab, ret) : -ENOMEM;
}

static void unmap_slab(void *ctx, void *memory)
{
	(void)ctx;
	(void)memory;
}

static void free_slab(void *ctx, unsigned slab, void *memory)
{
	struct mapped_fixture *f = ctx;

	(void)memory;
	free(f->slabs[slab]);
	f->slabs[slab] = NULL;
}

static int begin_mapped(struct fixture *f, struct mapped_fixture *m)
{
	const struct unwind_slabs_config cfg = {.max_bytes = 8 * MIB,
						.grace_ns = 1,
						.make_slab = make_slab,
						.free_slab = free_slab,
						.map_slab = map_slab,
						.unmap_slab = unmap_slab,
						.ctx = m};

	return unwind_slabs_new(&f->slabs, &cfg);
}

/* The first call says that nothing was used since, the second one finds that. */
static void unmap_all(struct fixture *f)
{
	unwind_slabs_unmap_idle(f->slabs);
	unwind_slabs_unmap_idle(f->slabs);
}

TEST(test_a_table_is_freed_also_while_no_slab_can_be_mapped)
{
	struct mapped_fixture m = {.fails = false};
	static struct fixture f;
	struct unwind_table published = {.n_pages = 0};
	struct built_table b;

	assert_int_equal(begin_mapped(&f, &m), 0);
	assert_int_equal(build(&f, &b, 300, 1000), 0);
	built_table_publish(&b, &published);
	unmap_all(&f);
	m.fails = true;
	built_table_withdraw(&b, f.slabs, &published, 0);
	m.fails = false;

	assert_int_equal(build(&f, &b, 300, 1000), 0);
	unmap_all(&f);
	m.fails = true;
	built_table_discard(&b, f.slabs);
	end(&f);
	for (size_t i = 0; i < ARRAY_SIZE(m.slabs); i++)
		free(m.slabs[i]); /* that could not be mapped when they were made */
}

static int build_and_discard(void *arg)
{
	struct mapped_fixture *m = arg;
	static struct fixture f;
	struct built_table b;
	int r = begin_mapped(&f, m);

	if (r < 0)
		return r;
	r = build(&f, &b, 300, 1000);
	unmap_all(&f);
	built_table_discard(&b, f.slabs);
	end(&f);
	for (size_t i = 0; i < ARRAY_SIZE(m->slabs); i++)
		free_slab(m, (unsigned)i, NULL);
	return r;
}

TEST(test_survives_every_failed_allocation)
{
	struct mapped_fixture m = {.fails = false};

	check_oom(build_and_discard, &m);
}
