/*
 * The steps of a reconcile, in the order in which they run:
 *
 *   read the resource → (finalizer) → parse → (is ClickHouse there?) → render → secrets →
 *   apply the objects → prune → status
 *
 * or, if it is being deleted, or its namespace with the operator in it: read the resource → parse →
 * keep claims → delete its cluster-scoped objects → finalizer.
 *
 * Each step sends a request, and the answer begins the next step; a step that ends the reconcile
 * frees it, so it is the last thing that a function does. Nothing is remembered between two
 * reconciles but when to try again: an operator that dies midway, or that stops leading, leaves
 * nothing that the next one does not find and finish.
 *
 * An object that the API server refuses is noted for the status, and the others are applied all
 * the same. If the API server cannot be reached, the reconcile ends at once.
 */
#include "cluster-agent/operator/reconcile/reconcile.h"

#include <errno.h>

#include "cluster-agent/operator/reconcile/reconcile_patch.h"
#include "cluster-agent/operator/reconcile/reconcile_state.h"
#include "cluster-agent/operator/render/rendered.h"
#include "common/system/clock.h"

#define CLICKHOUSE_NAME_BYTES 300 /* a name has 253 */

/* ---- the store that is there ---- */

static void render(struct reconcile *rc, bool clickhouse_is_there)
{
	const struct render_input in = {
		.spec = &rc->spec,
		.images = rc->cfg->images,
		.clickhouse_is_there = clickhouse_is_there,
	};
	int r = render_check(&in, &rc->problems);

	if (r == 0)
		r = render_coroot(&rc->rendered, &in);
	if (r < 0)
		reconcile_give_up_errno(rc, "make the objects", r);
	else
		reconcile_secrets(rc);
}

static bool has_text(const json_t *object, const char *key, const char *wanted)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s && strcmp(s, wanted) == 0;
}

/*
 * A claim of Coroot's operator, or one that was taken over from it: not one that a resource asked
 * us for. Whoever deletes it wants to be rid of ClickHouse.
 */
static bool is_upstreams(const char *body, size_t len)
{
	json_t *object = json_loadb(body, len, JSON_ALLOW_NUL, NULL);
	const json_t *m = json_object_get(object, "metadata");
	const char *label = json_string_value(
		json_object_get(json_object_get(m, "labels"), OBJECT_OWNER_LABEL));
	bool is =
		has_text(json_object_get(m, "labels"), "app.kubernetes.io/managed-by",
			 OBJECT_MANAGED_BY) &&
		!json_object_get(m, "deletionTimestamp") &&
		(!label || has_text(json_object_get(m, "annotations"), CLICKHOUSE_ADOPTED, "true"));

	json_decref(object);
	return is;
}

static void on_clickhouse(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	enum object_answer a = object_answer_read(result);

	rc->call = NULL;
	if (a == OBJECT_ANSWER_OK)
		render(rc, is_upstreams(result->body, result->body_len));
	else if (a == OBJECT_ANSWER_NONE)
		render(rc, false);
	else if (reconcile_object_failed(rc, OBJECT_PERSISTENT_VOLUME_CLAIM, rc->spec.name, result))
		reconcile_write_status(rc);
}

/*
 * Looks for the first claim of ClickHouse, not for its StatefulSet: claims stay while a StatefulSet
 * is made again, when somebody deletes it, and in modes without ClickHouse.
 */
static void find_clickhouse(struct reconcile *rc)
{
	const struct object_reply reply = {on_clickhouse, rc, &rc->call};
	char name[CLICKHOUSE_NAME_BYTES];
	int r;

	if (rc->spec.coroot_url || rc->spec.external_clickhouse.address) {
		render(rc, false);
		return;
	}
	snprintf(name, sizeof(name), CLICKHOUSE_FIRST_CLAIM, rc->spec.name);
	r = object_request_get(
		rc->cfg->client,
		&(struct object_ref){OBJECT_PERSISTENT_VOLUME_CLAIM, rc->spec.namespace, name},
		&reply);
	if (r == -EINVAL) /* too long a name, so that there is none; render_check() reports it */
		render(rc, false);
	else if (r < 0)
		reconcile_give_up_errno(rc, "look for ClickHouse", r);
}

/* ---- the resource ---- */

static void parse(struct reconcile *rc)
{
	int r = coroot_spec_parse(&rc->spec, rc->object, &rc->problems);

	if (r < 0)
		reconcile_give_up_errno(rc, "read the resource", r);
	else
		find_clickhouse(rc);
}

/* Takes the resource out of an answer. */
static bool take_object(struct reconcile *rc, const struct kube_result *result)
{
	json_t *object = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);

	if (!object)
		return false;
	json_decref(rc->object);
	rc->object = object;
	return true;
}

static void on_finalizer(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;

	rc->call = NULL;
	if (object_answer_read(result) != OBJECT_ANSWER_OK)
		reconcile_give_up(rc, "add the finalizer", result);
	else if (!take_object(rc, result))
		reconcile_give_up_errno(rc, "add the finalizer", -EBADMSG);
	else
		parse(rc);
}

static void add_finalizer(struct reconcile *rc)
{
	const struct object_reply reply = {on_finalizer, rc, &rc->call};
	const struct coroot_ref ref = {rc->resource->namespace, rc->resource->name, false};
	json_t *body = reconcile_patch_finalizers(rc->object, true);
	int r = body ? coroot_request_merge(rc->cfg->client, &ref, body, &reply) : -ENOMEM;

	json_decref(body);
	if (r < 0)
		reconcile_give_up_errno(rc, "add the finalizer", r);
}

static void on_resource(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	enum object_answer a = object_answer_read(result);
	struct object_facts f;
	bool finalizer;

	rc->call = NULL;
	if (a != OBJECT_ANSWER_OK && a != OBJECT_ANSWER_NONE) {
		reconcile_give_up(rc, "read the resource", result);
		return;
	}
	if (a == OBJECT_ANSWER_OK && !take_object(rc, result)) {
		reconcile_give_up_errno(rc, "read the resource", -EBADMSG);
		return;
	}
	object_facts_read(&f, rc->object);
	finalizer = reconcile_patch_has_finalizer(rc->object);
	/* the events of the watch come later, and are not needed */
	if (a == OBJECT_ANSWER_NONE || strcmp(f.uid, rc->resource->uid) != 0)
		reconcile_finish(rc, RECONCILE_GONE);
	else if (!rc->cfg->may_write(rc->cfg->ctx))
		reconcile_finish(rc, RECONCILE_RETRY);
	else if ((f.deleting || rc->resource->leaves) && finalizer)
		reconcile_delete(rc);
	else if (f.deleting || rc->resource->leaves)
		reconcile_finish(rc, RECONCILE_DONE);
	else if (finalizer)
		parse(rc);
	else
		add_finalizer(rc);
}

int reconcile_start(struct reconcile **ret, const struct reconcile_config *cfg, struct resource *r)
{
	struct reconcile *rc = calloc(1, sizeof(*rc));
	int e;

	if (!rc)
		return -ENOMEM;
	rc->cfg = cfg;
	rc->resource = r;
	rc->started_ns = clock_monotonic_ns();
	e = coroot_request_get(cfg->client, r->namespace, r->name,
			       &(struct object_reply){on_resource, rc, &rc->call});
	if (e < 0) {
		reconcile_cancel(rc);
		return e;
	}
	*ret = rc;
	return 0;
}
