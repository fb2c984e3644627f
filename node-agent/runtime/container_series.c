#include "node-agent/runtime/container_series.h"

#include <errno.h>

#include "common/data/table.h"

struct series_entry {
	unsigned family;
	bool is_flag;
	uint64_t value;
	char *labels; /* owned */
};

struct series_sum {
	UT_hash_handle hh;
	uint64_t value;
	const char *labels; /* the key */
};

static void free_entries(struct series_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(entries[i].labels);
	free(entries);
}

void series_list_clear(struct series_list *l)
{
	free_entries(l->entries, l->n);
	*l = (struct series_list){0};
}

static bool is_in(uint32_t families, unsigned family)
{
	return family < 32 && (families >> family & 1);
}

/* Copies the new ones to `to`. Returns 0, or an error after which `to` has *ret_n of them. */
static int copy_entries(struct series_entry *to, uint32_t families,
			const struct container_series *series, size_t n, size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		struct series_entry e = {
			.family = series[i].family,
			.is_flag = series[i].is_flag,
			.value = series[i].value,
		};

		if (!is_in(families, e.family))
			return -EINVAL;
		e.labels = strdup(series[i].labels);
		if (!e.labels)
			return -ENOMEM;
		to[(*ret_n)++] = e;
	}
	return 0;
}

int series_list_replace(struct series_list *l, uint32_t families,
			const struct container_series *series, size_t n)
{
	struct series_entry *entries;
	size_t n_kept = 0, n_new;
	int r;

	for (size_t i = 0; i < l->n; i++)
		n_kept += !is_in(families, l->entries[i].family);
	if (n > CONTAINER_SERIES_MAX - n_kept)
		return -E2BIG;
	entries = calloc(n + n_kept + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	r = copy_entries(entries, families, series, n, &n_new);
	if (r < 0) {
		free_entries(entries, n_new);
		return r;
	}
	for (size_t i = 0; i < l->n; i++) {
		if (is_in(families, l->entries[i].family))
			continue;
		entries[n_new++] = l->entries[i];
		l->entries[i].labels = NULL;
	}
	series_list_clear(l);
	*l = (struct series_list){entries, n_new};
	return 0;
}

void series_sums_clear(struct series_sums *sums)
{
	struct series_sum *s, *next;

	for (s = sums->table; s; s = next) {
		next = s->hh.next;
		HASH_DEL(sums->table, s);
		table_free(s);
	}
}

static int add_entry(struct series_sums *sums, const struct series_entry *e)
{
	struct series_sum *s;

	HASH_FIND_STR(sums->table, e->labels, s);
	if (s) {
		s->value = e->is_flag ? s->value | e->value : s->value + e->value;
		return 0;
	}
	s = table_malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct series_sum){.value = e->value, .labels = e->labels};
	HASH_ADD_KEYPTR(hh, sums->table, s->labels, strlen(s->labels), s);
	if (TABLE_ADDED(hh, s))
		return 0;
	table_free(s);
	return -ENOMEM;
}

int series_sums_add(struct series_sums *sums, const struct series_list *l, unsigned family)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0; i++) {
		if (l->entries[i].family == family)
			r = add_entry(sums, &l->entries[i]);
	}
	return r;
}

int series_sums_each(const struct series_sums *sums,
		     int (*fn)(void *ctx, const char *labels, uint64_t value), void *ctx)
{
	int r = 0;

	for (const struct series_sum *s = sums->table; s && r == 0; s = s->hh.next)
		r = fn(ctx, s->labels, s->value);
	return r;
}
