#include "cluster-agent/query/read/mover_join.h"

#include <errno.h>

#include "common/flame/frame_functions.h"
#include "common/flame/frame_text.h"

#define MAX_TEXT_BYTES ((size_t)8 << 20) /* as of a list */

static bool has_source(const struct mover *m)
{
	return !frame_file_is_label(m->file, strlen(m->file));
}

/*
 * What has no source comes first: where there are two of these, the source is known to be of
 * neither.
 */
static int in_order(const void *a, const void *b)
{
	const struct mover *x = a, *y = b;
	int c = strcmp(x->service, y->service);

	if (c == 0)
		c = strcmp(x->name, y->name);
	if (c == 0)
		c = has_source(x) - has_source(y);
	return c ? c : strcmp(x->file, y->file);
}

static void add_value(int64_t *sum, int64_t v)
{
	if (__builtin_add_overflow(*sum, v, sum))
		*sum = INT64_MAX;
}

static void add(struct mover *to, const struct mover *m)
{
	add_value(&to->self, m->self);
	add_value(&to->base_self, m->base_self);
	to->cores += m->cores;
	to->base_cores += m->base_cores;
	if (!has_source(to))
		to->file = m->file;
}

/* Joins n items of one service in place. Returns how many are left, or -ENOMEM. */
static int join_service(struct mover *items, size_t n)
{
	CLEANUP(frame_functions_fini) struct frame_functions functions;
	AUTO_FREE uint32_t *ids = calloc(n, sizeof(*ids)); /* of those that are left */
	int r = frame_functions_init(&functions, MAX_TEXT_BYTES);
	size_t kept = 0, k;

	if (r < 0 || !ids)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t id;

		r = frame_functions_add(&functions, items[i].name, items[i].file, &id);
		if (r < 0)
			return -ENOMEM;
		for (k = 0; k < kept && ids[k] != id;)
			k++;
		if (k < kept) {
			add(&items[k], &items[i]);
			continue;
		}
		ids[kept] = id;
		items[kept++] = items[i];
	}
	return (int)kept;
}

int mover_list_join(struct mover_list *l)
{
	size_t kept = 0, n;

	if (l->n_items > 0)
		qsort(l->items, l->n_items, sizeof(*l->items), in_order);
	for (size_t i = 0; i < l->n_items; i += n) {
		int left;

		for (n = 1; i + n < l->n_items &&
			    strcmp(l->items[i].service, l->items[i + n].service) == 0;)
			n++;
		left = join_service(&l->items[i], n);
		if (left < 0)
			return left;
		memmove(&l->items[kept], &l->items[i], (size_t)left * sizeof(*l->items));
		kept += (size_t)left;
	}
	l->n_items = kept;
	return 0;
}
