/*
 * Deletes what no longer is asked for, one object after the other, and only if it has the uid that
 * we saw: an object that was made again meanwhile is another.
 *
 * What a resource has is known from the watches of its kinds, so a reconcile needs no lists. Only
 * what has our label is deleted: the Prometheus of Coroot's operator, say, has an owner reference
 * to the resource, but is not ours. Nothing is deleted while a field is wrong or an object could
 * not be applied: a typing error must not remove a store.
 *
 * Cluster-scoped objects cannot have a namespaced owner, so that the garbage collector leaves them.
 * When the resource is deleted they are looked for by lists, which show the present state, and our
 * finalizer holds the resource until they are gone.
 */
#include <errno.h>

#include "cluster-agent/operator/reconcile/reconcile_patch.h"
#include "cluster-agent/operator/reconcile/reconcile_state.h"
#include "common/telemetry/log.h"

/* ---- what is to be deleted ---- */

static int add_pruned(struct reconcile *rc, enum object_kind kind, const char *namespace,
		      const char *name, const char *uid)
{
	struct pruned_object *all, *p;

	if (strlen(namespace) >= sizeof(p->namespace) || strlen(name) >= sizeof(p->name) ||
	    strlen(uid) >= sizeof(p->uid))
		return -ENAMETOOLONG;
	all = realloc(rc->pruned, (rc->n_pruned + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	rc->pruned = all;
	p = &all[rc->n_pruned++];
	p->kind = kind;
	snprintf(p->namespace, sizeof(p->namespace), "%s", namespace);
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->uid, sizeof(p->uid), "%s", uid);
	return 0;
}

static bool is_rendered(const struct reconcile *rc, const struct known_object *k)
{
	for (size_t i = 0; i < rc->rendered.n_objects; i++) {
		const struct rendered_object *o = &rc->rendered.objects[i];

		if (o->kind == k->kind && strcmp(o->name, k->name) == 0 &&
		    strcmp(o->namespace ? o->namespace : "", k->namespace) == 0)
			return true;
	}
	return false;
}

static int collect(struct reconcile *rc)
{
	int r = 0;

	for (const struct known_object *k = rc->cfg->objects->objects; k && r == 0; k = k->hh.next)
		if (object_kinds[k->kind].pruned && k->labelled &&
		    strcmp(k->owner, rc->resource->uid) == 0 && !is_rendered(rc, k))
			r = add_pruned(rc, k->kind, k->namespace, k->name, k->uid);
	return r;
}

static int collect_list(struct reconcile *rc, const struct kube_result *result)
{
	json_t *list = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);
	int r = list ? 0 : -EBADMSG;
	const json_t *item;
	size_t i;

	json_array_foreach (json_object_get(list, "items"), i, item) {
		struct object_facts f;

		object_facts_read(&f, item);
		if (r == 0 && strcmp(f.owner, rc->resource->uid) == 0)
			r = add_pruned(rc, rc->deleted_kind, "", f.name, f.uid);
	}
	json_decref(list);
	return r;
}

/* ---- deleting ---- */

static void delete_next(struct reconcile *rc);

/* Whether the event of the deletion is to be expected, and no drift. */
static void set_leaving(struct reconcile *rc, const struct pruned_object *p, bool leaving)
{
	struct known_object *k =
		object_table_find(rc->cfg->objects, p->kind, p->namespace, p->name);

	if (k && strcmp(k->uid, p->uid) == 0)
		k->leaving = leaving;
}

static void on_deleted(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	enum object_answer a = object_answer_read(result);
	const struct pruned_object *p = &rc->pruned[rc->next_pruned];

	rc->call = NULL;
	if (a != OBJECT_ANSWER_OK)
		set_leaving(rc, p, false);
	/* 409: another uid */
	if (a == OBJECT_ANSWER_OK) {
		metric_add(&rc->cfg->metrics->m[OPERATOR_PRUNED], 1);
		log_info("deleted an object that is no longer asked for",
			 "resource=%s kind=%s name=%s", rc->resource->key,
			 object_kinds[p->kind].kind, p->name);
	} else if (a != OBJECT_ANSWER_NONE && a != OBJECT_ANSWER_CONFLICT &&
		   !reconcile_object_failed(rc, p->kind, p->name, result)) {
		return;
	}
	rc->next_pruned++;
	delete_next(rc);
}

