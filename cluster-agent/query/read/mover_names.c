#include "cluster-agent/query/read/mover_names.h"

#include <errno.h>

#include "cluster-agent/query/read/late_names.h"
#include "cluster-agent/query/read/missing_names.h"
#include "common/flame/frame_text.h"

/* Returns 0 or -ENOMEM. */
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
	return m->name && m->file ? 0 : -ENOMEM;
}

int mover_names_add(struct symbol_store *symbols, struct mover_list *l)
{
	if (missing_names_matter(symbols)) {
		int r = missing_names_ask_movers(symbols, l);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; symbols && i < l->n_items; i++) {
		int r = name_mover(symbols, &l->arena, &l->items[i]);

		if (r < 0)
			return r;
	}
	return 0;
}
