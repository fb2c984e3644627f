/*
 * Counting equal stacks on the path of every sample.
 *
 * Most samples repeat a stack that the interval already has, so the kernel could count them in
 * a BPF hash map. It does not (bpf/sampler.bpf.c says why); counting happens here instead. A
 * repeated sample costs packing its addresses, one hash over them and of the process, and one
 * comparison.
 *
 * Where programs are short-lived most stacks are new, and an interval has a hundred thousand of
 * them; so they are kept packed, and unpacked one by one when profiles are built.
 *
 * Stacks and processes live in an arena that is freed with the cycle. Nothing is ever removed,
 * which is what keeps the table this simple.
 */
#include "node-agent/sample/cycle.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/data/array.h"
#include "common/data/number_index.h"
#include "common/data/table.h"
#include "common/pprof/pprof_wire.h"

/* Three of each frame of an interpreter, and the addresses. */
#define WORDS_MAX (3u * CHAIN_ENTRIES + SAMPLER_KERNEL_FRAMES + SAMPLER_USER_FRAMES)
#define INDEX_SHIFT 24 /* above the bits of chain_check() */

_Static_assert(PACKED_ADDRS_MAX_BYTES(WORDS_MAX) <= UINT16_MAX, "cycle_stack.packed_bytes");

struct process_entry {
	UT_hash_handle hh; /* by process.snapshot */
	struct cycle_process process;
};

struct cycle {
	struct arena arena;
	struct cycle_config cfg;
	struct cycle_stack **stacks; /* n_stacks of cap_stacks, which the index finds by number */
	uint32_t n_stacks, cap_stacks;
	struct number_index index;
	uint64_t n_samples;
	struct process_entry *by_snapshot;
	struct cycle_process **processes;
	size_t n_processes;
	size_t cap_processes;
	struct cycle_losses lost;
	/* of the sample being added */
	size_t packed_bytes;
	uint64_t words[WORDS_MAX];
	uint8_t packed[PACKED_ADDRS_MAX_BYTES(WORDS_MAX)];
};

int cycle_new(struct cycle **ret, const struct cycle_config *cfg)
{
	struct cycle *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	arena_init(&c->arena, cfg->max_bytes);
	*ret = c;
	return 0;
}

void cycle_free(struct cycle *c)
{
	if (!c)
		return;
	HASH_CLEAR(hh, c->by_snapshot);
	for (size_t i = 0; i < c->n_processes; i++)
		process_snapshot_unref(c->processes[i]->snapshot);
	free(c->processes);
	free(c->stacks);
	number_index_fini(&c->index);
	arena_fini(&c->arena);
	free(c);
}

/* ---- stacks ---- */

void cycle_stack_unpack(const struct cycle_stack *s, struct cycle_stack_words *ret)
{
	const uint64_t *code = ret->words, *at = code + s->n_chain, *rest = at + s->n_chain;

	(void)!packed_addrs_unpack(s->packed, s->packed_bytes, ret->words, ARRAY_SIZE(ret->words));
	for (size_t i = 0; i < s->n_chain; i++) {
		ret->frames[i] = (struct interpreter_frame){
			.code = code[i],
			.check = (uint32_t)rest[i] & ((1u << INDEX_SHIFT) - 1),
			.at = (at[i] + code[i]) & CHAIN_AT_MASK,
		};
		ret->indexes[i] = (uint32_t)(rest[i] >> INDEX_SHIFT);
	}
	for (size_t i = 0; s->chain_state & CHAIN_CALLERS_NAME && i + 1 < s->n_chain; i++) {
		ret->frames[i].caller_code = ret->frames[i + 1].code;
		ret->frames[i].caller_at = ret->frames[i + 1].at;
	}
	memcpy(ret->addrs, rest + s->n_chain,
	       ((size_t)s->n_kernel + s->n_user) * sizeof(ret->addrs[0]));
}

/*
 * Of frames of an interpreter first all code objects, then all places in them relative to those,
 * then what is left: so neighbours are alike, and a frame takes some twelve bytes.
 */
static void pack(struct cycle *c, const struct sample_event *e)
{
	const struct chain_entry *chain = sample_event_chain(e);
	size_t n_addrs = (size_t)e->n_kernel + e->n_user, n = e->n_chain;

	for (size_t i = 0; i < n; i++) {
		uint64_t code = chain_entry_code(&chain[i]);

		c->words[i] = code;
		c->words[n + i] = chain_entry_at(&chain[i]) - code;
		c->words[2 * n + i] = (uint64_t)sample_event_chain_index(e, i) << INDEX_SHIFT |
				      chain_entry_check(&chain[i]);
	}
	memcpy(c->words + 3 * n, sample_event_addrs(e), n_addrs * sizeof(c->words[0]));
	c->packed_bytes = packed_addrs_pack(c->words, 3 * n + n_addrs, c->packed);
}

