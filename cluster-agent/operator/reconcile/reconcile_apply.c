/*
 * Applies the rendered objects, a few at a time, kind after kind: what an object refers to
 * (accounts, Secrets, claims) is there before it.
 *
 * An object that no watch has shown to be ours is read first: one that somebody else made under the
 * same name is left alone and reported, and one of Coroot's operator is taken over. Between the
 * read and the apply somebody may still make one; a create that fails if it exists would be no
 * better, since the next reconcile would find it in place and not know who made it. A claim is read
 * every time, for its size.
 *
 * A StatefulSet, Deployment or DaemonSet in which a field differs that cannot be changed is deleted
 * without its pods. It is gone when the garbage collector has dealt with them; the event of that
 * brings the next reconcile, which makes it again and adopts the pods.
 *
 * Node agents are not replaced together with what they send to. If an upgrade has changed a
 * Deployment or StatefulSet of a resource that was ready, the DaemonSet stays as it is until their
 * pods are replaced and ready, for ten minutes at most: longer than that, an agent with a mistake
 * would wait for a server that does not start.
 */
#include <errno.h>

#include "cluster-agent/operator/reconcile/reconcile_patch.h"
#include "cluster-agent/operator/reconcile/reconcile_state.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

#define AT_ONCE 4u
#define HOLD_NS (600 * NS_PER_S)
#define MAX_TRIES 3u

static int apply(struct object_work *w);
static void start_more(struct reconcile *rc);

static const struct rendered_object *object_of(const struct object_work *w)
{
	return &w->rc->rendered.objects[w->index];
}

static struct object_ref ref_of(const struct rendered_object *o)
{
	return (struct object_ref){o->kind, o->namespace, o->name};
}

/* The object is dealt with, in one way or another. */
static void finish_work(struct object_work *w)
{
	w->rc->n_busy--;
	start_more(w->rc);
}

static void fail(struct object_work *w, const struct kube_result *result)
{
	const struct rendered_object *o = object_of(w);

	if (reconcile_object_failed(w->rc, o->kind, o->name, result))
		finish_work(w);
}

/* r is what the function returned that should have sent a request. */
static void check_sent(struct object_work *w, int r)
{
	if (r == -ECANCELED)
		reconcile_finish(w->rc, RECONCILE_RETRY);
	else if (r < 0)
		reconcile_give_up_errno(w->rc, "apply objects", r);
}

/* ---- apply ---- */

static bool is_workload(enum object_kind kind)
{
	return kind == OBJECT_STATEFUL_SET || kind == OBJECT_DEPLOYMENT ||
	       kind == OBJECT_DAEMON_SET;
}

static void take_applied(struct object_work *w, const json_t *object)
{
	const struct rendered_object *o = object_of(w);
	struct reconcile *rc = w->rc;

	w->has_pods = workload_state_read(&w->pods, o->kind, object);
	/* Secrets are not watched, so the table would not learn that one is deleted */
	if (o->kind == OBJECT_SECRET)
		return;
	/* without memory, the event of this write is taken for a drift: one more reconcile */
	if (object_table_wrote(rc->cfg->objects, o->kind, object) != 1)
		return;
	rc->replaces |= o->kind == OBJECT_STATEFUL_SET || o->kind == OBJECT_DEPLOYMENT;
	metric_add(&rc->cfg->metrics->m[OPERATOR_CHANGED], 1);
	log_debug("applied an object", "resource=%s kind=%s name=%s", rc->resource->key,
		  object_kinds[o->kind].kind, o->name);
}

static void on_orphaned(void *ctx, const struct kube_result *result)
{
	struct object_work *w = ctx;
	enum object_answer a = object_answer_read(result);
	const struct rendered_object *o = object_of(w);

	w->call = NULL;
	if (a != OBJECT_ANSWER_OK && a != OBJECT_ANSWER_NONE && a != OBJECT_ANSWER_CONFLICT) {
		fail(w, result);
		return;
	}
	metric_add(&w->rc->cfg->metrics->m[OPERATOR_RECREATED], 1);
	log_info("deleted a workload without its pods, to make it again with fields that cannot be "
		 "changed",
		 "resource=%s kind=%s name=%s", w->rc->resource->key, object_kinds[o->kind].kind,
		 o->name);
	w->rc->retry = true;
	finish_work(w);
}

