/* The allocator of slabs, over plain memory. */
#include "node-agent/unwind/unwind_slabs.h"

#include <errno.h>
#include <linux/types.h>

#include "bpf/unwind_table.h"
#include "test/lib/unit.h"

#define GRACE_NS 100u
#define MAX_EXTENTS 70000u

struct fixture {
	struct unwind_slabs *slabs;
	unsigned n_made, n_freed;
	int fail; /* errno of the next make_slab() or map_slab() */
	void *memory[UNWIND_SLABS], *unmapped[UNWIND_SLABS];
};

static int make_slab(void *ctx, unsigned slab, void **ret)
{
	struct fixture *f = ctx;
	int r = f->fail;

	assert_int_equal(slab, f->n_made);
	f->fail = 0;
	if (r)
		return -r;
	*ret = calloc(1, UNWIND_SLAB_BLOCKS * UNWIND_BLOCK_BYTES);
	f->memory[f->n_made++] = *ret;
	return *ret ? 0 : -ENOMEM;
}

static void free_slab(void *ctx, unsigned slab, void *memory)
{
	struct fixture *f = ctx;

	f->n_freed++;
	assert_ptr_equal(memory ? memory : f->unmapped[slab], f->memory[slab]);
	free(f->memory[slab]);
}

/* What is not mapped lies here. */
static int map_slab(void *ctx, unsigned slab, void **ret)
{
	struct fixture *f = ctx;
	int r = f->fail;

	f->fail = 0;
	if (r)
		return -r;
	assert_ptr_not_equal(f->unmapped[slab], NULL);
	*ret = f->unmapped[slab];
	f->unmapped[slab] = NULL;
	return 0;
}

static void unmap_slab(void *ctx, void *memory)
{
	struct fixture *f = ctx;
	unsigned i = 0;

	while (f->memory[i] != memory)
		i++;
	f->unmapped[i] = memory;
}

static void begin(struct fixture *f, uint64_t max_bytes)
{
	const struct unwind_slabs_config cfg = {
		.max_bytes = max_bytes,
		.grace_ns = GRACE_NS,
		.make_slab = make_slab,
		.free_slab = free_slab,
		.map_slab = map_slab,
		.unmap_slab = unmap_slab,
		.ctx = f,
	};

	*f = (struct fixture){0};
	assert_int_equal(unwind_slabs_new(&f->slabs, &cfg), 0);
}

static void end(struct fixture *f)
{
	unwind_slabs_free(f->slabs);
	assert_int_equal(f->n_freed, f->n_made);
}

static struct unwind_extent get(struct fixture *f, size_t bytes)
{
	struct unwind_extent e;

	assert_int_equal(unwind_slabs_get(f->slabs, bytes, &e), 0);
	assert_true(e.block > 0);
	assert_true((e.unit + e.n_units) * UNWIND_UNIT_BYTES <= UNWIND_BLOCK_BYTES);
	assert_true(e.n_units * UNWIND_UNIT_BYTES >= bytes);
	return e;
}

static uint64_t used_bytes(const struct fixture *f)
{
	struct unwind_slabs_stats stats;

	unwind_slabs_read_stats(f->slabs, &stats);
	return stats.used_bytes;
}

TEST(test_extents_are_within_a_block_and_disjoint)
{
	static struct unwind_extent extents[MAX_EXTENTS];
	struct unwind_extent e;
	struct fixture f;
	unsigned n = 0, seed = 1;

	begin(&f, 3 * UNWIND_SLAB_BLOCKS * UNWIND_BLOCK_BYTES);
	for (;;) {
		size_t bytes;

		seed = seed * 1103515245 + 12345;
		bytes = seed / 65536 % UNWIND_BLOCK_BYTES + 1;
		if (unwind_slabs_get(f.slabs, bytes, &e) < 0)
			break;
		assert_true(e.n_units * UNWIND_UNIT_BYTES >= bytes && e.block > 0);
		memset(unwind_slabs_at(f.slabs, &e), (int)(n % 251), e.n_units * UNWIND_UNIT_BYTES);
		extents[n++] = e;
	}
	assert_int_equal(f.n_made, 3);
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *p = unwind_slabs_at(f.slabs, &extents[i]);

		for (unsigned b = 0; b < extents[i].n_units * UNWIND_UNIT_BYTES; b++)
			assert_int_equal(p[b], i % 251);
		unwind_slabs_put(f.slabs, &extents[i], 0);
	}
	assert_int_equal(used_bytes(&f), 0);
	end(&f);
}

