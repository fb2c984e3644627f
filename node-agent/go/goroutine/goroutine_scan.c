/*
 * The process is not stopped, so a goroutine may run between the moment when its registers
 * are read and the moment when its stack is, and the stack would make no sense. So each
 * goroutine is read twice, before and after its stack: if stack pointer, program counter and
 * status are the same, the stack belongs to them (goroutine_is_same()).
 *
 * Goroutines are read in batches: all of a batch, then their stacks, then all again, each
 * pass in the order of addresses, so that one large read serves many (memory_ranges.h). A
 * batch is small enough that little time passes between the two readings of a goroutine.
 * Those that moved, and those whose stack could not be unwound, which may be for the same
 * reason, are read again one by one: that takes microseconds each, in which few move. After
 * some attempts, those that still move are counted without a stack, and the others with the
 * frames that could be unwound.
 */
#include "node-agent/go/goroutine/goroutine_scan.h"

#include <errno.h>

#include "node-agent/go/goroutine/memory_ranges.h"

#define BATCH 1024u
#define TRIES 4
#define READ_MAX_BYTES (UINT64_C(4) * 1024 * 1024 * 1024) /* including gaps between ranges */

enum outcome {
	SKIPPED, /* dead, or not a goroutine */
	NO_STACK_RUNNING,
	NO_STACK_LIMITED,
	NO_STACK_UNREADABLE,
	HAS_STACK, /* group is set */
	BROKEN_STACK,
	CUT_STACK,
	MOVED,
};

struct item {
	uint64_t address;
	struct goroutine g;
	struct goroutine_group *group;
	enum outcome outcome;
	enum goroutine_owner owner;
};

struct scan {
	const struct goroutine_scan_config *cfg;
	struct goroutine_code *code;
	struct goroutine_groups *groups;
	struct goroutine_tally *tally;
	struct memory_ranges reader;
	uint64_t left_stack_bytes;
	struct goroutine_calls calls;
	struct item items[BATCH];
	uint64_t again[BATCH]; /* addresses of those to be read again one by one */
	struct memory_range ranges[BATCH];
};

/* ---- goroutines ---- */

static int on_goroutine(void *ctx, uint32_t tag, const uint8_t *bytes)
{
	struct scan *s = ctx;
	struct item *it = &s->items[tag];

	it->outcome = SKIPPED;
	if (!bytes || goroutine_decode(s->cfg->layout, bytes, &it->g) < 0) {
		s->tally->n_bad++;
		return 0;
	}
	if (goroutine_is_dead(&it->g))
		return 0;
	it->outcome = it->g.status == GOROUTINE_RUNNING     ? NO_STACK_RUNNING
		      : it->g.status == GOROUTINE_COPYSTACK ? MOVED
							    : NO_STACK_UNREADABLE;
	return goroutine_code_owner(s->code, it->g.start_pc, &it->owner);
}

static int on_goroutine_again(void *ctx, uint32_t tag, const uint8_t *bytes)
{
	struct scan *s = ctx;
	struct item *it = &s->items[tag];
	struct goroutine now;

	if (!bytes || goroutine_decode(s->cfg->layout, bytes, &now) < 0)
		return 0;
	if (!goroutine_is_same(&it->g, &now)) {
		it->g = now;
		it->outcome = goroutine_is_dead(&now) ? SKIPPED : MOVED;
	}
	return 0;
}

static bool has_stack(const struct item *it)
{
	return it->outcome == HAS_STACK || it->outcome == BROKEN_STACK || it->outcome == CUT_STACK;
}

static int read_goroutines(struct scan *s, size_t n, memory_range_fn *fn)
{
	size_t n_ranges = 0;

	for (size_t i = 0; i < n; i++) {
		if (fn == on_goroutine_again && !has_stack(&s->items[i]))
			continue;
		s->ranges[n_ranges++] = (struct memory_range){
			s->items[i].address, s->cfg->layout->size_bytes, (uint32_t)i};
	}
	return memory_ranges_read(&s->reader, s->ranges, n_ranges, fn, s);
}

/* ---- stacks ---- */

