/*
 * A table from uid to digest. The targets themselves are not kept, since the scraper has them;
 * the digest is 128 bits of XXH3 under a seed that is random per process, so two targets of one
 * pod do not collide even if somebody tries.
 *
 * A mark is the number of the current round: removing all marks at the start of a list is one
 * increment instead of a walk over 50,000 pods.
 */
#include "cluster-agent/discover/known_pods.h"

#include <errno.h>

#include "common/data/table.h"

struct known_pod {
	UT_hash_handle hh;
	XXH128_hash_t digest;
	bool unpublished; /* digest is of a target that was not taken in */
	uint64_t round;   /* the last round in which the pod was marked */
	char uid[];
};

struct known_pods {
	struct known_pod *pods;
	size_t max;
	uint64_t round;
};

int known_pods_new(struct known_pods **ret, size_t max)
{
	struct known_pods *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->max = max;
	*ret = k;
	return 0;
}

static void drop(struct known_pods *k, struct known_pod *p)
{
	HASH_DEL(k->pods, p);
	table_free(p);
}

void known_pods_free(struct known_pods *k)
{
	struct known_pod *p, *next;

	if (!k)
		return;
	HASH_ITER(hh, k->pods, p, next)
	{
		drop(k, p);
	}
	free(k);
}

static struct known_pod *find(const struct known_pods *k, const char *uid)
{
	struct known_pod *p;

	HASH_FIND(hh, k->pods, uid, strlen(uid), p);
	return p;
}

/* Includes the NUL: otherwise "a", "b" would have the digest of "ab", "". */
static void add_text(XXH3_state_t *h, const char *s)
{
	XXH3_128bits_update(h, s, strlen(s) + 1);
}

static void add_number(XXH3_state_t *h, uint64_t n)
{
	XXH3_128bits_update(h, &n, sizeof(n));
}

static XXH128_hash_t digest_of(const struct scrape_target *t)
{
	const char *const texts[] = {t->namespace, t->pod, t->node, t->service, t->ip, t->problem};
	XXH3_state_t h;

	XXH3_INITSTATE(&h);
	XXH3_128bits_reset_withSeed(&h, table_seed);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_text(&h, texts[i]);
	for (size_t i = 0; i < t->n_labels; i++) {
		add_text(&h, t->labels[i].name);
		add_text(&h, t->labels[i].value);
	}
	add_number(&h, t->n_containers);
	for (size_t i = 0; i < t->n_containers; i++) {
		add_text(&h, t->containers[i].name);
		add_text(&h, t->containers[i].coroot_service);
		add_text(&h, t->containers[i].process);
	}
	for (size_t i = 0; i < t->n_endpoints; i++) {
		add_number(&h, t->endpoints[i].kind);
		add_number(&h, t->endpoints[i].https);
		add_number(&h, t->endpoints[i].port);
		add_text(&h, t->endpoints[i].path);
		add_number(&h, t->endpoints[i].container);
		add_number(&h, t->endpoints[i].asked_for);
	}
	return XXH3_128bits_digest(&h);
}

static int add(struct known_pods *k, const char *uid, XXH128_hash_t digest)
{
	size_t len = strlen(uid);
	struct known_pod *p;

	if (HASH_COUNT(k->pods) >= k->max)
		return -ENOSPC;
	p = table_malloc(sizeof(*p) + len + 1);
	if (!p)
		return -ENOMEM;
	memset(p, 0, sizeof(*p));
	memcpy(p->uid, uid, len + 1);
	p->digest = digest;
	p->round = k->round;
	HASH_ADD_KEYPTR(hh, k->pods, p->uid, len, p);
	if (TABLE_ADDED(hh, p))
		return 1;
	table_free(p);
	return -ENOMEM;
}

int known_pods_put(struct known_pods *k, const struct scrape_target *t)
{
	XXH128_hash_t digest = digest_of(t);
	struct known_pod *p = find(k, t->uid);

	if (!p)
		return add(k, t->uid, digest);
	p->round = k->round;
	if (XXH128_isEqual(p->digest, digest) && !p->unpublished)
		return 0;
	p->digest = digest;
	p->unpublished = false;
	return 1;
}

void known_pods_mark_unpublished(struct known_pods *k, const char *uid)
{
	struct known_pod *p = find(k, uid);

	if (p)
		p->unpublished = true;
}

void known_pods_keep(struct known_pods *k, const char *uid)
{
	struct known_pod *p = find(k, uid);

	if (p)
		p->round = k->round;
}

bool known_pods_remove(struct known_pods *k, const char *uid)
{
	struct known_pod *p = find(k, uid);

	if (p)
		drop(k, p);
	return p != NULL;
}

void known_pods_unmark(struct known_pods *k)
{
	k->round++;
}

void known_pods_sweep(struct known_pods *k, void (*removed)(void *ctx, const char *uid), void *ctx)
{
	struct known_pod *p, *next;

	HASH_ITER(hh, k->pods, p, next)
	{
		if (p->round == k->round)
			continue;
		HASH_DEL(k->pods, p);
		removed(ctx, p->uid);
		table_free(p);
	}
}

size_t known_pods_count(const struct known_pods *k)
{
	return HASH_COUNT(k->pods);
}