TEST(test_all_but_the_first_block_can_be_used)
{
	struct unwind_extent e;
	struct fixture f;

	begin(&f, 1);
	for (unsigned i = 1; i < UNWIND_SLAB_BLOCKS; i++)
		(void)get(&f, UNWIND_BLOCK_BYTES);
	assert_int_equal(unwind_slabs_get(f.slabs, 1, &e), -ENOSPC);
	assert_int_equal(unwind_slabs_get(f.slabs, 0, &e), -EINVAL);
	assert_int_equal(unwind_slabs_get(f.slabs, UNWIND_BLOCK_BYTES + 1, &e), -EINVAL);
	end(&f);
}

TEST(test_what_is_freed_waits_for_the_grace_period)
{
	struct unwind_slabs_stats stats;
	struct unwind_extent a, b;
	struct fixture f;

	begin(&f, 1);
	for (unsigned i = 2; i < UNWIND_SLAB_BLOCKS; i++)
		(void)get(&f, UNWIND_BLOCK_BYTES);
	a = get(&f, UNWIND_BLOCK_BYTES);
	unwind_slabs_put(f.slabs, &a, 1000);
	unwind_slabs_read_stats(f.slabs, &stats);
	assert_int_equal(stats.waiting_bytes, UNWIND_BLOCK_BYTES);
	for (uint64_t now = 1000; now < 1000 + GRACE_NS; now++) {
		unwind_slabs_tick(f.slabs, now);
		assert_int_equal(unwind_slabs_get(f.slabs, 1, &b), -ENOSPC);
	}
	unwind_slabs_tick(f.slabs, 1000 + GRACE_NS);
	unwind_slabs_tick(f.slabs, 1000 + 2 * GRACE_NS);
	b = get(&f, UNWIND_BLOCK_BYTES);
	assert_int_equal(a.block, b.block);
	unwind_slabs_read_stats(f.slabs, &stats);
	assert_int_equal(stats.waiting_bytes, 0);
	end(&f);
}

TEST(test_what_is_freed_late_in_a_period_waits_as_long)
{
	struct unwind_extent a, b, c;
	struct fixture f;

	begin(&f, 1);
	for (unsigned i = 3; i < UNWIND_SLAB_BLOCKS; i++)
		(void)get(&f, UNWIND_BLOCK_BYTES);
	a = get(&f, UNWIND_BLOCK_BYTES);
	b = get(&f, UNWIND_BLOCK_BYTES);
	unwind_slabs_put(f.slabs, &a, 0);
	unwind_slabs_put(f.slabs, &b, GRACE_NS - 1);
	for (uint64_t now = GRACE_NS; now < 2 * GRACE_NS - 1; now++) {
		unwind_slabs_tick(f.slabs, now);
		if (unwind_slabs_get(f.slabs, UNWIND_BLOCK_BYTES, &c) == 0)
			assert_int_equal(c.block, a.block);
	}
	unwind_slabs_tick(f.slabs, 3 * GRACE_NS);
	unwind_slabs_tick(f.slabs, 4 * GRACE_NS);
	(void)get(&f, UNWIND_BLOCK_BYTES);
	end(&f);
}

