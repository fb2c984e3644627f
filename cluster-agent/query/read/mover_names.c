#include "cluster-agent/query/read/mover_names.h"

#include <errno.h>

#include "cluster-agent/query/read/late_names.h"
#include "cluster-agent/query/read/missing_names.h"
#include "common/flame/frame_text.h"

/* Returns 1 if the function has got a name, 0 if not, or -ENOMEM. */
static int name_mover(struct symbol_store *symbols, struct arena *a, struct mover *m)
{
	char frame[LATE_NAME_BYTES], named[LATE_NAME_BYTES];
	int n = snprintf(frame, sizeof(frame), "%s %s:0", m->name, m->file);
	struct frame_text text;
	size_t len;

	if (n < 0 || n >= (int)sizeof(frame))
		return 0;
	len = late_name_of(symbols, frame, (size_t)n, named);
	if (len == 0)
		return 0;
	frame_text_split(&text, named, len);
	m->name = arena_strndup(a, text.name, text.name_len);
	m->file = arena_strndup(a, text.file, text.file_len);
	return m->name && m->file ? 1 : -ENOMEM;
}

static bool is_same(const struct mover *a, const struct mover *b)
{
	char key_a[FRAME_FILE_KEY_MAX], key_b[FRAME_FILE_KEY_MAX];
	const char *x, *y;
	size_t len;

	if (strcmp(a->service, b->service) != 0 || strcmp(a->name, b->name) != 0)
		return false;
	len = frame_file_key(a->file, strlen(a->file), key_a, &x);
	return frame_file_key(b->file, strlen(b->file), key_b, &y) == len && memcmp(x, y, len) == 0;
}

static void add(int64_t *sum, int64_t v)
{
	if (__builtin_add_overflow(*sum, v, sum))
		*sum = INT64_MAX;
}

/* Adds item i to an earlier one that is the same function. */
static bool merge(struct mover_list *l, size_t i)
{
	const struct mover *m = &l->items[i];

	for (size_t k = 0; k < i; k++) {
		struct mover *to = &l->items[k];

		if (!is_same(to, m))
			continue;
		add(&to->self, m->self);
		add(&to->base_self, m->base_self);
		to->cores += m->cores;
		to->base_cores += m->base_cores;
		return true;
	}
	return false;
}

int mover_names_add(struct symbol_store *symbols, struct mover_list *l)
{
	size_t n_named = 0, n = 0;

	if (missing_names_matter(symbols)) {
		int r = missing_names_ask_movers(symbols, l);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; symbols && i < l->n_items; i++) {
		int r = name_mover(symbols, &l->arena, &l->items[i]);

		if (r < 0)
			return r;
		n_named += (size_t)r;
	}
	if (n_named == 0)
		return 0;
	for (size_t i = 0; i < l->n_items; i++) {
		l->items[n] = l->items[i];
		n += !merge(l, n);
	}
	l->n_items = n;
	return 0;
}
