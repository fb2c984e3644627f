#include "cluster-agent/discover/known_pods.h"

#include <errno.h>

#include "common/table.h"

struct pod {
	UT_hash_handle hh;
	uint64_t list;
	XXH128_hash_t hash;
	char uid[];
};

struct known_pods {
	struct pod *pods;
};

static void add_text(XXH3_state_t *state, const char *s)
{
	/* with its NUL, so that what moves from one text to the next is another target */
	XXH3_128bits_update(state, s, strlen(s) + 1);
}

static XXH128_hash_t hash_target(const struct scrape_target *t)
{
	const char *const texts[] = {t->namespace, t->pod,        t->node,   t->service,
				     t->ip,        t->containers, t->problem};
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_text(&state, texts[i]);
	for (size_t i = 0; i < t->n_endpoints; i++) {
		const struct scrape_endpoint *e = &t->endpoints[i];
		const uint32_t numbers[] = {e->kind, e->https, e->port};

		XXH3_128bits_update(&state, numbers, sizeof(numbers));
		add_text(&state, e->path);
	}
	return XXH3_128bits_digest(&state);
}

static struct pod *find(const struct known_pods *k, const char *uid)
{
	struct pod *p;

	HASH_FIND_STR(k->pods, uid, p);
	return p;
}

static struct pod *add(struct known_pods *k, const char *uid)
{
	size_t len = strlen(uid);
	struct pod *p = table_malloc(sizeof(*p) + len + 1);

	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	memcpy(p->uid, uid, len + 1);
	HASH_ADD_STR(k->pods, uid, p);
	if (TABLE_ADDED(hh, p))
		return p;
	table_free(p);
	return NULL;
}

static void take_out(struct known_pods *k, struct pod *p)
{
	HASH_DEL(k->pods, p);
	table_free(p);
}

int known_pods_new(struct known_pods **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void known_pods_free(struct known_pods *k)
{
	struct pod *p, *next;

	if (!k)
		return;
	HASH_ITER(hh, k->pods, p, next)
	take_out(k, p);
	free(k);
}

size_t known_pods_count(const struct known_pods *k)
{
	return HASH_COUNT(k->pods);
}

int known_pods_put(struct known_pods *k, const struct scrape_target *t, uint64_t list)
{
	XXH128_hash_t hash = hash_target(t);
	struct pod *p = find(k, t->uid);
	bool same = p && XXH128_isEqual(p->hash, hash);

	if (!p)
		p = add(k, t->uid);
	if (!p)
		return -ENOMEM;
	p->list = list;
	p->hash = hash;
	return !same;
}

bool known_pods_remove(struct known_pods *k, const char *uid)
{
	struct pod *p = find(k, uid);

	if (p)
		take_out(k, p);
	return p != NULL;
}

void known_pods_sweep(struct known_pods *k, uint64_t list, void (*gone)(void *ctx, const char *uid),
		      void *ctx)
{
	struct pod *p, *next;

	HASH_ITER(hh, k->pods, p, next)
	{
		if (p->list >= list)
			continue;
		gone(ctx, p->uid);
		take_out(k, p);
	}
}
