#include "cluster-agent/query/read/mover_join.h"

#include "common/flame/frame_text.h"

static int by_name(const void *a, const void *b)
{
	const struct mover *x = a, *y = b;
	int c = strcmp(x->service, y->service);

	return c ? c : strcmp(x->name, y->name);
}

/* Joins native functions among n of one name, as frame_functions.h does. Returns how many stay. */
static size_t join_name(struct mover *items, size_t n)
{
	struct mover *of[2] = {0}; /* without and with a source file */
	size_t n_of[2] = {0};

	for (size_t i = 0; i < n; i++) {
		const char *file = items[i].file;
		bool source = frame_file_is_native(file, strlen(file));

		if (source || frame_file_is_label(file, strlen(file))) {
			n_of[source]++;
			of[source] = &items[i];
		}
	}
	if (!of[0] || !of[1] || n_of[0] > 1 || n_of[1] > 1)
		return n;
	of[1]->self += of[0]->self;
	of[1]->base_self += of[0]->base_self;
	of[1]->cores += of[0]->cores;
	of[1]->base_cores += of[0]->base_cores;
	*of[0] = items[n - 1];
	return n - 1;
}

void mover_list_join(struct mover_list *l)
{
	size_t kept = 0, n;

	qsort(l->items, l->n_items, sizeof(*l->items), by_name);
	for (size_t i = 0; i < l->n_items; i += n) {
		size_t left;

		for (n = 1; i + n < l->n_items && by_name(&l->items[i], &l->items[i + n]) == 0;)
			n++;
		left = join_name(&l->items[i], n);
		memmove(&l->items[kept], &l->items[i], left * sizeof(*l->items));
		kept += left;
	}
	l->n_items = kept;
}