static void on_read_to_recreate(void *ctx, const struct kube_result *result)
{
	struct object_work *w = ctx;
	const struct object_reply reply = {on_orphaned, w, &w->call};
	const struct object_ref ref = ref_of(object_of(w));
	json_t *object = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);
	struct object_facts f;
	int r = 0;

	w->call = NULL;
	object_facts_read(&f, object);
	if (object_answer_read(result) != OBJECT_ANSWER_OK || !f.uid[0]) {
		json_decref(object);
		fail(w, result);
		return;
	}
	w->rc->retry = true;
	if (!f.deleting && w->rc->cfg->may_write(w->rc->cfg->ctx))
		r = object_request_delete(w->rc->cfg->client, &ref, f.uid, true, &reply);
	json_decref(object);
	if (r < 0)
		check_sent(w, r);
	else if (!w->call)
		finish_work(w);
}

static void recreate(struct object_work *w)
{
	const struct object_reply reply = {on_read_to_recreate, w, &w->call};
	const struct object_ref ref = ref_of(object_of(w));

	check_sent(w, object_request_get(w->rc->cfg->client, &ref, &reply));
}

static void on_applied(void *ctx, const struct kube_result *result)
{
	struct object_work *w = ctx;
	json_t *object = NULL;

	w->call = NULL;
	switch (object_answer_read(result)) {
	case OBJECT_ANSWER_OK:
		object = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);
		if (!object) {
			check_sent(w, -EBADMSG);
			return;
		}
		take_applied(w, object);
		json_decref(object);
		finish_work(w);
		return;
	case OBJECT_ANSWER_IMMUTABLE:
		if (is_workload(object_of(w)->kind))
			recreate(w);
		else
			fail(w, result);
		return;
	case OBJECT_ANSWER_CONFLICT:
		if (w->n_tries < MAX_TRIES)
			check_sent(w, apply(w));
		else
			fail(w, result);
		return;
	default:
		fail(w, result);
	}
}

/* Returns -ECANCELED if this operator no longer leads. */
static int apply(struct object_work *w)
{
	const struct object_reply reply = {on_applied, w, &w->call};
	const struct rendered_object *o = object_of(w);
	const struct object_ref ref = ref_of(o);

	if (!w->rc->cfg->may_write(w->rc->cfg->ctx))
		return -ECANCELED;
	w->n_tries++;
	return object_request_apply(w->rc->cfg->client, &ref, o->body, &reply);
}

/* ---- what is there ---- */

static void on_taken_over(void *ctx, const struct kube_result *result)
{
	struct object_work *w = ctx;

	w->call = NULL;
	if (object_answer_read(result) == OBJECT_ANSWER_OK)
		check_sent(w, apply(w));
	else
		fail(w, result);
}

static int take_over(struct object_work *w, const json_t *object)
{
	const struct object_reply reply = {on_taken_over, w, &w->call};
	const struct object_ref ref = ref_of(object_of(w));
	json_t *body = reconcile_patch_take_over(object);
	int r = -ECANCELED;

	if (w->rc->cfg->may_write(w->rc->cfg->ctx))
		r = body ? object_request_merge(w->rc->cfg->client, &ref, body, &reply) : -ENOMEM;
	json_decref(body);
	return r;
}

static bool belongs_to_another(struct reconcile *rc, const char *owner)
{
	return owner[0] && strcmp(owner, rc->resource->uid) != 0 &&
	       rc->cfg->resource_lives(rc->cfg->ctx, owner);
}

static void leave_alone(struct object_work *w, const char *why)
{
	const struct rendered_object *o = object_of(w);

	metric_add(&w->rc->cfg->metrics->m[OPERATOR_ERRORS_FOREIGN], 1);
	log_warn_limited("an object of this name belongs to somebody else; leaving it alone",
			 "resource=%s kind=%s name=%s", w->rc->resource->key,
			 object_kinds[o->kind].kind, o->name);
	if (reconcile_note(w->rc, o->kind, o->name, why) < 0)
		check_sent(w, -ENOMEM);
	else
		finish_work(w);
}

/* The name of the resource and what is appended to it are too long together. */
static void leave_nameless(struct object_work *w)
{
	const struct rendered_object *o = object_of(w);

	if (reconcile_note(w->rc, o->kind, o->name, "this is not a valid name") < 0)
		check_sent(w, -ENOMEM);
	else
		finish_work(w);
}

static void judge(struct object_work *w, const json_t *object)
{
	enum object_holder holder = reconcile_patch_holder(object, w->rc->resource->uid);
	const struct rendered_object *o = object_of(w);
	struct object_facts f;

	object_facts_read(&f, object);
	if (o->kind == OBJECT_PERSISTENT_VOLUME_CLAIM &&
	    reconcile_patch_keep_size(o->body, object) < 0)
		check_sent(w, -ENOMEM);
	else if (holder == OBJECT_HOLDER_FOREIGN)
		leave_alone(w, "exists and is not managed by coroot-operator: rename or delete it");
	else if (belongs_to_another(w->rc, f.owner))
		leave_alone(w, "exists and belongs to another Coroot resource: rename one of them");
	else
		check_sent(w, holder == OBJECT_HOLDER_UPSTREAM ? take_over(w, object) : apply(w));
}