static uint32_t hash_packed(const struct cycle *c, const struct process_snapshot *snapshot)
{
	uint64_t seed = table_seed ^ (uintptr_t)snapshot;

	return (uint32_t)XXH3_64bits_withSeed(c->packed, c->packed_bytes, seed);
}

/* Whether s is the stack that is packed. */
static bool is_stack_of(const struct cycle *c, const struct cycle_stack *s,
			const struct process_snapshot *snapshot, const struct sample_event *e)
{
	return s->process->snapshot == snapshot && s->n_kernel == e->n_kernel &&
	       s->n_user == e->n_user && s->end == e->end && s->flags == e->flags &&
	       s->root_at == e->root_at && s->n_chain == e->n_chain && s->n_walked == e->n_walked &&
	       s->chain_state == e->chain_state && s->packed_bytes == c->packed_bytes &&
	       memcmp(s->stack_switch, e->stack_switch, sizeof(s->stack_switch)) == 0 &&
	       memcmp(s->packed, c->packed, c->packed_bytes) == 0;
}

/* Returns the stack that is packed, or NULL if it is new. */
static struct cycle_stack *find_stack(const struct cycle *c, uint32_t hash,
				      const struct process_snapshot *snapshot,
				      const struct sample_event *e)
{
	uint32_t at = hash, number;

	while (number_index_next(&c->index, hash, &at, &number)) {
		if (is_stack_of(c, c->stacks[number], snapshot, e))
			return c->stacks[number];
	}
	return NULL;
}

/* ---- processes ---- */

static int require_process(struct cycle *c, struct process_snapshot *snapshot,
			   struct cycle_process **ret)
{
	struct process_entry *e;
	int r;

	HASH_FIND_PTR(c->by_snapshot, &snapshot, e);
	if (e) {
		*ret = &e->process;
		return 0;
	}
	r = ARRAY_RESERVE(c->processes, c->cap_processes, c->n_processes + 1);
	if (r < 0)
		return r;
	e = arena_calloc(&c->arena, 1, sizeof(*e));
	if (!e)
		return arena_error(&c->arena, sizeof(*e));
	e->process.snapshot = snapshot;
	HASH_ADD_PTR(c->by_snapshot, process.snapshot, e);
	if (!TABLE_ADDED(hh, e))
		return -ENOMEM;
	process_snapshot_ref(snapshot);
	c->processes[c->n_processes++] = &e->process;
	*ret = &e->process;
	return 0;
}

/* ---- samples ---- */

static int add_stack(struct cycle *c, uint32_t hash, struct process_snapshot *snapshot,
		     const struct sample_event *e, struct cycle_stack **ret)
{
	size_t size = offsetof(struct cycle_stack, packed) + c->packed_bytes;
	struct cycle_process *process = NULL;
	struct cycle_stack *s;
	int r;

	r = require_process(c, snapshot, &process);
	if (!process)
		return r;
	r = ARRAY_RESERVE(c->stacks, c->cap_stacks, c->n_stacks + 1);
	if (r < 0)
		return r;
	s = arena_alloc(&c->arena, size);
	if (!s)
		return arena_error(&c->arena, size);
	r = number_index_add(&c->index, hash, c->n_stacks);
	if (r < 0)
		return r;
	/* member by member: what sizeof(*s) has after the last is not ours */
	s->next = process->stacks;
	s->process = process;
	s->n_samples = 0;
	s->n_kernel = e->n_kernel;
	s->n_user = e->n_user;
	s->n_chain = e->n_chain;
	s->n_walked = e->n_walked;
	s->chain_state = e->chain_state;
	s->root_at = e->root_at;
	memcpy(s->stack_switch, e->stack_switch, sizeof(s->stack_switch));
	s->packed_bytes = (uint16_t)c->packed_bytes;
	s->end = e->end;
	s->flags = e->flags;
	memcpy(s->packed, c->packed, c->packed_bytes);
	process->stacks = s;
	process->n_stacks++;
	c->stacks[c->n_stacks++] = s;
	*ret = s;
	return 0;
}

static int lose(struct cycle *c, enum cycle_lost why, int r)
{
	cycle_add_lost(c, why, 1);
	return r;
}

