#include "cluster-agent/ingest/service_types.h"

#include <errno.h>
#include <pthread.h>
#include <utlist.h>

#include "common/data/table.h"

#define HOUR_S 3600u

struct type {
	uint64_t hash;
	uint32_t seen_s;
};

struct service {
	uint64_t hash;
	struct type *types;
	uint32_t n_types;
	uint32_t seen_s;
	struct service *prev, *next; /* by time of the last profile */
	UT_hash_handle hh;
};

struct service_types {
	pthread_mutex_t lock;
	struct service *services; /* by hash */
	struct service *unseen;   /* the same, the longest unseen first */
	size_t n_pairs;
	uint32_t keep_s;
	uint32_t hour;      /* of the last eviction */
	uint32_t n_evicted; /* in that hour, before they expired */
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
	DL_DELETE(t->unseen, s);
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
static bool has_expired(const struct service_types *t, uint32_t seen_s, uint32_t now_s)
{
	return now_s > seen_s && now_s - seen_s > t->keep_s;
}

static void forget_old_types(struct service_types *t, struct service *s, uint32_t now_s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_types; i++) {
		if (!has_expired(t, s->types[i].seen_s, now_s))
			s->types[n++] = s->types[i];
	}
	t->n_pairs -= s->n_types - n;
	s->n_types = n;
}

/*
 * Forgets the service that was not seen for the longest time. Returns -ENOSPC if too many were
 * forgotten in this hour: then the table is full of services that send.
 */
static int evict(struct service_types *t, uint32_t now_s)
{
	struct service *s = t->unseen;

	if (t->hour != now_s / HOUR_S) {
		t->hour = now_s / HOUR_S;
		t->n_evicted = 0;
	}
	if (!has_expired(t, s->seen_s, now_s)) {
		if (t->n_evicted >= SERVICE_TYPES_MAX_EVICTED)
			return -ENOSPC;
		t->n_evicted++;
	}
	remove_service(t, s);
	return 0;
}

/* Makes room for a type of the service, NULL if it is new. */
static int make_room(struct service_types *t, struct service *of, uint32_t now_s)
{
	int r = 0;

	/* so that it is not the one to be forgotten */
	if (of) {
		DL_DELETE(t->unseen, of);
		DL_APPEND(t->unseen, of);
	}
	if (!of && HASH_COUNT(t->services) >= SERVICE_TYPES_MAX_SERVICES)
		r = evict(t, now_s);
	while (r == 0 && t->n_pairs >= SERVICE_TYPES_MAX_PAIRS)
		r = evict(t, now_s);
	return r;
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
	DL_APPEND(t->unseen, s);
	*ret = s;
	return 0;
}

static struct type *find_type(struct service *s, uint64_t hash)
{
	for (uint32_t i = 0; s && i < s->n_types; i++) {
		if (s->types[i].hash == hash)
			return &s->types[i];
	}
	return NULL;
}

static int admit(struct service_types *t, uint64_t service, uint64_t type, uint32_t now_s)
{
	struct type *known;
	struct service *s;
	int r;

	HASH_FIND(hh, t->services, &service, sizeof(service), s);
	known = find_type(s, type);
	if (!known && s && s->n_types >= SERVICE_TYPES_MAX) {
		forget_old_types(t, s, now_s);
		if (s->n_types >= SERVICE_TYPES_MAX)
			return -EDQUOT;
	}
	r = known ? 0 : make_room(t, s, now_s);
	if (r == 0 && !s)
		r = add_service(t, service, &s);
	if (r == 0 && !known)
		r = add_type(t, s, type, now_s);
	if (r < 0)
		return r;
	if (known)
		known->seen_s = now_s;
	s->seen_s = now_s;
	DL_DELETE(t->unseen, s);
	DL_APPEND(t->unseen, s);
	return 0;
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
