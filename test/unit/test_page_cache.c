#include <errno.h>

#include "node-agent/target/page_cache.h"
#include "test/lib/unit.h"

#define PAGES 600u /* more than there are places */
#define BYTES (PAGES * PAGE_CACHE_PAGE_BYTES)

struct fixture {
	uint8_t *data;
	struct byte_source memory, pages;
	struct page_cache *cache;
};

static void begin(struct fixture *f)
{
	f->data = malloc(BYTES);
	assert_non_null(f->data);
	for (size_t i = 0; i < BYTES; i++)
		f->data[i] = (uint8_t)(i * 31 + i / PAGE_CACHE_PAGE_BYTES * 7);
	byte_source_from_memory(&f->memory, f->data, BYTES);
	assert_int_equal(page_cache_new(&f->cache, &f->memory), 0);
	byte_source_from_pages(&f->pages, f->cache);
}

static void end(struct fixture *f)
{
	page_cache_free(f->cache);
	free(f->data);
}

static void expect_same(const struct fixture *f, uint64_t offset, size_t len)
{
	uint8_t got[3 * PAGE_CACHE_PAGE_BYTES];

	assert_int_equal(byte_source_read(&f->pages, offset, got, len), 0);
	assert_memory_equal(got, f->data + offset, len);
}

TEST(test_bytes_are_read_through_the_cache)
{
	struct fixture f;
	uint32_t random = 1;

	begin(&f);
	for (int i = 0; i < 20000; i++) {
		uint64_t offset;
		size_t len;

		random = random * 1664525u + 1013904223u;
		offset = random % (BYTES - 300);
		len = random >> 24;
		expect_same(&f, offset, len);
	}
	expect_same(&f, PAGE_CACHE_PAGE_BYTES - 1, 2);
	expect_same(&f, PAGE_CACHE_PAGE_BYTES - 8, PAGE_CACHE_PAGE_BYTES - 1);
	expect_same(&f, 1, 2 * PAGE_CACHE_PAGE_BYTES);
	expect_same(&f, BYTES - 5, 5);
	end(&f);
}

TEST(test_a_page_is_read_once)
{
	struct fixture f;
	uint8_t was, got = 0;

	begin(&f);
	was = f.data[10];
	expect_same(&f, 0, 1);
	f.data[10]++;
	assert_int_equal(byte_source_read(&f.pages, 10, &got, 1), 0);
	assert_int_equal(got, was);
	end(&f);
}

/* As if a mapping ended in the middle of a page. */
TEST(test_next_to_unreadable_memory_the_exact_bytes_are_read)
{
	struct fixture f;
	uint8_t got[16];

	begin(&f);
	byte_source_from_memory(&f.memory, f.data, 2 * PAGE_CACHE_PAGE_BYTES + 100);
	assert_int_equal(byte_source_read(&f.pages, 2 * PAGE_CACHE_PAGE_BYTES - 8, got, 16), 0);
	assert_memory_equal(got, f.data + 2 * PAGE_CACHE_PAGE_BYTES - 8, 16);
	assert_int_equal(byte_source_read(&f.pages, 2 * PAGE_CACHE_PAGE_BYTES + 90, got, 16),
			 -ENODATA);
	assert_int_equal(byte_source_read(&f.pages, BYTES - 1, got, 2), -ENODATA);
	end(&f);
}

static int make(void *arg)
{
	CLEANUP(page_cache_freep) struct page_cache *c = NULL;
	struct byte_source pages;
	char got = 0;
	int r = page_cache_new(&c, arg);

	if (r < 0)
		return r;
	byte_source_from_pages(&pages, c);
	r = byte_source_read(&pages, 1, &got, 1);
	if (r == 0)
		assert_int_equal(got, 'b');
	return r;
}

TEST(test_failed_allocations_are_survived)
{
	struct byte_source text;

	byte_source_from_memory(&text, "abc", 3);
	check_oom(make, &text);
}
