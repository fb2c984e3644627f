/*
 * Caches pages of another process's memory or file that do not change, such as the tables of
 * its code, for many small reads all over them. If a page cannot be read as a whole, the
 * exact bytes are read instead. For one thread.
 *
 * Each page has one place, which the next page that belongs there takes: with a table and an order
 * of use fewer reads would miss, but each would cost more.
 */
#ifndef NODE_AGENT_TARGET_PAGE_CACHE_H
#define NODE_AGENT_TARGET_PAGE_CACHE_H

#include "common/base.h"
#include "common/elf/byte_source.h"

#define PAGE_CACHE_PAGE_BYTES UINT64_C(4096)
#define PAGE_CACHE_PAGES_LOG2 7u

struct page_cache;

/* `memory` is borrowed. Takes 512 KiB once something is read. Returns 0 or -ENOMEM. */
int page_cache_new(struct page_cache **ret, const struct byte_source *memory) MUST_CHECK;
void page_cache_free(struct page_cache *c);
DEFINE_CLEANUP(struct page_cache *, page_cache_free);

/* Makes src read the same memory through c, which is borrowed. */
void byte_source_from_pages(struct byte_source *src, struct page_cache *c);

#endif /* NODE_AGENT_TARGET_PAGE_CACHE_H */
