/*
 * Each block has three bitmaps with a bit for each of its 256 units: in use (by an extent, or by
 * one that was freed), freed in the current period, and freed in the period before. A period is as
 * long as the grace period. When one ends, what was freed in the period before becomes free. So an
 * extent waits for one to two grace periods, and nothing has to be allocated to free it, which
 * could fail.
 *
 * Extents are searched first-fit from the block of the previous one on, so that the pages of a
 * table lie behind each other. A block whose longest free run is known to be too short is skipped.
 */
#include "node-agent/unwind/unwind_slabs.h"

#include <errno.h>

#define UNITS (UNWIND_BLOCK_BYTES / UNWIND_UNIT_BYTES)
#define WORD_BITS 64u
#define WORDS (UNITS / WORD_BITS)

_Static_assert(UNITS % WORD_BITS == 0, "whole words");

struct block {
	uint64_t used[WORDS];
	uint64_t freed[WORDS];  /* in the current period; also in used, like the next */
	uint64_t before[WORDS]; /* freed in the period before */
	uint16_t max_run;       /* no run of free units is longer than this */
};

struct slab {
	uint8_t *memory; /* NULL: not mapped */
	bool used;       /* since the last unwind_slabs_unmap_idle() */
	struct block blocks[UNWIND_SLAB_BLOCKS];
};

struct unwind_slabs {
	struct unwind_slabs_config cfg;
	struct slab *slabs[UNWIND_SLABS];
	unsigned n_slabs, max_slabs;
	unsigned cursor; /* block to search first */
	uint64_t period_end_ns;
	uint64_t used_units, freed_units, before_units;
};

/* ---- units of a block ---- */

static bool is_set(const uint64_t bits[WORDS], unsigned unit)
{
	return bits[unit / WORD_BITS] >> unit % WORD_BITS & 1;
}

static void set_units(uint64_t bits[WORDS], unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++)
		bits[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
}

static void clear_units(uint64_t bits[WORDS], unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++)
		bits[i / WORD_BITS] &= ~(UINT64_C(1) << i % WORD_BITS);
}

static unsigned count_units(const uint64_t bits[WORDS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < WORDS; i++)
		n += (unsigned)__builtin_popcountll(bits[i]);
	return n;
}

/* Returns the first unit of the first run of n free ones, or -ENOSPC with max_run as it is. */
static int find_run(struct block *b, unsigned n)
{
	unsigned run = 0, longest = 0;

	for (unsigned unit = 0; unit < UNITS; unit++) {
		if (unit % WORD_BITS == 0 && b->used[unit / WORD_BITS] == UINT64_MAX) {
			run = 0;
			unit += WORD_BITS - 1;
			continue;
		}
		run = is_set(b->used, unit) ? 0 : run + 1;
		if (run == n)
			return (int)(unit + 1 - n);
		if (run > longest)
			longest = run;
	}
	b->max_run = (uint16_t)longest;
	return -ENOSPC;
}

/* ---- slabs ---- */

static struct block *block_at(const struct unwind_slabs *s, unsigned block)
{
	return &s->slabs[block / UNWIND_SLAB_BLOCKS]->blocks[block % UNWIND_SLAB_BLOCKS];
}

static int add_slab(struct unwind_slabs *s)
{
	AUTO_FREE struct slab *slab = NULL;
	void *memory;
	int r;

	if (s->n_slabs == s->max_slabs)
		return -ENOSPC;
	slab = calloc(1, sizeof(*slab));
	if (!slab)
		return -ENOMEM;
	r = s->cfg.make_slab(s->cfg.ctx, s->n_slabs, &memory);
	if (r < 0)
		return r;
	slab->memory = memory;
	slab->used = true;
	for (unsigned i = 0; i < UNWIND_SLAB_BLOCKS; i++)
		slab->blocks[i].max_run = UNITS;
	if (s->n_slabs == 0) /* block 0 means "none" */
		set_units(slab->blocks[0].used, 0, UNITS);
	s->cursor = s->n_slabs * UNWIND_SLAB_BLOCKS;
	s->slabs[s->n_slabs++] = TAKE_PTR(slab);
	return 0;
}

int unwind_slabs_new(struct unwind_slabs **ret, const struct unwind_slabs_config *cfg)
{
	struct unwind_slabs *s = calloc(1, sizeof(*s));
	uint64_t max = cfg->max_bytes / UNWIND_SLAB_BYTES;

	if (!s)
		return -ENOMEM;
	s->cfg = *cfg;
	s->max_slabs = max > UNWIND_SLABS ? UNWIND_SLABS : max > 0 ? (unsigned)max : 1;
	*ret = s;
	return 0;
}

void unwind_slabs_free(struct unwind_slabs *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n_slabs; i++) {
		s->cfg.free_slab(s->cfg.ctx, i, s->slabs[i]->memory);
		free(s->slabs[i]);
	}
	free(s);
}

static int map_slab(struct unwind_slabs *s, unsigned i)
{
	struct slab *slab = s->slabs[i];
	void *memory;
	int r;

	slab->used = true;
	if (slab->memory)
		return 0;
	r = s->cfg.map_slab(s->cfg.ctx, i, &memory);
	if (r == 0)
		slab->memory = memory;
	return r;
}

