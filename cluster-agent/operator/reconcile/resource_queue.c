#include "cluster-agent/operator/reconcile/resource_queue.h"

#include <errno.h>

#define KEY_BYTES 512 /* names of namespaces have 63 bytes, of resources 253 */

static void free_resource(struct resource_queue *q, struct resource *r)
{
	HASH_DEL(q->by_key, r);
	if (!r->unlinked)
		HASH_DELETE(by_uid, q->by_uid, r);
	q->n--;
	free(r->key);
	free(r->namespace);
	free(r);
}

void resource_queue_fini(struct resource_queue *q)
{
	struct resource *r, *next;

	HASH_ITER(hh, q->by_key, r, next)
	{
		free_resource(q, r);
	}
	*q = (struct resource_queue){.random = q->random};
}

static struct resource *find(struct resource_queue *q, const char *namespace, const char *name)
{
	char key[KEY_BYTES];
	struct resource *r = NULL;

	snprintf(key, sizeof(key), "%s/%s", namespace, name);
	HASH_FIND_STR(q->by_key, key, r);
	return r;
}

struct resource *resource_queue_find_uid(struct resource_queue *q, const char *uid)
{
	struct resource *r = NULL;

	HASH_FIND(by_uid, q->by_uid, uid, strlen(uid), r);
	return r;
}

/* Due at at_ns, unless it is due sooner. */
static void set_due(struct resource *r, uint64_t at_ns)
{
	uint64_t *due_ns = r->running ? &r->again_ns : &r->due_ns;

	if (at_ns < *due_ns)
		*due_ns = at_ns;
}

static uint64_t next_seed(struct resource_queue *q)
{
	q->random = q->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return q->random;
}

static int fill(struct resource_queue *q, struct resource *r, const char *namespace,
		const char *name, const char *uid)
{
	r->namespace = strdup(namespace);
	if (asprintf(&r->key, "%s/%s", namespace, name) < 0)
		r->key = NULL;
	if (!r->key || !r->namespace)
		return -ENOMEM;
	r->name = r->key + strlen(namespace) + 1;
	snprintf(r->uid, sizeof(r->uid), "%s", uid);
	r->due_ns = UINT64_MAX;
	r->again_ns = UINT64_MAX;
	r->retries = (struct backoff){RESOURCE_RETRY_NS, RESOURCE_RETRY_MAX_NS, 0, next_seed(q)};
	r->drifts = (struct backoff){RESOURCE_CHANGE_NS, RESOURCE_DRIFT_MAX_NS, 0, next_seed(q)};
	r->waits = (struct backoff){RESOURCE_WAIT_NS, RESOURCE_WAIT_MAX_NS, 0, next_seed(q)};
	return 0;
}

static int link_in(struct resource_queue *q, struct resource *r)
{
	HASH_ADD_KEYPTR(hh, q->by_key, r->key, strlen(r->key), r);
	if (!TABLE_ADDED(hh, r))
		return -ENOMEM;
	HASH_ADD_KEYPTR(by_uid, q->by_uid, r->uid, strlen(r->uid), r);
	if (!TABLE_ADDED(by_uid, r)) {
		HASH_DEL(q->by_key, r);
		return -ENOMEM;
	}
	q->n++;
	return 0;
}

static int add(struct resource_queue *q, const char *namespace, const char *name, const char *uid,
	       struct resource **ret)
{
	struct resource *r;
	int e;

	if (q->n >= RESOURCES_MAX)
		return -ENOSPC;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	e = fill(q, r, namespace, name, uid);
	if (e == 0)
		e = link_in(q, r);
	if (e < 0) {
		free(r->key);
		free(r->namespace);
		free(r);
		return e;
	}
	*ret = r;
	return 0;
}

static void forget(struct resource_queue *q, struct resource *r)
{
	if (r->running)
		r->gone = true;
	else
		free_resource(q, r);
}

int resource_queue_put(struct resource_queue *q, const char *namespace, const char *name,
		       const char *uid, uint64_t digest, uint64_t now_ns)
{
	struct resource *r = find(q, namespace, name);
	bool is_new;
	int e;

	if (!uid[0] || strlen(uid) >= RESOURCE_UID_BYTES ||
	    strlen(namespace) + strlen(name) + 2 > KEY_BYTES)
		return -EINVAL;
	/* deleted and made again between two events */
	is_new = r && strcmp(r->next_uid[0] ? r->next_uid : r->uid, uid) != 0;
	if (is_new && !r->running) {
		free_resource(q, r);
		r = NULL;
	}
	if (!r) {
		e = add(q, namespace, name, uid, &r);
		if (e < 0)
			return e;
	} else if (is_new) {
		snprintf(r->next_uid, sizeof(r->next_uid), "%s", uid);
	} else if (r->digest == digest && !r->gone) {
		r->listed = true;
		return 0;
	}
	r->gone = false;
	r->listed = true;
	r->digest = digest;
	backoff_reset(&r->retries);
	backoff_reset(&r->waits);
	r->failing = false;
	set_due(r, now_ns + RESOURCE_CHANGE_NS);
	return 0;
}

