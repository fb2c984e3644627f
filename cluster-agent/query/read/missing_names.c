#include "cluster-agent/query/read/missing_names.h"

#include <errno.h>

#include "cluster-agent/query/read/late_names.h"
#include "cluster-agent/query/read/mover_query.h"
#include "cluster-agent/symbols/debuginfod.h"
#include "cluster-agent/symbols/symbol_store.h"
#include "common/data/array.h"
#include "common/pprof/code_file.h"

/* More than any program maps; those that come last have the least weight in their frames. */
#define BUILDS_MAX 512u

struct wants {
	struct asked_want *items;
	size_t n, max;
};

static void wants_fini(struct wants *w)
{
	free(w->items);
}

static struct asked_want *find(const struct wants *w, const struct build_key *k)
{
	for (size_t i = 0; i < w->n; i++)
		if (build_key_equal(&w->items[i].key, k))
			return &w->items[i];
	return NULL;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t s;

	return __builtin_add_overflow(a, b, &s) ? UINT64_MAX : s;
}

static int add(struct wants *w, const char *text, size_t len, uint64_t weight)
{
	struct code_place_text place;
	struct build_key key;
	struct asked_want *item;
	int r;

	if (weight == 0 || !late_name_place(text, len, &place) ||
	    !build_key_parse(&key, place.build_id.data, place.build_id.len))
		return 0;
	item = find(w, &key);
	if (!item && w->n == BUILDS_MAX)
		return 0;
	if (!item) {
		r = ARRAY_RESERVE(w->items, w->max, w->n + 1);
		if (r < 0)
			return r;
		item = &w->items[w->n++];
		*item = (struct asked_want){.key = key};
	}
	item->weight = sum(item->weight, weight);
	item->needs_offsets |= place.kind == CODE_FILE_OFFSET;
	return 0;
}

static int by_weight(const void *a, const void *b)
{
	uint64_t x = ((const struct asked_want *)a)->weight;
	uint64_t y = ((const struct asked_want *)b)->weight;

	return (x < y) - (x > y);
}

/* Leaves out what has a table, and sorts the rest: the largest first. */
static void select_missing(struct symbol_store *symbols, struct wants *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		if (!symbol_store_has(symbols, &w->items[i].key, w->items[i].needs_offsets))
			w->items[n++] = w->items[i];
	w->n = n;
	if (n > 0)
		qsort(w->items, n, sizeof(*w->items), by_weight);
}

static int collect(struct symbol_store *symbols, const struct stack_dictionary *d,
		   const uint64_t *weights, struct wants *w)
{
	int r = 0;

	for (uint32_t i = 0; i < stack_dictionary_texts(d) && r == 0; i++) {
		const struct flame_frame f = stack_dictionary_text(d, i);

		r = add(w, f.text, f.len, weights[i]);
	}
	select_missing(symbols, w);
	return r;
}

bool missing_names_matter(struct symbol_store *symbols)
{
	return symbols && symbol_store_debuginfod(symbols);
}

int missing_names_ask(struct symbol_store *symbols, const struct stack_dictionary *d,
		      const uint64_t *weights, uint64_t wait_ns)
{
	CLEANUP(wants_fini) struct wants w = {.n = 0};
	int r = collect(symbols, d, weights, &w);

	if (r == 0 && w.n > 0)
		debuginfod_want(symbol_store_debuginfod(symbols), w.items, w.n, wait_ns);
	return r;
}

int missing_names_explain(struct symbol_store *symbols, const struct stack_dictionary *d,
			  const uint64_t *weights, struct missing_names *ret)
{
	CLEANUP(wants_fini) struct wants w = {.n = 0};
	int r = collect(symbols, d, weights, &w);

	ret->n = 0;
	for (size_t i = 0; r == 0 && i < w.n && i < MISSING_NAMES_SHOWN; i++) {
		struct missing_build *b = &ret->builds[ret->n++];
		struct debuginfod_status status;

		debuginfod_status(symbol_store_debuginfod(symbols), &w.items[i].key, &status);
		build_key_text(&w.items[i].key, b->build_id);
		b->is_coming = status.is_coming;
		memcpy(b->why, status.why, sizeof(b->why));
	}
	return r;
}

int missing_names_ask_movers(struct symbol_store *symbols, const struct mover_list *l)
{
	CLEANUP(wants_fini) struct wants w = {.n = 0};
	int r = 0;

	for (size_t i = 0; i < l->n_items && r == 0; i++) {
		const struct mover *m = &l->items[i];
		char text[LATE_NAME_BYTES];
		int n = snprintf(text, sizeof(text), "%s %s:0", m->name, m->file);

		if (n > 0 && n < (int)sizeof(text))
			r = add(&w, text, (size_t)n,
				sum((uint64_t)(m->self > 0 ? m->self : 0),
				    (uint64_t)(m->base_self > 0 ? m->base_self : 0)));
	}
	select_missing(symbols, &w);
	if (r == 0 && w.n > 0)
		debuginfod_want(symbol_store_debuginfod(symbols), w.items, w.n, 0);
	return r;
}