TEST(test_what_no_walk_has_seen_is_free_at_once)
{
	struct unwind_extent a, b;
	struct fixture f;

	begin(&f, 1);
	for (unsigned i = 2; i < UNWIND_SLAB_BLOCKS; i++)
		(void)get(&f, UNWIND_BLOCK_BYTES);
	a = get(&f, UNWIND_BLOCK_BYTES);
	unwind_slabs_put_unseen(f.slabs, &a);
	b = get(&f, UNWIND_BLOCK_BYTES);
	assert_int_equal(a.block, b.block);
	end(&f);
}

TEST(test_an_extent_of_zeroes_is_none)
{
	const struct unwind_extent none = {0};
	struct fixture f;

	begin(&f, 1);
	unwind_slabs_put(f.slabs, &none, 0);
	unwind_slabs_put_unseen(f.slabs, &none);
	assert_int_equal(used_bytes(&f), 0);
	end(&f);
}

TEST(test_a_slab_that_cannot_be_made_is_tried_again)
{
	struct unwind_extent e;
	struct fixture f;

	begin(&f, 1);
	f.fail = EPERM;
	assert_int_equal(unwind_slabs_get(f.slabs, 1, &e), -EPERM);
	(void)get(&f, 1);
	assert_int_equal(f.n_made, 1);
	end(&f);
}

static uint64_t n_mapped(const struct fixture *f)
{
	struct unwind_slabs_stats stats;

	unwind_slabs_read_stats(f->slabs, &stats);
	return stats.n_mapped;
}

/* Fills slabs until there are three, and returns an extent of the second. */
static struct unwind_extent fill_three(struct fixture *f)
{
	struct unwind_extent e, second = {0};

	while (f->n_made < 3) {
		e = get(f, UNWIND_BLOCK_BYTES);
		if (e.block / UNWIND_SLAB_BLOCKS == 1)
			second = e;
	}
	return second;
}

TEST(test_idle_slabs_are_not_mapped)
{
	struct unwind_extent second, e;
	struct fixture f;

	begin(&f, 3 * UNWIND_SLAB_BYTES);
	second = fill_three(&f);
	memset(unwind_slabs_at(f.slabs, &second), 7, UNWIND_BLOCK_BYTES);
	assert_int_equal(n_mapped(&f), 3);
	unwind_slabs_unmap_idle(f.slabs); /* all were used before */
	assert_int_equal(n_mapped(&f), 3);
	assert_non_null(unwind_slabs_at(f.slabs, &second));
	unwind_slabs_unmap_idle(f.slabs);
	assert_int_equal(n_mapped(&f), 1);
	unwind_slabs_unmap_idle(f.slabs);
	assert_int_equal(n_mapped(&f), 0);
	assert_int_equal(((uint8_t *)unwind_slabs_at(f.slabs, &second))[UNWIND_BLOCK_BYTES - 1], 7);
	assert_int_equal(n_mapped(&f), 1);
	e = get(&f, 1); /* of the third */
	assert_int_equal(e.block / UNWIND_SLAB_BLOCKS, 2);
	assert_int_equal(n_mapped(&f), 2);
	end(&f);
}

TEST(test_a_slab_that_cannot_be_mapped_loses_nothing)
{
	const uint8_t byte = 9;
	struct unwind_extent e;
	struct fixture f;
	uint64_t used;

	begin(&f, 1);
	e = get(&f, 1);
	used = used_bytes(&f);
	unwind_slabs_unmap_idle(f.slabs);
	unwind_slabs_unmap_idle(f.slabs);
	f.fail = ENOMEM;
	assert_null(unwind_slabs_at(f.slabs, &e));
	f.fail = EAGAIN;
	assert_int_equal(unwind_slabs_write(f.slabs, &byte, 1, &e), -EAGAIN);
	assert_int_equal(used_bytes(&f), used);
	assert_int_equal(unwind_slabs_write(f.slabs, &byte, 1, &e), 0);
	assert_int_equal(*(uint8_t *)unwind_slabs_at(f.slabs, &e), 9);
	end(&f);
}