static size_t stack_bytes(const struct goroutine *g)
{
	uint64_t len = g->stack_hi - g->sp;

	return len < MEMORY_RANGE_MAX_BYTES ? (size_t)len : MEMORY_RANGE_MAX_BYTES;
}

static int find_group(struct scan *s, struct item *it)
{
	const struct goroutine_place place = {
		.status = it->g.status,
		.wait_reason = it->g.wait_reason,
		.truncated = it->outcome != HAS_STACK,
		.pcs = s->calls.pcs,
		.n_pcs = s->calls.n,
	};

	/* calls nothing of the program: it is idle, waiting for something to finalize */
	if (it->owner == GOROUTINE_OF_FINALIZERS &&
	    goroutine_code_is_runtime(s->code, s->calls.pcs, s->calls.n)) {
		it->owner = GOROUTINE_OF_RUNTIME;
		return 0;
	}
	return goroutine_groups_find(s->groups, &place, &it->group);
}

static int on_stack(void *ctx, uint32_t tag, const uint8_t *bytes)
{
	struct scan *s = ctx;
	struct item *it = &s->items[tag];
	const struct goroutine_stack stack = {
		.sp = it->g.sp,
		.pc = it->g.pc,
		.lr = it->g.lr,
		.in_syscall = it->g.in_syscall,
		.has_lr = s->cfg->has_lr,
		.hi = it->g.stack_hi,
		.bytes = bytes,
		.n_bytes = stack_bytes(&it->g),
		.find = goroutine_code_find,
		.ctx = s->code,
	};
	int r;

	it->outcome = NO_STACK_UNREADABLE;
	if (!bytes)
		return 0;
	r = goroutine_stack_walk(&stack, &s->calls);
	if (r < 0)
		return r;
	it->outcome = s->calls.end == GOROUTINE_STACK_BROKEN ? BROKEN_STACK
		      : s->calls.end == GOROUTINE_STACK_CUT  ? CUT_STACK
							     : HAS_STACK;
	return find_group(s, it);
}

/* Reads the stacks of those goroutines whose outcome is still NO_STACK_UNREADABLE. */
static int read_stacks(struct scan *s, size_t n)
{
	size_t n_ranges = 0;

	for (size_t i = 0; i < n; i++) {
		struct item *it = &s->items[i];
		size_t len;

		if (it->outcome != NO_STACK_UNREADABLE || it->owner == GOROUTINE_OF_RUNTIME ||
		    it->g.sp < it->g.stack_lo || it->g.sp >= it->g.stack_hi)
			continue;
		len = stack_bytes(&it->g);
		if (len > s->left_stack_bytes) {
			it->outcome = NO_STACK_LIMITED;
			continue;
		}
		s->left_stack_bytes -= len;
		s->ranges[n_ranges++] = (struct memory_range){it->g.sp, (uint32_t)len, (uint32_t)i};
	}
	memory_ranges_sort(s->ranges, n_ranges);
	return memory_ranges_read(&s->reader, s->ranges, n_ranges, on_stack, s);
}

/* ---- count ---- */

static int count_without_stack(struct scan *s, const struct item *it)
{
	uint64_t start = it->g.start_pc + 1; /* pcs are return addresses: one past the call */
	const struct goroutine_place place = {
		.status = it->g.status,
		.wait_reason = it->g.wait_reason,
		.no_stack = true,
		.pcs = &start,
		.n_pcs = it->g.start_pc != 0,
	};
	struct goroutine_group *group;
	int r = goroutine_groups_find(s->groups, &place, &group);

	if (r == 0)
		goroutine_group_count(group, &it->g);
	return r;
}

static int count(struct scan *s, const struct item *it)
{
	struct goroutine_tally *t = s->tally;

	if (it->outcome == SKIPPED || it->owner == GOROUTINE_OF_RUNTIME)
		return 0;
	t->n++;
	t->n_running += it->outcome == NO_STACK_RUNNING;
	t->n_moved += it->outcome == MOVED;
	t->n_limited += it->outcome == NO_STACK_LIMITED;
	t->n_unreadable += it->outcome == NO_STACK_UNREADABLE;
	t->n_broken += it->outcome == BROKEN_STACK;
	t->n_cut += it->outcome == CUT_STACK;
	if (!has_stack(it))
		return count_without_stack(s, it);
	goroutine_group_count(it->group, &it->g);
	return 0;
}