void unwind_slabs_unmap_idle(struct unwind_slabs *s)
{
	for (unsigned i = 0; i < s->n_slabs && s->cfg.map_slab; i++) {
		struct slab *slab = s->slabs[i];

		if (slab->memory && !slab->used) {
			s->cfg.unmap_slab(s->cfg.ctx, slab->memory);
			slab->memory = NULL;
		}
		slab->used = false;
	}
}

/* ---- extents ---- */

/* Returns 0, -ENOSPC, or another -errno. */
static int take_from(struct unwind_slabs *s, unsigned block, unsigned n, struct unwind_extent *ret)
{
	struct block *b = block_at(s, block);
	int r, unit;

	if (b->max_run < n)
		return -ENOSPC;
	unit = find_run(b, n);
	if (unit < 0)
		return unit;
	r = map_slab(s, block / UNWIND_SLAB_BLOCKS);
	if (r < 0)
		return r;
	set_units(b->used, (unsigned)unit, n);
	s->used_units += n;
	s->cursor = block;
	*ret = (struct unwind_extent){(uint16_t)block, (uint16_t)unit, (uint16_t)n};
	return 0;
}

int unwind_slabs_get(struct unwind_slabs *s, size_t bytes, struct unwind_extent *ret)
{
	unsigned n = (unsigned)((bytes + UNWIND_UNIT_BYTES - 1) / UNWIND_UNIT_BYTES);
	unsigned n_blocks = s->n_slabs * UNWIND_SLAB_BLOCKS;
	int r;

	if (bytes == 0 || bytes > UNWIND_BLOCK_BYTES)
		return -EINVAL;
	for (unsigned i = 0; i < n_blocks; i++) {
		unsigned block = (s->cursor + i) % n_blocks;

		r = take_from(s, block, n, ret);
		if (r != -ENOSPC)
			return r;
	}
	r = add_slab(s);
	if (r < 0)
		return r;
	/* its first block is not available if it is the first of all */
	r = take_from(s, s->cursor, n, ret);
	return r == -ENOSPC ? take_from(s, s->cursor + 1, n, ret) : r;
}

/* What was freed in the period before becomes free, and a period begins. */
static void end_period(struct unwind_slabs *s)
{
	for (unsigned i = 0; i < s->n_slabs * UNWIND_SLAB_BLOCKS; i++) {
		struct block *b = block_at(s, i);

		if (count_units(b->before) > 0)
			b->max_run = UNITS;
		for (unsigned w = 0; w < WORDS; w++) {
			b->used[w] &= ~b->before[w];
			b->before[w] = b->freed[w];
			b->freed[w] = 0;
		}
	}
	s->before_units = s->freed_units;
	s->freed_units = 0;
}

void unwind_slabs_tick(struct unwind_slabs *s, uint64_t now_ns)
{
	if (s->freed_units + s->before_units == 0 || now_ns < s->period_end_ns)
		return;
	end_period(s);
	s->period_end_ns = now_ns + s->cfg.grace_ns;
}

void unwind_slabs_put(struct unwind_slabs *s, const struct unwind_extent *e, uint64_t now_ns)
{
	if (e->n_units == 0)
		return;
	unwind_slabs_tick(s, now_ns);
	if (s->freed_units + s->before_units == 0)
		s->period_end_ns = now_ns + s->cfg.grace_ns;
	set_units(block_at(s, e->block)->freed, e->unit, e->n_units);
	s->used_units -= e->n_units;
	s->freed_units += e->n_units;
}

void unwind_slabs_put_unseen(struct unwind_slabs *s, const struct unwind_extent *e)
{
	struct block *b;

	if (e->n_units == 0)
		return;
	b = block_at(s, e->block);
	clear_units(b->used, e->unit, e->n_units);
	b->max_run = UNITS;
	s->used_units -= e->n_units;
}

void *unwind_slabs_at(struct unwind_slabs *s, const struct unwind_extent *e)
{
	unsigned slab = e->block / UNWIND_SLAB_BLOCKS;

	if (map_slab(s, slab) < 0)
		return NULL;
	return s->slabs[slab]->memory +
	       (size_t)(e->block % UNWIND_SLAB_BLOCKS) * UNWIND_BLOCK_BYTES +
	       (size_t)e->unit * UNWIND_UNIT_BYTES;
}

int unwind_slabs_write(struct unwind_slabs *s, const void *from, size_t bytes,
		       struct unwind_extent *ret)
{
	struct unwind_extent e;
	void *to;
	int r = unwind_slabs_get(s, bytes, &e);

	if (r < 0)
		return r;
	to = unwind_slabs_at(s, &e);
	if (!to) {
		unwind_slabs_put_unseen(s, &e);
		return -ENOMEM;
	}
	if (from)
		memcpy(to, from, bytes);
	else
		memset(to, 0, bytes);
	*ret = e;
	return 0;
}

void unwind_slabs_read_stats(const struct unwind_slabs *s, struct unwind_slabs_stats *ret)
{
	*ret = (struct unwind_slabs_stats){
		.n_slabs = s->n_slabs,
		.max_bytes = (uint64_t)s->max_slabs * UNWIND_SLAB_BYTES,
		.used_bytes = s->used_units * UNWIND_UNIT_BYTES,
		.waiting_bytes = (s->freed_units + s->before_units) * UNWIND_UNIT_BYTES,
	};
	for (unsigned i = 0; i < s->n_slabs; i++)
		ret->n_mapped += s->slabs[i]->memory != NULL;
}