int cycle_add_sample(struct cycle *c, struct process_snapshot *snapshot,
		     const struct sample_event *e)
{
	struct cycle_stack *s;
	uint32_t hash;

	pack(c, e);
	hash = hash_packed(c, snapshot);
	s = find_stack(c, hash, snapshot, e);
	if (!s) {
		int r;

		if (c->n_stacks >= c->cfg.max_stacks)
			return lose(c, CYCLE_LOST_STACKS_FULL, -EFBIG);
		r = add_stack(c, hash, snapshot, e, &s);
		if (!s)
			return lose(c, r == -EFBIG ? CYCLE_LOST_BYTES_FULL : CYCLE_LOST_NO_MEMORY,
				    r);
	}
	s->n_samples++;
	s->process->n_samples++;
	s->process->cost_ns += e->cost_ns;
	c->n_samples++;
	return 0;
}

void cycle_add_lost(struct cycle *c, enum cycle_lost why, uint64_t n)
{
	c->lost.n[why] += n;
}

const struct cycle_losses *cycle_losses(const struct cycle *c)
{
	return &c->lost;
}

void cycle_add_dropped(struct cycle *c, const struct cycle *dropped)
{
	for (enum cycle_lost why = 0; why < CYCLE_LOST_MAX; why++)
		c->lost.n[why] += dropped->lost.n[why];
	c->lost.n[CYCLE_LOST_WORKER_BUSY] += dropped->n_samples;
}

uint64_t cycle_lost(const struct cycle *c, enum cycle_lost why)
{
	return c->lost.n[why];
}

const char *cycle_lost_name(enum cycle_lost why)
{
	static const char *const names[CYCLE_LOST_MAX] = {
		[CYCLE_LOST_RING_FULL] = "ring_full",     [CYCLE_LOST_NO_TASK] = "no_task",
		[CYCLE_LOST_BAD_RECORD] = "bad_record",   [CYCLE_LOST_STACKS_FULL] = "stacks_full",
		[CYCLE_LOST_BYTES_FULL] = "bytes_full",   [CYCLE_LOST_NO_MEMORY] = "no_memory",
		[CYCLE_LOST_WORKER_BUSY] = "worker_busy",
	};

	return why < CYCLE_LOST_MAX ? names[why] : "unknown";
}

uint64_t cycle_n_samples(const struct cycle *c)
{
	return c->n_samples;
}

uint32_t cycle_n_stacks(const struct cycle *c)
{
	return c->n_stacks;
}

void cycle_seal(struct cycle *c)
{
	free(TAKE_PTR(c->stacks));
	number_index_fini(&c->index);
	HASH_CLEAR(hh, c->by_snapshot);
}

static int compare_processes(const void *a, const void *b)
{
	const struct process_snapshot *x = (*(struct cycle_process *const *)a)->snapshot;
	const struct process_snapshot *y = (*(struct cycle_process *const *)b)->snapshot;
	int r = workload_compare(x->workload, y->workload);

	if (r != 0)
		return r;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->start_time > y->start_time) - (x->start_time < y->start_time);
}

static bool is_same_process(const struct process_snapshot *a, const struct process_snapshot *b)
{
	return a->pid == b->pid && a->start_time == b->start_time;
}

/* For all snapshots of a process, which are next to each other, what that one has that has most. */
static void share_jit_files(struct cycle *c)
{
	for (size_t first = 0, end; first < c->n_processes; first = end) {
		const struct process_snapshot *s = c->processes[first]->snapshot;
		struct jit_files *held = NULL;

		for (end = first;
		     end < c->n_processes && is_same_process(c->processes[end]->snapshot, s); end++)
			held = jit_files_better(held, c->processes[end]->snapshot->jit_files);
		for (; first < end; first++)
			c->processes[first]->jit_files = held;
	}
}

struct cycle_process *const *cycle_processes(struct cycle *c, size_t *ret_n)
{
	if (c->n_processes > 0)
		qsort(c->processes, c->n_processes, sizeof(struct cycle_process *),
		      compare_processes);
	share_jit_files(c);
	*ret_n = c->n_processes;
	return c->processes;
}

/* ---- addresses ---- */

/* 0, -1, 1, -2 … of two's complement → 0, 1, 2, 3 … */
static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
}

size_t packed_addrs_pack(const uint64_t *addrs, size_t n, uint8_t *to)
{
	uint64_t before = 0;
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		len += pprof_pack(to + len, zigzag(addrs[i] - before));
		before = addrs[i];
	}
	return len;
}

ssize_t packed_addrs_unpack(const uint8_t *packed, size_t len, uint64_t *to, size_t max)
{
	struct wire_reader r = {packed, packed + len};
	uint64_t value, addr = 0;
	size_t n = 0;
	int more;

	while ((more = wire_reader_read_varint(&r, &value)) > 0) {
		if (n == max)
			return -EBADMSG;
		addr += unzigzag(value);
		to[n++] = addr;
	}
	return more < 0 ? more : (ssize_t)n;
}