void resource_queue_remove(struct resource_queue *q, const char *namespace, const char *name)
{
	struct resource *r = find(q, namespace, name);

	if (r)
		forget(q, r);
}

void resource_queue_list_begin(struct resource_queue *q)
{
	for (struct resource *r = q->by_key; r; r = r->hh.next)
		r->listed = false;
}

void resource_queue_list_end(struct resource_queue *q)
{
	struct resource *r, *next;

	HASH_ITER(hh, q->by_key, r, next)
	{
		if (!r->listed)
			forget(q, r);
	}
}

/*
 * One that fails is tried again anyway, and what it does may be what we see. While it runs, this
 * time it may succeed.
 */
static bool waits_for_retry(const struct resource *r)
{
	return r->failing && !r->running;
}

void resource_queue_drifted(struct resource *r, uint64_t now_ns)
{
	if (waits_for_retry(r))
		return;
	if (r->drifted_ns + RESOURCE_CALM_NS < now_ns)
		backoff_reset(&r->drifts);
	/* several at once count as one */
	if (r->drifted)
		return;
	r->drifted = true;
	r->drifted_ns = now_ns;
	set_due(r, now_ns + backoff_next_ns(&r->drifts));
}

void resource_queue_progressed(struct resource *r, uint64_t now_ns)
{
	if (!waits_for_retry(r))
		set_due(r, now_ns + RESOURCE_PROGRESS_NS);
}

struct resource *resource_queue_next(struct resource_queue *q, uint64_t now_ns)
{
	struct resource *best = NULL;

	for (struct resource *r = q->by_key; r; r = r->hh.next)
		if (!r->running && r->due_ns <= now_ns && (!best || r->due_ns < best->due_ns))
			best = r;
	if (best) {
		best->running = true;
		best->leaves = best->must_leave;
		best->drifted = false;
		best->again_ns = UINT64_MAX;
		best->due_ns = UINT64_MAX;
	}
	return best;
}

void resource_queue_leave(struct resource_queue *q, const char *namespace, uint64_t now_ns)
{
	for (struct resource *r = q->by_key; r; r = r->hh.next) {
		if (strcmp(r->namespace, namespace) != 0)
			continue;
		r->must_leave = true;
		set_due(r, now_ns);
	}
}

bool resource_queue_is_leaving(const struct resource_queue *q)
{
	for (const struct resource *r = q->by_key; r; r = r->hh.next)
		if (r->must_leave && !r->has_left && !r->gone)
			return true;
	return false;
}

uint64_t resource_queue_next_ns(const struct resource_queue *q)
{
	uint64_t at_ns = UINT64_MAX;

	for (const struct resource *r = q->by_key; r; r = r->hh.next)
		if (!r->running && r->due_ns < at_ns)
			at_ns = r->due_ns;
	return at_ns;
}

static void take_next_uid(struct resource_queue *q, struct resource *r)
{
	if (!r->unlinked)
		HASH_DELETE(by_uid, q->by_uid, r);
	snprintf(r->uid, sizeof(r->uid), "%s", r->next_uid);
	r->next_uid[0] = '\0';
	HASH_ADD_KEYPTR(by_uid, q->by_uid, r->uid, strlen(r->uid), r);
	r->unlinked = !TABLE_ADDED(by_uid, r);
}

/* Until the next reconcile, if nothing happens. */
static uint64_t wait_after(struct resource *r, enum reconcile_outcome outcome)
{
	if (outcome == RECONCILE_RETRY)
		return backoff_next_ns(&r->retries);
	backoff_reset(&r->retries);
	if (outcome == RECONCILE_WAITS)
		return backoff_next_ns(&r->waits);
	backoff_reset(&r->waits);
	return RESOURCE_RESYNC_NS;
}

void resource_queue_done(struct resource_queue *q, struct resource *r,
			 enum reconcile_outcome outcome, uint64_t now_ns)
{
	r->running = false;
	r->work = NULL;
	if (r->gone || (outcome == RECONCILE_GONE && r->again_ns == UINT64_MAX)) {
		free_resource(q, r);
		return;
	}
	if (r->leaves && outcome != RECONCILE_RETRY)
		r->has_left = true;
	if (r->next_uid[0])
		take_next_uid(q, r);
	r->failing = outcome == RECONCILE_RETRY;
	r->due_ns = now_ns + wait_after(r, outcome);
	if (!r->failing && r->again_ns < r->due_ns)
		r->due_ns = r->again_ns;
	r->again_ns = UINT64_MAX;
}