static void on_looked(void *ctx, const struct kube_result *result)
{
	struct object_work *w = ctx;
	enum object_answer a = object_answer_read(result);
	json_t *object;

	w->call = NULL;
	if (a == OBJECT_ANSWER_NONE) {
		check_sent(w, apply(w));
		return;
	}
	if (a != OBJECT_ANSWER_OK) {
		fail(w, result);
		return;
	}
	object = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);
	if (object)
		judge(w, object);
	else
		check_sent(w, -EBADMSG);
	json_decref(object);
}

static int look(struct object_work *w)
{
	const struct object_reply reply = {on_looked, w, &w->call};
	const struct object_ref ref = ref_of(object_of(w));

	return object_request_get(w->rc->cfg->client, &ref, &reply);
}

/*
 * An event has shown that it belongs to this resource, and was written by us before. What is
 * applied to a claim depends on its size.
 */
static bool may_apply(const struct object_work *w)
{
	const struct rendered_object *o = object_of(w);
	const struct known_object *k =
		object_table_find(w->rc->cfg->objects, o->kind, o->namespace, o->name);

	return k && k->applied && strcmp(k->owner, w->rc->resource->uid) == 0 &&
	       o->kind != OBJECT_PERSISTENT_VOLUME_CLAIM;
}

/* ---- order ---- */

/* The next object of the present kind, or NULL. */
static struct object_work *next_work(struct reconcile *rc)
{
	for (size_t i = 0; i < rc->rendered.n_objects; i++)
		if (!rc->works[i].started && rc->rendered.objects[i].kind == rc->kind)
			return &rc->works[i];
	return NULL;
}

static bool was_ready(const struct reconcile *rc)
{
	const json_t *ready = object_condition(json_object_get(rc->object, "status"), "Ready");
	const char *status = json_string_value(json_object_get(ready, "status"));

	return status && strcmp(status, "True") == 0;
}

/* Whether no workload that has been applied still replaces pods. */
static bool is_all_replaced(const struct reconcile *rc)
{
	for (size_t i = 0; i < rc->rendered.n_objects; i++) {
		const struct workload_state *pods = &rc->works[i].pods;

		if (rc->works[i].has_pods && !pods->by_hand &&
		    (!workload_is_ready(pods) || pods->updated < pods->wanted))
			return false;
	}
	return true;
}

/* Whether a node agent that runs already waits for what it sends to. */
static bool is_held(const struct object_work *w)
{
	struct reconcile *rc = w->rc;
	struct resource *r = rc->resource;
	uint64_t now_ns = clock_monotonic_ns();

	if (object_of(w)->kind != OBJECT_DAEMON_SET)
		return false;
	if (rc->replaces && r->hold_until_ns == 0 && was_ready(rc))
		r->hold_until_ns = now_ns + HOLD_NS;
	if (now_ns >= r->hold_until_ns || is_all_replaced(rc)) {
		r->hold_until_ns = 0;
		rc->replaces = false;
	}
	return r->hold_until_ns > 0 && may_apply(w);
}

static void start_more(struct reconcile *rc)
{
	struct object_work *w = next_work(rc);
	int r;

	while (!w && rc->n_busy == 0 && rc->kind < OBJECT_KIND_MAX) {
		rc->kind++;
		w = next_work(rc);
	}
	if (rc->kind == OBJECT_KIND_MAX) {
		reconcile_prune(rc);
		return;
	}
	for (; w && rc->n_busy < AT_ONCE; w = next_work(rc)) {
		w->started = true;
		rc->n_busy++;
		if (is_held(w)) {
			rc->n_held++;
			finish_work(w);
			return;
		}
		r = may_apply(w) ? apply(w) : look(w);
		if (r == -EINVAL) {
			leave_nameless(w);
			return;
		}
		if (r < 0) {
			check_sent(w, r);
			return;
		}
	}
}

void reconcile_apply(struct reconcile *rc)
{
	size_t n = rc->rendered.n_objects + 1;

	rc->works = calloc(n, sizeof(*rc->works));
	rc->workloads = calloc(n, sizeof(*rc->workloads));
	if (!rc->works || !rc->workloads) {
		reconcile_give_up_errno(rc, "apply objects", -ENOMEM);
		return;
	}
	for (size_t i = 0; i < rc->rendered.n_objects; i++)
		rc->works[i] = (struct object_work){.rc = rc, .index = i};
	start_more(rc);
}
