/*
 * What the special tables of the node agent's profiles save against common/data/table.h.
 *
 * Each line compares two ways to do the same work, in turns; it prints the median CPU time in ns
 * per element of each, and the bytes per element that each allocates:
 *   stack_table  adding the stacks of one profile, each twice
 *   frame_cache  the frames of a cycle's addresses, each looked up twenty times
 *   frame_names  functions of a file, each interned twice
 */
#include <malloc.h>

#include "common/data/arena.h"
#include "common/data/table.h"
#include "common/system/clock.h"
#include "node-agent/profile/stack_table.h"
#include "node-agent/symbol/frame_cache.h"

#define ROUNDS 15
#define STACK_BYTES 60u /* thirty frames */
#define LOOKUPS 20u

struct cost {
	uint64_t ns;
	size_t bytes;
};

static void require(bool ok)
{
	if (!ok)
		abort();
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* ---- stack_table ---- */

static void make_stack(uint32_t i, uint8_t key[STACK_BYTES])
{
	memset(key, 7, STACK_BYTES);
	memcpy(key, &(uint32_t){i * 2654435761u}, sizeof(i));
}

static struct cost stacks_special(uint32_t n)
{
	size_t before = allocated();
	uint64_t start = clock_thread_cpu_ns();
	struct stack_table *t;
	struct cost c;

	require(stack_table_new(&t, 1, (size_t)1 << 28) == 0);
	for (uint32_t i = 0; i < 2 * n; i++) {
		const struct stack_values one = {{1}};
		uint8_t key[STACK_BYTES];

		make_stack(i % n, key);
		require(stack_table_add(t, key, sizeof(key), &one) == 0);
	}
	require(stack_table_settle(t) == 0);
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	stack_table_free(t);
	return c;
}

struct stack {
	UT_hash_handle hh;
	struct stack_values values;
	uint16_t len;
	uint8_t key[];
};

static struct cost stacks_table(uint32_t n)
{
	CLEANUP(arena_fini) struct arena arena;
	uint64_t start = clock_thread_cpu_ns();
	struct stack *table = NULL;
	struct cost c;
	size_t before = allocated();

	arena_init(&arena, SIZE_MAX);
	for (uint32_t i = 0; i < 2 * n; i++) {
		uint8_t key[STACK_BYTES];
		struct stack *s;

		make_stack(i % n, key);
		HASH_FIND(hh, table, key, sizeof(key), s);
		if (!s) {
			s = arena_calloc(&arena, 1, sizeof(*s) + sizeof(key));
			require(s);
			s->len = sizeof(key);
			memcpy(s->key, key, sizeof(key));
			HASH_ADD_KEYPTR(hh, table, s->key, sizeof(key), s);
		}
		stack_values_add(&s->values, 0, 1);
	}
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	HASH_CLEAR(hh, table);
	return c;
}

/* ---- frame_cache ---- */

static struct cost frames_special(uint32_t n)
{
	size_t before = allocated();
	uint64_t start = clock_thread_cpu_ns();
	static const struct symbol_frame main_frame = {.function = "main", .file = "[a]"};
	const struct symbol_location *frame;
	struct frame_cache *f;
	struct cost c;

	require(frame_cache_new(&f, 1 << 20, 2 * n) == 0);
	require(frame_cache_intern(f, &main_frame, 1, &frame) == 0);
	for (uint32_t i = 0; i < LOOKUPS * n; i++) {
		uint64_t address = UINT64_C(0x400000) + i % n * 23;

		if (!frame_cache_get(f, 1 + (uint32_t)(address & 7), address))
			frame_cache_put(f, 1 + (uint32_t)(address & 7), address, frame);
	}
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	frame_cache_free(f);
	return c;
}

struct place {
	UT_hash_handle hh;
	uint64_t key[2];
	const struct symbol_frame *frame;
};

/* The place added first is evicted when there are too many. */
static struct cost frames_table(uint32_t n)
{
	static const struct symbol_frame frame = {.function = "main", .file = "[a]"};
	size_t before = allocated();
	uint64_t start = clock_thread_cpu_ns();
	struct place *table = NULL, *p, *next;
	struct cost c;

	for (uint32_t i = 0; i < LOOKUPS * n; i++) {
		uint64_t address = UINT64_C(0x400000) + i % n * 23;
		const uint64_t key[2] = {1 + (address & 7), address};

		HASH_FIND(hh, table, key, sizeof(key), p);
		if (p)
			continue;
		if (HASH_COUNT(table) >= 2 * n) {
			p = table;
			HASH_DEL(table, p);
			table_free(p);
		}
		p = table_malloc(sizeof(*p));
		require(p);
		*p = (struct place){.key = {key[0], key[1]}, .frame = &frame};
		HASH_ADD(hh, table, key, sizeof(p->key), p);
	}
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	HASH_ITER(hh, table, p, next)
	{
		HASH_DEL(table, p);
		table_free(p);
	}
	return c;
}

/* ---- frame_names ---- */

static void make_name(uint32_t i, char name[32])
{
	snprintf(name, 32, "function_of_a_file_%u", i);
}

static struct cost names_special(uint32_t n)
{
	size_t before = allocated();
	uint64_t start = clock_thread_cpu_ns();
	const struct symbol_location *location;
	struct frame_cache *f;
	struct cost c;
	char name[32];

	require(frame_cache_new(&f, (size_t)1 << 28, 64) == 0);
	for (uint32_t i = 0; i < 2 * n; i++) {
		const struct symbol_frame frame = {.function = name, .file = "[a]"};

		make_name(i % n, name);
		require(frame_cache_intern(f, &frame, 1, &location) == 0);
	}
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	frame_cache_free(f);
	return c;
}

struct text {
	UT_hash_handle hh;
	char s[];
};

struct location {
	UT_hash_handle hh;
	struct symbol_frame frame;
};

static const char *intern_text(struct arena *arena, struct text **table, const char *s)
{
	size_t len = strlen(s);
	struct text *t;

	HASH_FIND(hh, *table, s, len, t);
	if (!t) {
		t = arena_alloc(arena, sizeof(*t) + len + 1);
		require(t);
		memcpy(t->s, s, len + 1);
		HASH_ADD_KEYPTR(hh, *table, t->s, len, t);
	}
	return t->s;
}

static struct cost names_table(uint32_t n)
{
	CLEANUP(arena_fini) struct arena arena;
	size_t before = allocated();
	uint64_t start = clock_thread_cpu_ns();
	struct text *texts = NULL;
	struct location *locations = NULL, *l;
	struct cost c;
	char name[32];

	arena_init(&arena, SIZE_MAX);
	for (uint32_t i = 0; i < 2 * n; i++) {
		struct symbol_frame frame = {0};

		make_name(i % n, name);
		frame.function = intern_text(&arena, &texts, name);
		frame.file = intern_text(&arena, &texts, "[a]");
		HASH_FIND(hh, locations, &frame, sizeof(frame), l);
		if (l)
			continue;
		l = arena_alloc(&arena, sizeof(*l));
		require(l);
		l->frame = frame;
		HASH_ADD(hh, locations, frame, sizeof(frame), l);
	}
	c = (struct cost){clock_thread_cpu_ns() - start, allocated() - before};
	HASH_CLEAR(hh, texts);
	HASH_CLEAR(hh, locations);
	return c;
}

/* ---- results ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void run(const char *name, uint32_t n, struct cost (*special)(uint32_t),
		struct cost (*table)(uint32_t))
{
	uint64_t ns[2][ROUNDS];
	size_t bytes[2] = {0};

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct cost s = special(n), t = table(n);

		ns[0][i] = s.ns;
		ns[1][i] = t.ns;
		bytes[0] = s.bytes;
		bytes[1] = t.bytes;
	}
	qsort(ns[0], ROUNDS, sizeof(ns[0][0]), compare);
	qsort(ns[1], ROUNDS, sizeof(ns[1][0]), compare);
	printf("%-24s %7u  special %6.1f ns %6.1f bytes  table %6.1f ns %6.1f bytes\n", name, n,
	       (double)ns[0][ROUNDS / 2] / n, (double)bytes[0] / n, (double)ns[1][ROUNDS / 2] / n,
	       (double)bytes[1] / n);
}

int main(void)
{
	run("stack_table", 1000, stacks_special, stacks_table);
	run("stack_table", 30000, stacks_special, stacks_table);
	run("frame_cache", 2000, frames_special, frames_table);
	run("frame_cache", 10000, frames_special, frames_table);
	run("frame_names", 2000, names_special, names_table);
	run("frame_names", 20000, names_special, names_table);
	return 0;
}
