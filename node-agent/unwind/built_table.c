#include "node-agent/unwind/built_table.h"

#include <errno.h>

static struct unwind_ref ref_to(const struct unwind_extent *e, size_t element_bytes)
{
	return (struct unwind_ref){e->block,
				   (uint16_t)(e->unit * UNWIND_UNIT_BYTES / element_bytes)};
}

/* from is NULL for zeroes. */
static int write_extent(struct built_table *b, struct unwind_slabs *slabs, const void *from,
			size_t bytes, struct unwind_extent *ret)
{
	int r = unwind_slabs_write(slabs, from, bytes, ret);

	if (r == 0)
		b->bytes += (uint64_t)ret->n_units * UNWIND_UNIT_BYTES;
	return r;
}

int built_table_begin(struct built_table *b, struct unwind_slabs *slabs,
		      const struct cfi_extent *extent)
{
	*b = (struct built_table){.extent = *extent};
	if (extent->n_pages > BUILT_TABLE_PAGES_MAX || extent->first_page > UINT32_MAX)
		return -EFBIG;
	b->directory = calloc(extent->n_pages ?: 1, sizeof(*b->directory));
	if (!b->directory)
		return -ENOMEM;
	for (uint32_t done = 0; done < extent->n_pages; done += UNWIND_BLOCK_PAGES) {
		struct unwind_extent *piece = &b->pages[done / UNWIND_BLOCK_PAGES];
		uint32_t n = extent->n_pages - done;
		int r;

		if (n > UNWIND_BLOCK_PAGES)
			n = UNWIND_BLOCK_PAGES;
		r = write_extent(b, slabs, NULL, n * sizeof(struct unwind_page), piece);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns NULL if it cannot be mapped. */
static struct unwind_page *page_at(const struct built_table *b, struct unwind_slabs *slabs,
				   uint32_t page)
{
	struct unwind_page *pages = unwind_slabs_at(slabs, &b->pages[page / UNWIND_BLOCK_PAGES]);

	return pages ? &pages[page % UNWIND_BLOCK_PAGES] : NULL;
}

static struct unwind_extent rows_of(const struct unwind_page *p)
{
	const size_t per_unit = UNWIND_UNIT_BYTES / sizeof(struct unwind_row);

	return (struct unwind_extent){
		.block = p->rows.block,
		.unit = (uint16_t)(p->rows.first / per_unit),
		.n_units = (uint16_t)((p->n + per_unit - 1) / per_unit),
	};
}

/* Whole pages of one rule, as programs in Go have, need their row once. */
static bool same_rows(struct unwind_slabs *slabs, const struct unwind_page *before,
		      const struct unwind_row *rows, uint32_t n)
{
	const struct unwind_row *there;
	struct unwind_extent e;

	if (!before || before->n != n)
		return false;
	e = rows_of(before);
	there = unwind_slabs_at(slabs, &e);
	return there && memcmp(there, rows, n * sizeof(*rows)) == 0;
}

int built_table_add_page(struct built_table *b, struct unwind_slabs *slabs, uint32_t page,
			 const struct unwind_row *rows, uint32_t n)
{
	const struct unwind_page *before;
	struct unwind_page *p;
	struct unwind_extent e;
	int r;

	if (n == 0)
		return 0;
	if (page >= b->extent.n_pages || n > UNWIND_BLOCK_ROWS)
		return -EFBIG;
	p = page_at(b, slabs, page);
	if (!p)
		return -ENOMEM;
	b->n_rows += n;
	before = page > 0 ? &b->directory[page - 1] : NULL;
	if (same_rows(slabs, before, rows, n)) {
		*p = b->directory[page] = *before;
		return 0;
	}
	r = write_extent(b, slabs, rows, n * sizeof(*rows), &e);
	if (r < 0)
		return r;
	*p = b->directory[page] =
		(struct unwind_page){.rows = ref_to(&e, sizeof(*rows)), .n = (uint16_t)n};
	return 0;
}

int built_table_add_rules(struct built_table *b, struct unwind_slabs *slabs,
			  const struct unwind_rule *rules, uint32_t n)
{
	if (n > UNWIND_TABLE_RULES)
		return -EFBIG;
	for (uint32_t done = 0; done < n; done += UNWIND_BLOCK_RULES) {
		struct unwind_extent *e = &b->rules[done / UNWIND_BLOCK_RULES];
		uint32_t some = n - done < UNWIND_BLOCK_RULES ? n - done : UNWIND_BLOCK_RULES;
		int r = write_extent(b, slabs, rules + done, some * sizeof(*rules), e);

		if (r < 0)
			return r;
	}
	return 0;
}

typedef uint32_t __attribute__((may_alias)) ref_word;

_Static_assert(sizeof(ref_word) == sizeof(struct unwind_ref), "a reference is one word");
_Static_assert(offsetof(struct unwind_table, rules) % sizeof(ref_word) == 0, "aligned");
_Static_assert(offsetof(struct unwind_table, pages) % sizeof(ref_word) == 0, "aligned");

/* At once, and after all that was written before. */
static void write_ref(struct unwind_ref *to, struct unwind_ref ref)
{
	ref_word word;

	memcpy(&word, &ref, sizeof(word));
	__atomic_store_n((ref_word *)(void *)to, word, __ATOMIC_RELEASE);
}

static void write_refs(struct unwind_table *to, const struct built_table *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(b->rules); i++)
		write_ref(&to->rules[i], ref_to(&b->rules[i], sizeof(struct unwind_rule)));
	for (size_t i = 0; i < ARRAY_SIZE(b->pages); i++)
		write_ref(&to->pages[i], ref_to(&b->pages[i], sizeof(struct unwind_page)));
}

/*
 * BPF has no acquiring loads, so on arm64 a walk may see n_pages and not yet the references. Those
 * are zero before, which means "none". What a reference leads to is visible before it is, because
 * the walk gets the address from it. The generation is written before the references: a walk that
 * has read the one before remembers nothing for this table.
 */
void built_table_publish(const struct built_table *b, struct unwind_table *ret)
{
	ret->first_page = (uint32_t)b->extent.first_page;
	__atomic_store_n(&ret->generation, ret->generation + 1, __ATOMIC_RELEASE);
	write_refs(ret, b);
	__atomic_store_n(&ret->n_pages, b->extent.n_pages, __ATOMIC_RELEASE);
}

typedef void put_fn(struct unwind_slabs *slabs, const struct unwind_extent *e, uint64_t now_ns);

static void put_unseen(struct unwind_slabs *slabs, const struct unwind_extent *e, uint64_t now_ns)
{
	(void)now_ns;
	unwind_slabs_put_unseen(slabs, e);
}

static void put_rows(const struct built_table *b, struct unwind_slabs *slabs, put_fn *put,
		     uint64_t now_ns)
{
	const struct unwind_page none = {.n = 0}, *before = &none;

	for (uint32_t i = 0; i < b->extent.n_pages; i++) {
		const struct unwind_page *p = &b->directory[i];
		struct unwind_extent e;

		if (p->n == 0 || memcmp(p, before, sizeof(*before)) == 0)
			continue;
		before = p;
		e = rows_of(p);
		put(slabs, &e, now_ns);
	}
}

static void put_all(struct built_table *b, struct unwind_slabs *slabs, put_fn *put, uint64_t now_ns)
{
	if (b->directory)
		put_rows(b, slabs, put, now_ns);
	for (size_t i = 0; i < ARRAY_SIZE(b->pages); i++)
		put(slabs, &b->pages[i], now_ns);
	for (size_t i = 0; i < ARRAY_SIZE(b->rules); i++)
		put(slabs, &b->rules[i], now_ns);
	free(b->directory);
	*b = (struct built_table){0};
}

void built_table_withdraw(struct built_table *b, struct unwind_slabs *slabs,
			  struct unwind_table *published, uint64_t now_ns)
{
	const struct built_table none = {.n_rows = 0};

	__atomic_store_n(&published->n_pages, 0, __ATOMIC_RELEASE);
	write_refs(published, &none);
	put_all(b, slabs, unwind_slabs_put, now_ns);
}

void built_table_discard(struct built_table *b, struct unwind_slabs *slabs)
{
	put_all(b, slabs, put_unseen, 0);
}
