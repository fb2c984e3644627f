/*
 * Sources: runtime/mstats.go and runtime/mgcpacer.go, 1.13 to 1.27.
 *
 * Allocations are counted in a ring of three sums (consistentHeapStats): one is written to,
 * the previous one holds all that was counted before, and the third is empty. A reader inside
 * the process advances the ring, then merges the old sum into the previous one and clears it.
 * We have none of its locks, so we check for that: if the third sum is not empty, a merge is
 * in progress and some allocations would be counted twice; if the previous sum differs in a
 * second copy read afterwards, a merge happened while the first copy was read; and if the sum
 * that is written to is less in the second copy, it was the previous one when it was copied first,
 * and the ring has advanced twice since. All three cases are retried. If the ring has advanced
 * three times, the sum that was copied first is an older one, but not greater than in the second
 * copy; so the result still lies between what had been counted when the reading began and when it
 * ended.
 *
 * The goal of the pacer is not a variable since 1.19 but computed from several, so that
 * computation (heapGoalInternal() and memoryLimitHeapGoal()) is repeated here.
 *
 * Plausibility of the values serves two purposes: to notice readings in the middle of a
 * change, and to tell the variable from others in programs without symbols (gc_variables.c).
 */
#include "node-agent/go/gc/gc_counters.h"

#include <errno.h>

#define PAUSE_CYCLES 256u
#define BY_SIZE_BYTES 24u
#define LARGEST_SMALL_BYTES 32768u
#define HEAP_MAX_BYTES (UINT64_C(1) << 48) /* the address space */
#define TOTAL_MAX (UINT64_C(1) << 62)
#define PERCENT_MAX 1000000000
#define DEFAULT_MINIMUM_BYTES (UINT64_C(4) << 20) /* defaultHeapMinimum */
#define HEADROOM_BYTES (UINT64_C(1) << 20) /* memoryLimitHeapGoalHeadroom, …MinHeapGoalHeadroom */
#define HEADROOM_PERCENT 3u                /* memoryLimitHeapGoalHeadroomPercent, since 1.21 */
#define RUNWAY_BYTES (UINT64_C(64) << 10)  /* minRunway */
#define NOT_TRIGGERED UINT64_MAX

static uint64_t word_at(const uint8_t *memory, size_t offset)
{
	uint64_t v;

	memcpy(&v, memory + offset, sizeof(v));
	return v;
}

static uint32_t half_at(const uint8_t *memory, size_t offset)
{
	uint32_t v;

	memcpy(&v, memory + offset, sizeof(v));
	return v;
}

static uint32_t bit(enum gc_counter which)
{
	return UINT32_C(1) << which;
}

static void set(struct gc_counters *c, enum gc_counter which, uint64_t v)
{
	c->v[which] = v;
	c->known |= bit(which);
}

uint32_t gc_counters_of(const struct gc_layout *l)
{
	uint32_t all = (UINT32_C(1) << GC_COUNTERS) - 1;

	if (l->memstats.deltas == GC_NONE)
		all &= ~(bit(GC_ALLOC_BYTES) | bit(GC_ALLOC_OBJECTS));
	return all;
}

/* ---- runtime.memstats ---- */

static int add_cycles(struct gc_counters *c, const struct gc_memstats_layout *l,
		      const uint8_t *memory)
{
	uint32_t cycles = half_at(memory, l->numgc);
	uint64_t last_ns = word_at(memory, l->last_gc_unix);
	uint64_t pause_ns = word_at(memory, l->pause_total);
	uint64_t hash_bytes = word_at(memory, l->buckhash_sys);
	uint64_t cache_bytes = word_at(memory, l->buckhash_sys - 8u);
	size_t slot = (cycles - 1) % PAUSE_CYCLES;

	if (pause_ns >= TOTAL_MAX || hash_bytes >= HEAP_MAX_BYTES || cache_bytes >= HEAP_MAX_BYTES)
		return -EBADMSG;
	/* mcache_sys is 0 only in a process that just started and has not allocated anything yet */
	if (cache_bytes == 0)
		return -EAGAIN;
	if (cycles == 0 ? last_ns != 0
			: last_ns == 0 || last_ns != word_at(memory, l->pause_end + slot * 8))
		return -EAGAIN;
	set(c, GC_CYCLES, cycles);
	set(c, GC_PAUSE_NS, pause_ns);
	return 0;
}

