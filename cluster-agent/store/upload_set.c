#include "cluster-agent/store/upload_set.h"

#include <errno.h>

#define WAYS 8u

struct entry {
	struct upload_id id;
	uint64_t put_ns;
	uint8_t n_tables; /* 0: free */
};

struct upload_set {
	struct entry entries[UPLOAD_SET_PLACES];
};

int upload_set_new(struct upload_set **ret)
{
	/* untouched pages of it cost nothing */
	struct upload_set *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret = s;
	return 0;
}

void upload_set_free(struct upload_set *s)
{
	free(s);
}

/* The ids are hashes already. */
static size_t first_way(struct upload_id id)
{
	return (size_t)(id.low % (UPLOAD_SET_PLACES / WAYS)) * WAYS;
}

static bool is_entry(const struct entry *e, struct upload_id id)
{
	return e->n_tables > 0 && e->id.low == id.low && e->id.high == id.high;
}

unsigned upload_set_get(const struct upload_set *s, struct upload_id id)
{
	const struct entry *e = &s->entries[first_way(id)];

	for (size_t i = 0; i < WAYS; i++) {
		if (is_entry(&e[i], id))
			return e[i].n_tables;
	}
	return 0;
}

void upload_set_put(struct upload_set *s, struct upload_id id, unsigned n_tables, uint64_t now_ns)
{
	struct entry *e = &s->entries[first_way(id)], *place = e;

	for (size_t i = 0; i < WAYS; i++) {
		if (is_entry(&e[i], id)) {
			place = &e[i];
			break;
		}
		if (place->n_tables > 0 && (e[i].n_tables == 0 || e[i].put_ns < place->put_ns))
			place = &e[i];
	}
	*place = (struct entry){.id = id, .put_ns = now_ns, .n_tables = (uint8_t)n_tables};
}