static void look_for_more(struct reconcile *rc);

static void delete_next(struct reconcile *rc)
{
	const struct object_reply reply = {on_deleted, rc, &rc->call};
	const struct pruned_object *p = &rc->pruned[rc->next_pruned];
	int r;

	if (rc->next_pruned == rc->n_pruned) {
		if (rc->is_deleting)
			look_for_more(rc);
		else
			reconcile_pods(rc);
		return;
	}
	if (!rc->cfg->may_write(rc->cfg->ctx)) {
		reconcile_finish(rc, RECONCILE_RETRY);
		return;
	}
	r = object_request_delete(
		rc->cfg->client,
		&(struct object_ref){p->kind, p->namespace[0] ? p->namespace : NULL, p->name},
		p->uid, false, &reply);
	if (r < 0)
		reconcile_give_up_errno(rc, "delete an object", r);
	else
		set_leaving(rc, p, true);
}

void reconcile_prune(struct reconcile *rc)
{
	int r = collect(rc);

	if (rc->problems.wrong.n > 0 || rc->failed.wrong.n > 0) {
		rc->n_kept = rc->n_pruned;
		rc->n_pruned = 0;
	}
	if (r < 0)
		reconcile_give_up_errno(rc, "delete objects", r);
	else
		delete_next(rc);
}

/* ---- the end of a resource ---- */

static void on_finalizer_removed(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	enum object_answer a = object_answer_read(result);

	rc->call = NULL;
	if (a == OBJECT_ANSWER_OK || a == OBJECT_ANSWER_NONE) {
		log_info("cleaned up after a deleted Coroot resource", "resource=%s",
			 rc->resource->key);
		reconcile_finish(rc, RECONCILE_DONE);
	} else {
		reconcile_give_up(rc, "remove the finalizer", result);
	}
}

static void remove_finalizer(struct reconcile *rc)
{
	const struct object_reply reply = {on_finalizer_removed, rc, &rc->call};
	const struct coroot_ref ref = {rc->resource->namespace, rc->resource->name, false};
	json_t *body;
	int r;

	/* or nobody would see why the resource stays; without an operator it would stay for good */
	if (rc->failed.wrong.n > 0 && !rc->resource->leaves) {
		reconcile_write_status(rc);
		return;
	}
	if (!rc->cfg->may_write(rc->cfg->ctx)) {
		reconcile_finish(rc, RECONCILE_RETRY);
		return;
	}
	body = reconcile_patch_finalizers(rc->object, false);
	r = body ? coroot_request_merge(rc->cfg->client, &ref, body, &reply) : -ENOMEM;
	json_decref(body);
	if (r < 0)
		reconcile_give_up_errno(rc, "remove the finalizer", r);
}

static void on_list(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	int r;

	rc->call = NULL;
	if (object_answer_read(result) != OBJECT_ANSWER_OK) {
		if (!reconcile_object_failed(rc, rc->deleted_kind, "(list)", result))
			return;
		rc->deleted_kind++;
		look_for_more(rc);
		return;
	}
	r = collect_list(rc, result);
	rc->deleted_kind++;
	if (r < 0)
		reconcile_give_up_errno(rc, "list its cluster-scoped objects", r);
	else
		delete_next(rc);
}

/* The next kind whose objects nobody else deletes. */
static void look_for_more(struct reconcile *rc)
{
	const struct object_reply reply = {on_list, rc, &rc->call};
	int r;

	while (rc->deleted_kind < OBJECT_KIND_MAX && !object_kinds[rc->deleted_kind].cluster_scoped)
		rc->deleted_kind++;
	if (rc->deleted_kind == OBJECT_KIND_MAX) {
		remove_finalizer(rc);
		return;
	}
	r = object_request_list_owned(rc->cfg->client,
				      &(struct object_ref){rc->deleted_kind, NULL, NULL},
				      rc->resource->uid, &reply);
	if (r < 0)
		reconcile_give_up_errno(rc, "list its cluster-scoped objects", r);
}

void reconcile_delete_cluster_scoped(struct reconcile *rc)
{
	look_for_more(rc);
}