static bool is_certain(const struct item *it)
{
	return it->outcome != MOVED && it->outcome != BROKEN_STACK;
}

/*
 * Counts goroutines whose outcome is certain. Returns the number of others, which are in
 * s->again.
 */
static int count_certain(struct scan *s, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		const struct item *it = &s->items[i];
		int r;

		if (!is_certain(it)) {
			s->again[left++] = it->address;
			continue;
		}
		r = count(s, it);
		if (r < 0)
			return r;
	}
	return (int)left;
}

static int read_batch(struct scan *s, size_t n)
{
	int r;

	for (size_t i = 0; i < n; i++)
		s->items[i].owner = GOROUTINE_OF_PROGRAM;
	r = read_goroutines(s, n, on_goroutine);
	if (r < 0)
		return r;
	r = read_stacks(s, n);
	if (r < 0)
		return r;
	return read_goroutines(s, n, on_goroutine_again);
}

/* Reads one goroutine until it did not move meanwhile, a few times at most. */
static int scan_again(struct scan *s, uint64_t address)
{
	struct item *it = &s->items[0];
	int r = 0;

	it->address = address;
	it->outcome = MOVED;
	for (int i = 0; i < TRIES && !is_certain(it); i++) {
		r = read_batch(s, 1);
		if (r < 0)
			return r;
	}
	return count(s, it);
}

static int scan_batch(struct scan *s, const uint64_t *addresses, size_t n)
{
	int r, left;

	for (size_t i = 0; i < n; i++)
		s->items[i].address = addresses[i];
	r = read_batch(s, n);
	left = r == 0 ? count_certain(s, n) : r;
	for (int i = 0; r == 0 && i < left; i++)
		r = scan_again(s, s->again[i]);
	return left < 0 ? left : r;
}

/* ---- begin and end ---- */

static int begin(struct scan **ret, const struct goroutine_scan_config *cfg,
		 struct goroutine_code *code)
{
	struct scan *s = malloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	/* not the arrays of the batch: most processes need only a few items of them */
	memset(s, 0, offsetof(struct scan, items));
	s->cfg = cfg;
	s->code = code;
	s->left_stack_bytes = cfg->max_stack_bytes;
	r = memory_ranges_init(&s->reader, cfg->memory, READ_MAX_BYTES, cfg->deadline_ns);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

static void end(struct scan *s)
{
	memory_ranges_fini(&s->reader);
	free(s);
}

/* The size of the batch that starts at index i. */
static size_t batch_at(const struct goroutine_scan_config *cfg, size_t i)
{
	return cfg->n_addresses - i < BATCH ? cfg->n_addresses - i : BATCH;
}

int goroutine_scan(const struct goroutine_scan_config *cfg, struct goroutine_code *code,
		   struct goroutine_groups *groups, struct goroutine_tally *ret)
{
	struct scan *s = NULL;
	int r = begin(&s, cfg, code);

	if (r < 0)
		return r;
	*ret = (struct goroutine_tally){0};
	s->groups = groups;
	s->tally = ret;
	for (size_t i = 0; r == 0 && i < cfg->n_addresses; i += BATCH)
		r = scan_batch(s, cfg->addresses + i, batch_at(cfg, i));
	end(s);
	return r;
}

int goroutine_scan_count(const struct goroutine_scan_config *cfg, struct goroutine_code *code,
			 uint64_t *ret)
{
	struct goroutine_tally tally = {0};
	struct scan *s = NULL;
	int r = begin(&s, cfg, code);

	if (r < 0)
		return r;
	s->tally = &tally;
	*ret = 0;
	for (size_t i = 0; r == 0 && i < cfg->n_addresses; i += BATCH) {
		size_t n = batch_at(cfg, i);

		for (size_t k = 0; k < n; k++)
			s->items[k] = (struct item){.address = cfg->addresses[i + k]};
		r = read_goroutines(s, n, on_goroutine);
		for (size_t k = 0; r == 0 && k < n; k++)
			*ret += s->items[k].outcome != SKIPPED &&
				s->items[k].owner == GOROUTINE_OF_PROGRAM;
	}
	end(s);
	return r;
}
