/*
 * What page_cache, whose pages have one slot each, saves against a cache with common/data/table.h
 * which evicts the least recently used page.
 *
 * Both do the same reads from a file in memory, in turns: binary searches of random functions in
 * a table of 60,000. Prints the median CPU time in ns per read of each, and the share of reads
 * that miss.
 */
#include <sys/mman.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "node-agent/target/page_cache.h"

#define ROUNDS 11
#define FUNCTIONS 60000u
#define SEARCHES 20000u
#define FILE_BYTES (UINT64_C(1) << 20)

struct piece {
	UT_hash_handle hh;
	uint64_t base;
	uint8_t data[];
};

/* Pieces of one size; the list of the table is in the order of their last use. */
struct lru {
	const struct byte_source *from;
	struct piece *table;
	size_t piece_bytes, max;
};

struct counted {
	struct byte_source file, counting;
	size_t n_reads;
};

static void require(bool ok)
{
	if (!ok)
		abort();
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1;
	return *state >> 33;
}

static int count_and_read(void *ctx, uint64_t offset, void *to, size_t len)
{
	struct counted *c = ctx;

	c->n_reads++;
	return byte_source_read(&c->file, offset, to, len);
}

static const uint8_t *lru_get(struct lru *l, uint64_t base)
{
	struct piece *p;

	HASH_FIND(hh, l->table, &base, sizeof(base), p);
	if (p && !p->hh.next)
		return p->data; /* the last one used */
	if (p) {
		HASH_DEL(l->table, p);
	} else {
		if (HASH_COUNT(l->table) >= l->max) {
			p = l->table;
			HASH_DEL(l->table, p);
		} else {
			p = table_malloc(sizeof(*p) + l->piece_bytes);
			require(p);
		}
		require(byte_source_read(l->from, base, p->data, l->piece_bytes) == 0);
		p->base = base;
	}
	HASH_ADD(hh, l->table, base, sizeof(p->base), p);
	return p->data;
}

static int lru_read(void *ctx, uint64_t offset, void *to, size_t len)
{
	struct lru *l = ctx;
	uint64_t base = offset / l->piece_bytes * l->piece_bytes;

	if (offset - base + len > l->piece_bytes)
		return byte_source_read(l->from, offset, to, len);
	memcpy(to, lru_get(l, base) + (offset - base), len);
	return 0;
}

static void lru_free(struct lru *l)
{
	struct piece *p, *next;

	HASH_ITER(hh, l->table, p, next)
	{
		HASH_DEL(l->table, p);
		table_free(p);
	}
}

/* Entries are their index, 8 bytes each, at the start of the file. */
static size_t search(const struct byte_source *src)
{
	uint64_t state = 1;
	size_t n = 0;

	for (size_t i = 0; i < SEARCHES; i++) {
		/* a few functions are named over and over, as in profiles */
		uint64_t wanted = next_random(&state) % (i % 4 ? 2000 : FUNCTIONS);
		uint64_t low = 0, high = FUNCTIONS;

		wanted = wanted * 7919 % FUNCTIONS;
		while (low + 1 < high) {
			uint64_t middle = (low + high) / 2, at;

			require(byte_source_read(src, middle * 8, &at, sizeof(at)) == 0);
			n++;
			if (at <= wanted)
				low = middle;
			else
				high = middle;
		}
		require(low == wanted);
	}
	return n;
}

static size_t with_page_cache(struct counted *c)
{
	CLEANUP(page_cache_freep) struct page_cache *pages = NULL;
	struct byte_source src;

	require(page_cache_new(&pages, &c->counting) == 0);
	byte_source_from_pages(&src, pages);
	return search(&src);
}

static size_t with_page_table(struct counted *c)
{
	struct lru l = {.from = &c->counting,
			.piece_bytes = PAGE_CACHE_PAGE_BYTES,
			.max = 1u << PAGE_CACHE_PAGES_LOG2};
	struct byte_source src;
	size_t n;

	byte_source_from_reader(&src, lru_read, &l, c->file.size_bytes);
	n = search(&src);
	lru_free(&l);
	return n;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void compare(const char *name, struct counted *c, size_t (*special)(struct counted *),
		    size_t (*common)(struct counted *))
{
	size_t (*ways[])(struct counted *) = {special, common};
	double ns[2][ROUNDS], missed[2];

	for (size_t i = 0; i < ROUNDS; i++) {
		for (size_t k = 0; k < 2; k++) {
			uint64_t before = clock_thread_cpu_ns();
			size_t n;

			c->n_reads = 0;
			n = ways[k](c);
			ns[k][i] = (double)(clock_thread_cpu_ns() - before) / (double)n;
			missed[k] = (double)c->n_reads / (double)n;
		}
	}
	for (size_t k = 0; k < 2; k++)
		qsort(ns[k], ROUNDS, sizeof(**ns), by_value);
	printf("%-15s %6.1f ns (%.2f %% missed), with table.h %6.1f ns (%.2f %% missed)\n", name,
	       ns[0][ROUNDS / 2], 100 * missed[0], ns[1][ROUNDS / 2], 100 * missed[1]);
}

int main(void)
{
	AUTO_CLOSE int fd = memfd_create("read_caches", MFD_CLOEXEC);
	struct counted c = {.n_reads = 0};

	require(fd >= 0 && ftruncate(fd, FILE_BYTES) == 0);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		require(pwrite(fd, &i, sizeof(i), (off_t)(i * 8)) == sizeof(i));
	byte_source_from_fd(&c.file, fd, FILE_BYTES);
	byte_source_from_reader(&c.counting, count_and_read, &c, FILE_BYTES);
	compare("page_cache", &c, with_page_cache, with_page_table);
	return 0;
}
