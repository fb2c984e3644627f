/*
 * Naming an address takes binary searches in the pclntab: a dozen reads of a few bytes, whose
 * first steps hit the same pages every time. Each page has exactly one slot, by a hash of its
 * address; a page that needs an occupied slot replaces it. The hash matters: binary searches
 * jump by powers of two, so with slots by the low bits of the address the first steps would
 * evict one another.
 */
#include "node-agent/target/page_cache.h"

#include <errno.h>

#define PAGES (UINT64_C(1) << PAGE_CACHE_PAGES_LOG2)
#define NO_PAGE UINT64_MAX /* not a multiple of the page size */
#define GOLDEN_RATIO UINT64_C(0x9e3779b97f4a7c15)

struct page_cache {
	const struct byte_source *memory; /* borrowed */
	uint64_t bases[PAGES];
	uint8_t (*data)[PAGE_CACHE_PAGE_BYTES]; /* NULL until a page is read; often none is */
};

int page_cache_new(struct page_cache **ret, const struct byte_source *memory)
{
	struct page_cache *c = malloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->memory = memory;
	c->data = NULL;
	memset(c->bases, 0xff, sizeof(c->bases));
	*ret = c;
	return 0;
}

void page_cache_free(struct page_cache *c)
{
	if (!c)
		return;
	free(c->data);
	free(c);
}

/* Returns NULL if the page cannot be read. */
static const uint8_t *get_page(struct page_cache *c, uint64_t base)
{
	size_t i = (size_t)(base / PAGE_CACHE_PAGE_BYTES * GOLDEN_RATIO >>
			    (64 - PAGE_CACHE_PAGES_LOG2));

	if (c->bases[i] == base)
		return c->data[i];
	c->bases[i] = NO_PAGE;
	if (byte_source_read(c->memory, base, c->data[i], PAGE_CACHE_PAGE_BYTES) < 0)
		return NULL;
	c->bases[i] = base;
	return c->data[i];
}

/* Reads of a page or more bypass the cache. */
static int read_pages(void *ctx, uint64_t offset, void *to, size_t len)
{
	uint64_t base = offset / PAGE_CACHE_PAGE_BYTES * PAGE_CACHE_PAGE_BYTES;
	struct page_cache *c = ctx;
	const uint8_t *page;
	size_t here;

	if (len >= PAGE_CACHE_PAGE_BYTES)
		return byte_source_read(c->memory, offset, to, len);
	if (!c->data)
		c->data = malloc(PAGES * sizeof(*c->data));
	if (!c->data)
		return -ENOMEM;
	for (uint8_t *p = to; len > 0; p += here, len -= here, base += PAGE_CACHE_PAGE_BYTES) {
		size_t skip = offset > base ? (size_t)(offset - base) : 0;

		here = PAGE_CACHE_PAGE_BYTES - skip < len ? PAGE_CACHE_PAGE_BYTES - skip : len;
		page = get_page(c, base);
		if (!page)
			return byte_source_read(c->memory, base + skip, p, len);
		memcpy(p, page + skip, here);
	}
	return 0;
}

void byte_source_from_pages(struct byte_source *src, struct page_cache *c)
{
	byte_source_from_reader(src, read_pages, c, c->memory->size_bytes);
}
