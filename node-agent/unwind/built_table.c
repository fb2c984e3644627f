#include "node-agent/unwind/built_table.h"

#include <errno.h>

#include "node-agent/unwind/hot_code.h"

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

int built_table_open(struct built_table *b, struct unwind_slabs *slabs,
		     const struct cfi_extent *extent)
{
	int r = built_table_begin(b, slabs, extent);

	b->n_rules = 1;
	return r < 0 ? r : write_extent(b, slabs, NULL, UNWIND_BLOCK_BYTES, &b->rules[0]);
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

/* Nothing of the page is known. Such pages share one row, wherever they are. */
static bool is_blank(const struct unwind_row *rows, uint32_t n)
{
	return n == 1 && rows[0].address == 0 && rows[0].rule == 0;
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
	if (is_blank(rows, n) && b->blank.n > 0)
		before = &b->blank;
	if (same_rows(slabs, before, rows, n)) {
		*p = b->directory[page] = *before;
		return 0;
	}
	r = write_extent(b, slabs, rows, n * sizeof(*rows), &e);
	if (r < 0)
		return r;
	*p = b->directory[page] =
		(struct unwind_page){.rows = ref_to(&e, sizeof(*rows)), .n = (uint16_t)n};
	if (is_blank(rows, n))
		b->blank = *p;
	return 0;
}

const struct unwind_row *built_table_rows(const struct built_table *b, struct unwind_slabs *slabs,
					  uint32_t page, uint32_t *ret_n)
{
	struct unwind_extent e = rows_of(&b->directory[page]);

	*ret_n = b->directory[page].n;
	return *ret_n > 0 ? unwind_slabs_at(slabs, &e) : NULL;
}

int built_table_add_rules(struct built_table *b, struct unwind_slabs *slabs,
			  const struct unwind_rule *rules, uint32_t n)
{
	if (n > UNWIND_TABLE_RULES)
		return -EFBIG;
	b->n_rules = n;
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

static bool is_same_page(const struct unwind_page *a, const struct unwind_page *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void put_page(const struct unwind_page *p, struct unwind_slabs *slabs, put_fn *put,
		     uint64_t now_ns)
{
	struct unwind_extent e = rows_of(p);

	if (p->n > 0)
		put(slabs, &e, now_ns);
}

static void put_rows(const struct built_table *b, struct unwind_slabs *slabs, put_fn *put,
		     uint64_t now_ns)
{
	const struct unwind_page none = {.n = 0}, *before = &none;

	for (uint32_t i = 0; i < b->extent.n_pages; i++) {
		const struct unwind_page *p = &b->directory[i];

		if (p->n == 0 || is_same_page(p, before) || is_same_page(p, &b->blank))
			continue;
		before = p;
		put_page(p, slabs, put, now_ns);
	}
	put_page(&b->blank, slabs, put, now_ns);
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
	hot_code_free(b->hot);
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

/* ---- parts ---- */

int built_table_read_rules(const struct built_table *b, struct unwind_slabs *slabs,
			   struct unwind_rule *ret)
{
	for (uint32_t done = 0; done < b->n_rules; done += UNWIND_BLOCK_RULES) {
		uint32_t n = b->n_rules - done;
		const struct unwind_rule *rules =
			unwind_slabs_at(slabs, &b->rules[done / UNWIND_BLOCK_RULES]);

		if (!rules)
			return -ENOMEM;
		memcpy(ret + done, rules,
		       (n < UNWIND_BLOCK_RULES ? n : UNWIND_BLOCK_RULES) * sizeof(*ret));
	}
	return 0;
}

int built_part_add_page(struct built_part *part, struct unwind_slabs *slabs, uint32_t page,
			const struct unwind_row *rows, uint32_t n)
{
	struct unwind_extent e;
	int r;

	if (page >= CFI_FILL_PAGES || n > UNWIND_BLOCK_ROWS)
		return -EFBIG;
	if (is_blank(rows, n))
		return 0;
	r = unwind_slabs_write(slabs, rows, n * sizeof(*rows), &e);
	if (r < 0)
		return r;
	part->pages[page] =
		(struct unwind_page){.rows = ref_to(&e, sizeof(*rows)), .n = (uint16_t)n};
	part->bytes += (uint64_t)e.n_units * UNWIND_UNIT_BYTES;
	part->n_rows += n;
	return 0;
}

void built_part_discard(struct built_part *part, struct unwind_slabs *slabs)
{
	for (uint32_t i = 0; i < CFI_FILL_PAGES; i++)
		put_page(&part->pages[i], slabs, put_unseen, 0);
	*part = (struct built_part){.n = 0};
}

static uint64_t bytes_of(const struct unwind_extent *e)
{
	return (uint64_t)e->n_units * UNWIND_UNIT_BYTES;
}

/*
 * Adds the rules behind those that are there, which no row refers to yet, if they have room.
 * Returns whether they have.
 */
static bool append_rules(struct built_table *b, struct unwind_slabs *slabs,
			 const struct unwind_rule *rules, uint32_t n)
{
	struct unwind_extent *e = &b->rules[(n - 1) / UNWIND_BLOCK_RULES];
	uint32_t first = (n - 1) / UNWIND_BLOCK_RULES * UNWIND_BLOCK_RULES;
	uint32_t known = b->n_rules > first ? b->n_rules - first : 0;
	struct unwind_rule *there;

	if (b->n_rules <= first || bytes_of(e) < (n - first) * sizeof(*rules))
		return false;
	there = unwind_slabs_at(slabs, e);
	if (!there)
		return false;
	memcpy(there + known, rules + b->n_rules, (n - b->n_rules) * sizeof(*rules));
	b->n_rules = n;
	return true;
}

/* Puts all rules where there is room for more. Walks may read either. */
static int replace_rules(struct built_table *b, struct unwind_slabs *slabs,
			 const struct unwind_rule *rules, uint32_t n,
			 struct unwind_table *published, uint64_t now_ns)
{
	struct built_table with = {.n_rules = 0};
	int r;

	if (n == b->n_rules || append_rules(b, slabs, rules, n))
		return 0;
	r = built_table_add_rules(&with, slabs, rules, n);
	for (size_t i = 0; i < ARRAY_SIZE(b->rules); i++) {
		struct unwind_extent old = b->rules[i];

		if (r < 0) {
			unwind_slabs_put_unseen(slabs, &with.rules[i]);
			continue;
		}
		write_ref(&published->rules[i], ref_to(&with.rules[i], sizeof(struct unwind_rule)));
		unwind_slabs_put(slabs, &old, now_ns);
		b->bytes += bytes_of(&with.rules[i]) - bytes_of(&old);
		b->rules[i] = with.rules[i];
	}
	if (r == 0)
		b->n_rules = n;
	return r;
}

typedef uint64_t __attribute__((may_alias)) page_word;

_Static_assert(sizeof(page_word) == sizeof(struct unwind_page), "a page is one word");

/*
 * Rows of a page that is between others with the same rows cannot be freed, and those others would
 * then look as if they had rows of their own; such a page stays as it is. Blank ones are no such.
 */
static bool may_replace(const struct built_table *b, uint32_t page)
{
	const struct unwind_page *p = &b->directory[page];
	bool like_last = page > 0 && is_same_page(p, p - 1);
	bool like_next = page + 1 < b->extent.n_pages && is_same_page(p, p + 1);

	return is_same_page(p, &b->blank) || (!like_last && !like_next);
}

/* Takes the rows over that the page gets, unless it stays as it is. */
static void replace_page(struct built_table *b, struct unwind_slabs *slabs, uint32_t page,
			 struct unwind_page *with, uint64_t now_ns)
{
	struct unwind_page *to = page_at(b, slabs, page), *old = &b->directory[page];
	page_word word;

	if (!to || !may_replace(b, page))
		return;
	b->n_rows += with->n - (uint64_t)old->n;
	memcpy(&word, with, sizeof(word));
	__atomic_store_n((page_word *)(void *)to, word, __ATOMIC_RELEASE);
	if (!is_same_page(old, &b->blank)) {
		struct unwind_extent e = rows_of(old);

		b->bytes -= old->n > 0 ? bytes_of(&e) : 0;
		put_page(old, slabs, unwind_slabs_put, now_ns);
	}
	*old = *with;
	b->bytes += bytes_of(&(struct unwind_extent){.n_units = rows_of(with).n_units});
	*with = (struct unwind_page){.n = 0};
}

/*
 * Rules come first, then the rows that refer to them. Once all are there, the generation makes
 * walks forget what they remember; until then they may find either.
 */
int built_table_replace(struct built_table *b, struct unwind_slabs *slabs, struct built_part *part,
			struct unwind_table *published, uint64_t now_ns)
{
	int r = replace_rules(b, slabs, part->rules, part->n_rules, published, now_ns);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < part->n && part->first + i < b->extent.n_pages; i++) {
		if (part->pages[i].n > 0)
			replace_page(b, slabs, part->first + i, &part->pages[i], now_ns);
	}
	built_part_discard(part, slabs);
	__atomic_store_n(&published->generation, published->generation + 1, __ATOMIC_RELEASE);
	return 0;
}

void built_table_drop(struct built_table *b, struct unwind_slabs *slabs,
		      const struct cfi_extent *pages, struct unwind_table *published,
		      uint64_t now_ns)
{
	uint32_t first = (uint32_t)(pages->first_page - b->extent.first_page);

	for (uint32_t page = first; page < first + pages->n_pages; page++) {
		struct unwind_page none = {.n = 0};

		if (b->directory[page].n > 0)
			replace_page(b, slabs, page, &none, now_ns);
	}
	__atomic_store_n(&published->generation, published->generation + 1, __ATOMIC_RELEASE);
}
