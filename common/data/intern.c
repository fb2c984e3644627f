/*
 * The string table of a pprof: most strings are added many times, so the lookup must be fast,
 * and they are read back once, in order of id. The texts are in an arena: a malloc() per string
 * would cost more than the strings.
 */
#include "common/data/intern.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/data/array.h"
#include "common/data/number_index.h"

struct entry {
	uint32_t len;
	char text[];
};

struct intern {
	struct arena arena;          /* holds the entries */
	struct number_index by_text; /* ids */
	struct entry **by_id;        /* n of cap are used; [0] is NULL and stands for "" */
	uint32_t n;
	uint32_t cap;
	size_t used_bytes;
	size_t limit_bytes;
};

int intern_new(struct intern **ret, size_t limit_bytes)
{
	CLEANUP(intern_freep) struct intern *in = NULL;

	in = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	arena_init(&in->arena, SIZE_MAX);
	in->limit_bytes = limit_bytes;
	if (ARRAY_RESERVE(in->by_id, in->cap, 1) < 0)
		return -ENOMEM;
	in->by_id[in->n++] = NULL;

	*ret = TAKE_PTR(in);
	return 0;
}

void intern_free(struct intern *in)
{
	if (!in)
		return;
	number_index_fini(&in->by_text);
	arena_fini(&in->arena);
	free(in->by_id);
	free(in);
}

static int add_new(struct intern *in, const char *s, size_t len, uint32_t hash)
{
	struct entry *e;
	int r;

	if (len >= UINT32_MAX || len >= in->limit_bytes - in->used_bytes || in->n == UINT32_MAX / 2)
		return -EFBIG;
	r = ARRAY_RESERVE(in->by_id, in->cap, in->n + 1);
	if (r < 0)
		return r;
	e = arena_alloc(&in->arena, sizeof(*e) + len + 1);
	if (!e)
		return -ENOMEM;
	r = number_index_add(&in->by_text, hash, in->n);
	if (r < 0)
		return r;
	e->len = (uint32_t)len;
	memcpy(e->text, s, len);
	e->text[len] = '\0';
	in->by_id[in->n++] = e;
	in->used_bytes += len + 1;
	return 0;
}

int intern_add(struct intern *in, const char *s, size_t len, uint32_t *ret_id)
{
	uint32_t hash, at, id = 0;
	int r;

	if (len == 0) {
		*ret_id = 0;
		return 0;
	}
	at = hash = table_hash(s, len);
	while (number_index_next(&in->by_text, hash, &at, &id)) {
		const struct entry *e = in->by_id[id];

		if (e->len == len && memcmp(e->text, s, len) == 0) {
			*ret_id = id;
			return 0;
		}
	}
	r = add_new(in, s, len, hash);
	if (r == 0)
		*ret_id = in->n - 1;
	return r;
}

const char *intern_get(const struct intern *in, uint32_t id, size_t *ret_len)
{
	const struct entry *e = in->by_id[id];

	*ret_len = e ? e->len : 0;
	return e ? e->text : "";
}

uint32_t intern_count(const struct intern *in)
{
	return in->n;
}