/* The object sizes of the size classes, which the runtime has copied to memstats.by_size. */
static int read_sizes(const struct gc_memstats_layout *l, const uint8_t *memory,
		      uint32_t ret[static GC_SIZE_CLASSES])
{
	for (size_t i = 0; i < GC_SIZE_CLASSES; i++) {
		ret[i] = half_at(memory, l->by_size + i * BY_SIZE_BYTES);
		if (ret[i] > LARGEST_SMALL_BYTES || (i == 0 ? ret[i] != 0 : ret[i] <= ret[i - 1]))
			return -EBADMSG;
	}
	return 0;
}

static bool is_empty(const uint8_t *memory, size_t len)
{
	return memory[0] == 0 && memcmp(memory, memory + 1, len - 1) == 0;
}

/* Whether no count of allocations in `after` is less than in `before`, an earlier copy. */
static bool has_grown(const struct gc_delta_layout *l, const uint8_t *before, const uint8_t *after)
{
	for (size_t i = 0; i < GC_SIZE_CLASSES + 2; i++) {
		size_t at = l->large_bytes + i * 8;

		if ((int64_t)word_at(after, at) < (int64_t)word_at(before, at))
			return false;
	}
	return true;
}

static void add_delta(const struct gc_delta_layout *l, const uint8_t *delta, const uint32_t *sizes,
		      uint64_t *bytes, uint64_t *objects)
{
	*bytes += word_at(delta, l->large_bytes);
	*objects += word_at(delta, l->large_bytes + 8u);
	if (l->tiny != GC_NONE)
		*objects += word_at(delta, l->tiny);
	for (size_t i = 0; i < GC_SIZE_CLASSES; i++) {
		uint64_t n = word_at(delta, l->large_bytes + 16u + i * 8);

		*objects += n;
		*bytes += n * sizes[i];
	}
}

static const uint8_t *delta_at(const struct gc_layout *l, const uint8_t *memory, uint32_t i)
{
	return memory + l->memstats.deltas + (size_t)(i % GC_DELTAS) * l->delta.n_bytes;
}

static int add_allocations(struct gc_counters *c, const struct gc_layout *l, const uint8_t *memory,
			   const uint8_t *again)
{
	const struct gc_memstats_layout *m = &l->memstats;
	size_t writing_at = m->deltas + (size_t)GC_DELTAS * l->delta.n_bytes;
	uint32_t writing = half_at(memory, writing_at);
	uint32_t sizes[GC_SIZE_CLASSES] = {0};
	uint64_t bytes = 0, objects = 0;
	int r = m->by_size == GC_NONE ? 0 : read_sizes(m, memory, sizes);

	if (r < 0 || writing >= GC_DELTAS)
		return -EBADMSG;
	if (!is_empty(delta_at(l, memory, writing + 1), l->delta.n_bytes) ||
	    half_at(again, writing_at) != writing ||
	    memcmp(delta_at(l, memory, writing + 2), delta_at(l, again, writing + 2),
		   l->delta.n_bytes) != 0 ||
	    !has_grown(&l->delta, delta_at(l, memory, writing), delta_at(l, again, writing)))
		return -EAGAIN;
	for (uint32_t i = 0; i < GC_DELTAS; i++)
		add_delta(&l->delta, delta_at(l, memory, i), sizes, &bytes, &objects);
	if (m->tinyallocs != GC_NONE)
		objects += word_at(memory, m->tinyallocs);
	if (bytes >= TOTAL_MAX || objects >= TOTAL_MAX)
		return -EBADMSG;
	set(c, GC_ALLOC_OBJECTS, objects);
	if (m->by_size != GC_NONE)
		set(c, GC_ALLOC_BYTES, bytes);
	return 0;
}

int gc_counters_add_memstats(struct gc_counters *c, const struct gc_layout *l,
			     const uint8_t *memory, const uint8_t *again)
{
	int r = add_cycles(c, &l->memstats, memory);

	return r < 0 || l->memstats.deltas == GC_NONE ? r : add_allocations(c, l, memory, again);
}

