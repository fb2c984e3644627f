#include "cluster-agent/ingest/service_types.h"

#include <errno.h>
#include <pthread.h>

#include "common/data/table.h"

/* A full table is searched for what has expired no more often than this. */
#define SWEEP_S 60u

struct type {
	uint64_t hash;
	uint32_t seen_s;
};

struct service {
	uint64_t hash;
	struct type *types;
	uint32_t n_types;
	UT_hash_handle hh;
};

struct service_types {
	pthread_mutex_t lock;
	struct service *services; /* by hash */
	size_t n_pairs;
	uint32_t keep_s;
	uint32_t sweep_s; /* not before */
};

int service_types_new(struct service_types **ret, uint32_t keep_s)
{
	struct service_types *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->keep_s = keep_s;
	pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

static void remove_service(struct service_types *t, struct service *s)
{
	HASH_DEL(t->services, s);
	t->n_pairs -= s->n_types;
	free(s->types);
	free(s);
}

void service_types_free(struct service_types *t)
{
	struct service *s, *next;

	if (!t)
		return;
	HASH_ITER(hh, t->services, s, next)
	{
		remove_service(t, s);
	}
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* ---- making room ---- */

/* Another clock step than forward makes nothing expire. */
static bool has_expired(const struct service_types *t, const struct type *type, uint32_t now_s)
{
	return now_s > type->seen_s && now_s - type->seen_s > t->keep_s;
}

static void forget_old_types(struct service_types *t, struct service *s, uint32_t now_s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_types; i++) {
		if (!has_expired(t, &s->types[i], now_s))
			s->types[n++] = s->types[i];
	}
	t->n_pairs -= s->n_types - n;
	s->n_types = n;
}

static bool is_full(const struct service_types *t)
{
	return HASH_COUNT(t->services) >= SERVICE_TYPES_MAX_SERVICES ||
	       t->n_pairs >= SERVICE_TYPES_MAX_PAIRS;
}

/* May remove services. */
static void make_room(struct service_types *t, uint32_t now_s)
{
	struct service *s, *next;

	if (!is_full(t) || now_s < t->sweep_s)
		return;
	t->sweep_s = now_s + SWEEP_S;
	HASH_ITER(hh, t->services, s, next)
	{
		forget_old_types(t, s, now_s);
		if (s->n_types == 0)
			remove_service(t, s);
	}
}

/* ---- admission ---- */

static int add_type(struct service_types *t, struct service *s, uint64_t hash, uint32_t now_s)
{
	uint32_t n = s->n_types;

	/* 4, 8, 16, … places */
	if (n == 0 || (n >= 4 && (n & (n - 1)) == 0)) {
		struct type *types =
			reallocarray(s->types, n == 0 ? 4 : 2 * (size_t)n, sizeof(*types));

		if (!types)
			return -ENOMEM;
		s->types = types;
	}
	s->types[s->n_types++] = (struct type){hash, now_s};
	t->n_pairs++;
	return 0;
}

static int add_service(struct service_types *t, uint64_t hash, struct service **ret)
{
	struct service *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->hash = hash;
	HASH_ADD(hh, t->services, hash, sizeof(s->hash), s);
	if (!TABLE_ADDED(hh, s)) {
		free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

static int admit(struct service_types *t, uint64_t service, uint64_t type, uint32_t now_s)
{
	struct service *s;
	int r = 0;

	make_room(t, now_s);
	HASH_FIND(hh, t->services, &service, sizeof(service), s);
	for (uint32_t i = 0; s && i < s->n_types; i++) {
		if (s->types[i].hash == type) {
			s->types[i].seen_s = now_s;
			return 0;
		}
	}
	if (s && s->n_types >= SERVICE_TYPES_MAX)
		forget_old_types(t, s, now_s);
	if (s && s->n_types >= SERVICE_TYPES_MAX)
		return -EDQUOT;
	if (t->n_pairs >= SERVICE_TYPES_MAX_PAIRS || (!s && is_full(t)))
		return -ENOSPC;
	if (!s)
		r = add_service(t, service, &s);
	return r == 0 ? add_type(t, s, type, now_s) : r;
}

int service_types_admit(struct service_types *t, struct row_text service, struct row_text type,
			uint32_t now_s)
{
	uint64_t of_service = XXH3_64bits_withSeed(service.data, service.len, table_seed);
	uint64_t of_type = XXH3_64bits_withSeed(type.data, type.len, table_seed);
	int r;

	pthread_mutex_lock(&t->lock);
	r = admit(t, of_service, of_type, now_s);
	pthread_mutex_unlock(&t->lock);
	return r;
}
