/*
 * What the special table of sample/cycle.c saves against common/data/table.h.
 *
 * Both count the same samples in the same order, in turns: 400,000 samples of so many distinct
 * stacks of 40 frames, in 100 processes. A line has the median CPU time of each in ns per
 * sample, and the bytes that each allocates per distinct stack, the stack included.
 */
#include <malloc.h>

#include "common/data/arena.h"
#include "common/data/table.h"
#include "common/system/clock.h"
#include "node-agent/sample/cycle.h"

#define DEPTH 40
#define N_PROCESSES 100
#define N_SAMPLES 400000u
#define ROUNDS 9
#define MAX_BYTES ((size_t)1 << 30)

struct cost {
	uint64_t ns;
	size_t bytes;
};

struct record {
	struct sample_event e;
	uint64_t addrs[DEPTH];
};

/* What identifies a stack, as one piece of memory: uthash compares keys with memcmp(). */
struct key {
	const struct process_snapshot *snapshot;
	uint16_t n_kernel, n_user;
	uint8_t end, flags;
	uint16_t stack_switch[SAMPLER_STACK_SWITCHES];
	uint8_t pad[6];
	uint64_t addrs[DEPTH];
};
#define KEY_FIXED_BYTES offsetof(struct key, addrs)

struct entry {
	UT_hash_handle hh;
	uint64_t n_samples;
	struct key key; /* only as long as the stack is */
};

struct counter {
	struct arena arena;
	struct entry *entries;
};

static struct process_snapshot snapshots[N_PROCESSES];

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void make_record(struct record *r, uint64_t stack)
{
	memset(r, 0, sizeof(*r));
	r->e.n_kernel = 5;
	r->e.n_user = DEPTH - 5;
	for (uint64_t i = 0; i < DEPTH; i++) /* the roots are alike */
		r->addrs[i] = 0x7f0000000000 + i * 4096 + (i < DEPTH / 2 ? stack * 16 : 0);
}

static void count(struct counter *c, const struct process_snapshot *s, const struct sample_event *e)
{
	size_t n = ((size_t)e->n_kernel + e->n_user) * sizeof(uint64_t);
	struct key key = {s, e->n_kernel, e->n_user, e->end, e->flags, {0}, {0}, {0}};
	struct entry *entry;
	unsigned hash;

	memcpy(key.stack_switch, e->stack_switch, sizeof(key.stack_switch));
	memcpy(key.addrs, sample_event_addrs(e), n);
	hash = table_hash(&key, KEY_FIXED_BYTES + n);
	HASH_FIND_BYHASHVALUE(hh, c->entries, &key, KEY_FIXED_BYTES + n, hash, entry);
	if (!entry) {
		entry = arena_alloc(&c->arena, offsetof(struct entry, key) + KEY_FIXED_BYTES + n);
		if (!entry)
			abort();
		entry->n_samples = 0;
		memcpy(&entry->key, &key, KEY_FIXED_BYTES + n);
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, c->entries, &entry->key, KEY_FIXED_BYTES + n, hash,
					    entry);
	}
	entry->n_samples++;
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static struct cost run_table(const struct record *records, const uint32_t *order)
{
	size_t before = allocated();
	uint64_t begin_ns = clock_thread_cpu_ns();
	struct counter c = {0};
	struct cost cost;

	arena_init(&c.arena, MAX_BYTES);
	for (size_t i = 0; i < N_SAMPLES; i++)
		count(&c, &snapshots[order[i] % N_PROCESSES], &records[order[i]].e);
	cost = (struct cost){clock_thread_cpu_ns() - begin_ns, allocated() - before};
	HASH_CLEAR(hh, c.entries);
	arena_fini(&c.arena);
	return cost;
}

static struct cost run_special(const struct record *records, const uint32_t *order)
{
	const struct cycle_config cfg = {UINT32_MAX, MAX_BYTES};
	size_t before = allocated();
	uint64_t begin_ns = clock_thread_cpu_ns();
	struct cost cost;
	struct cycle *c;

	if (cycle_new(&c, &cfg) < 0)
		abort();
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct process_snapshot *s = &snapshots[order[i] % N_PROCESSES];

		if (cycle_add_sample(c, s, &records[order[i]].e) < 0)
			abort();
	}
	cost = (struct cost){clock_thread_cpu_ns() - begin_ns, allocated() - before};
	cycle_free(c);
	return cost;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void run(uint32_t n_stacks)
{
	struct record *records = malloc(n_stacks * sizeof(*records));
	uint32_t *order = malloc(N_SAMPLES * sizeof(*order));
	uint64_t special_ns[ROUNDS], table_ns[ROUNDS], state = 88172645463325252u;
	struct cost special = {0}, table = {0};

	if (!records || !order)
		abort();
	for (size_t i = 0; i < n_stacks; i++)
		make_record(&records[i], i);
	for (size_t i = 0; i < N_SAMPLES; i++)
		order[i] = (uint32_t)(next_random(&state) % n_stacks);
	for (size_t i = 0; i < ROUNDS; i++) {
		special = run_special(records, order);
		table = run_table(records, order);
		special_ns[i] = special.ns;
		table_ns[i] = table.ns;
	}
	qsort(special_ns, ROUNDS, sizeof(*special_ns), compare_ns);
	qsort(table_ns, ROUNDS, sizeof(*table_ns), compare_ns);
	printf("%-24s %7u  special %6.1f ns %6.1f bytes  table %6.1f ns %6.1f bytes\n", "cycle",
	       n_stacks, (double)special_ns[ROUNDS / 2] / N_SAMPLES,
	       (double)special.bytes / n_stacks, (double)table_ns[ROUNDS / 2] / N_SAMPLES,
	       (double)table.bytes / n_stacks);
	free(records);
	free(order);
}

int main(void)
{
	for (size_t i = 0; i < N_PROCESSES; i++)
		atomic_init(&snapshots[i].refs, 1);
	run(500);
	run(5000);
	run(100000);
	return 0;
}