/* ---- the pacer ---- */

/*
 * Whether this looks like the pacer: heapMinimum is computed from GOGC's percentage, which is
 * the first word, with the same overflow as in the runtime if that is -1 (off). A pacer
 * without any live heap belongs to a process that is still starting, or is another variable.
 */
static bool is_pacer(const struct gc_pacer_layout *l, const uint8_t *memory)
{
	int32_t percent;

	if (word_at(memory, l->live) == 0 ||
	    (l->in_use != GC_NONE && word_at(memory, l->in_use) == 0))
		return false;
	if (l->minimum == GC_NONE)
		return true;
	memcpy(&percent, memory, sizeof(percent));
	return percent >= -1 && percent <= PERCENT_MAX &&
	       word_at(memory, l->minimum) ==
		       DEFAULT_MINIMUM_BYTES * (uint64_t)(int64_t)percent / 100;
}

/* gcControllerState.memoryLimitHeapGoal(). False if its inputs contradict each other. */
static bool limit_goal(const struct gc_layout *l, const uint8_t *memory, uint64_t *ret)
{
	const uint8_t *use = memory + l->pacer.in_use;
	uint64_t limit = word_at(memory, l->pacer.limit), marked = word_at(memory, l->pacer.marked);
	uint64_t free_bytes = word_at(use, 16), mapped = word_at(use, 40);
	uint64_t alloc_bytes = word_at(use, 24) - word_at(use, 32);
	uint64_t over = mapped > limit ? mapped - limit : 0, other, goal, headroom;

	if (mapped > HEAP_MAX_BYTES || free_bytes > mapped || alloc_bytes > mapped - free_bytes)
		return false;
	other = mapped - free_bytes - alloc_bytes + over;
	if (other >= limit) {
		*ret = marked;
		return true;
	}
	goal = limit - other;
	headroom = l->minor >= 21 ? goal / 100 * HEADROOM_PERCENT : 0;
	if (headroom < HEADROOM_BYTES)
		headroom = HEADROOM_BYTES;
	goal = goal < 2 * headroom ? headroom : goal - headroom;
	*ret = goal < marked ? marked : goal;
	return true;
}

/*
 * gcControllerState.heapGoalInternal(); before 1.19 the goal is a variable. False if it is
 * unknown.
 */
static bool heap_goal(const struct gc_layout *l, const uint8_t *memory, uint64_t *ret)
{
	uint64_t goal = word_at(memory, l->pacer.goal), by_limit, swept, triggered;

	if (l->pacer.limit != GC_NONE) {
		if (!limit_goal(l, memory, &by_limit))
			return false;
		swept = word_at(memory, l->pacer.goal + 8u);
		triggered = word_at(memory, l->pacer.goal + 16u);
		if (by_limit < goal) {
			goal = by_limit;
		} else {
			if (swept > goal)
				goal = swept;
			if (triggered != NOT_TRIGGERED && goal < triggered + RUNWAY_BYTES)
				goal = triggered + RUNWAY_BYTES;
		}
	}
	*ret = goal;
	return goal < HEAP_MAX_BYTES;
}

int gc_counters_add_pacer(struct gc_counters *c, const struct gc_layout *l, const uint8_t *memory)
{
	uint64_t live = word_at(memory, l->pacer.live), marked = word_at(memory, l->pacer.marked);
	uint64_t goal;

	if (!is_pacer(&l->pacer, memory))
		return -EAGAIN;
	if (live >= HEAP_MAX_BYTES || marked >= HEAP_MAX_BYTES)
		return -EBADMSG;
	set(c, GC_HEAP_BYTES, live);
	/* before the first collection, some releases have an estimate there */
	if (gc_counters_have(c, GC_CYCLES) && c->v[GC_CYCLES] > 0)
		set(c, GC_LIVE_BYTES, marked);
	if (heap_goal(l, memory, &goal))
		set(c, GC_GOAL_BYTES, goal);
	if (l->pacer.in_use != GC_NONE) {
		uint64_t bytes = word_at(memory, l->pacer.in_use + 24u);

		if (bytes >= TOTAL_MAX)
			return -EBADMSG;
		set(c, GC_ALLOC_BYTES, bytes);
	}
	return 0;
}
