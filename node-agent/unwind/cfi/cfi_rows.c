/*
 * A page is complete once a row after it arrives. The first row of the next page repeats the rule
 * that is in force, so that pages can be searched alone.
 *
 * Rules repeat all the time: the few that were used last are compared before the dictionary is
 * searched. (XXH3 and uthash, for 5.7 million rows, would take a fifth of the time of a build.)
 */
#include "node-agent/unwind/cfi/cfi_rows.h"

#include <errno.h>

#include "common/data/table.h"

#define RECENT 256u
/*
 * Of large files, hundreds of rules differ only in where rbx is, which few walks need: with so many
 * in the dictionary, new ones do not say it.
 */
#define RULES_WITH_RBX (UNWIND_TABLE_RULES / 4 * 3)

struct known_rule {
	struct unwind_rule rule; /* the key */
	UT_hash_handle hh;
	uint16_t index;
};

struct cfi_rows {
	struct cfi_table *table;
	cfi_page_fn *on_page;
	void *ctx;
	struct known_rule *known; /* by rule */
	struct known_rule *elements;
	struct {
		struct unwind_rule rule;
		uint16_t index; /* zeroed: the rule "unknown" */
	} recent[RECENT];
	uint64_t begin, end; /* addresses of the extent */
	uint64_t address;    /* of the last row */
	uint32_t page;       /* that is being filled */
	uint32_t n;
	struct unwind_row rows[UNWIND_BLOCK_ROWS];
};

int cfi_rows_new(struct cfi_rows **ret, struct cfi_table *table, cfi_page_fn *on_page, void *ctx)
{
	CLEANUP(cfi_rows_freep) struct cfi_rows *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->elements = calloc(UNWIND_TABLE_RULES, sizeof(*w->elements));
	table->rules = calloc(UNWIND_TABLE_RULES, sizeof(*table->rules));
	if (!w->elements || !table->rules)
		return -ENOMEM;
	w->table = table;
	w->on_page = on_page;
	w->ctx = ctx;
	w->begin = table->extent.first_page << UNWIND_PAGE_SHIFT;
	w->end = w->begin + ((uint64_t)table->extent.n_pages << UNWIND_PAGE_SHIFT);
	w->address = w->begin;
	w->n = 1; /* the rule "unknown", from the start on */
	table->n_rules = 1;
	*ret = TAKE_PTR(w);
	return 0;
}

void cfi_rows_free(struct cfi_rows *w)
{
	if (!w)
		return;
	HASH_CLEAR(hh, w->known);
	free(w->elements);
	free(w);
}

/* ---- dictionary ---- */

static int add_rule(struct cfi_rows *w, const struct unwind_rule *rule, uint16_t *ret)
{
	struct cfi_table *t = w->table;
	struct known_rule *e = &w->elements[t->n_rules];

	if (t->n_rules == UNWIND_TABLE_RULES) {
		t->n_dropped_rows++;
		*ret = 0;
		return 0;
	}
	e->rule = *rule;
	e->index = (uint16_t)t->n_rules;
	HASH_ADD(hh, w->known, rule, sizeof(e->rule), e);
	if (!TABLE_ADDED(hh, e))
		return -ENOMEM;
	t->rules[t->n_rules++] = *rule;
	*ret = e->index;
	return 0;
}

int cfi_rows_know(struct cfi_rows *w, const struct unwind_rule *rules, uint32_t n)
{
	uint16_t index;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < n; i++)
		r = add_rule(w, &rules[i], &index);
	return r;
}

static int find_known(struct cfi_rows *w, const struct unwind_rule *rule, uint16_t *ret)
{
	struct unwind_rule plain = *rule;
	struct known_rule *e;

	HASH_FIND(hh, w->known, rule, sizeof(*rule), e);
	if (!e && w->table->n_rules >= RULES_WITH_RBX) {
		plain.how &= (__u8)~UNWIND_RBX_MASK;
		HASH_FIND(hh, w->known, &plain, sizeof(plain), e);
	}
	if (!e)
		return add_rule(w, &plain, ret);
	*ret = e->index;
	return 0;
}

static int find_rule(struct cfi_rows *w, const struct unwind_rule *rule, uint16_t *ret)
{
	uint64_t bits;
	size_t i;
	int r;

	memcpy(&bits, rule, sizeof(bits));
	i = (size_t)(bits * UINT64_C(0x9e3779b97f4a7c15) >> 56) % RECENT;
	if (memcmp(&w->recent[i].rule, rule, sizeof(*rule)) == 0) {
		*ret = w->recent[i].index;
		return 0;
	}
	r = find_known(w, rule, ret);
	if (r == 0) {
		w->recent[i].rule = *rule;
		w->recent[i].index = *ret;
	}
	return r;
}

/* ---- pages ---- */

static int complete_page(struct cfi_rows *w)
{
	uint16_t rule = w->rows[w->n - 1].rule;
	int r = w->on_page(w->ctx, w->page, w->rows, w->n);

	w->table->n_rows += w->n;
	w->page++;
	w->rows[0] = (struct unwind_row){.address = 0, .rule = rule};
	w->n = 1;
	return r;
}

static int advance_to_page(struct cfi_rows *w, uint32_t page)
{
	int r = 0;

	while (r == 0 && w->page < page)
		r = complete_page(w);
	return r;
}

/* The last row of a page that has no room for more stands for all that follow. */
static void add_row(struct cfi_rows *w, uint16_t address, uint16_t rule)
{
	if (w->rows[w->n - 1].address == address)
		w->n--;
	if (w->n > 0 && w->rows[w->n - 1].rule == rule)
		return;
	if (w->n == UNWIND_BLOCK_ROWS) {
		w->table->n_dropped_rows++;
		w->rows[w->n - 1].rule = 0;
		return;
	}
	w->rows[w->n++] = (struct unwind_row){.address = address, .rule = rule};
}

int cfi_rows_add(struct cfi_rows *w, uint64_t address, const struct unwind_rule *rule)
{
	uint16_t index = 0;
	int r;

	if (address < w->address)
		address = w->address;
	if (address >= w->end)
		return 0;
	r = find_rule(w, rule, &index);
	if (r == 0)
		r = advance_to_page(w, (uint32_t)((address - w->begin) >> UNWIND_PAGE_SHIFT));
	if (r == 0)
		add_row(w, (uint16_t)(address & (UNWIND_PAGE_BYTES - 1)), index);
	w->address = address;
	return r;
}

int cfi_rows_finish(struct cfi_rows *w)
{
	return advance_to_page(w, w->table->extent.n_pages);
}
