/*
 * The claims of a resource that is being deleted. They have an owner reference unless the resource
 * says reclaimPolicy: Retain, and the garbage collector follows that reference, not the resource.
 * Somebody who sets Retain and deletes the resource at once, or while no operator runs, wants to
 * keep the data: so the references go before the finalizer does. This includes claims of replicas
 * and modes that the resource no longer asks for.
 */
#include "cluster-agent/operator/reconcile/reconcile_patch.h"
#include "cluster-agent/operator/reconcile/reconcile_state.h"
#include "cluster-agent/operator/render/rendered.h"

#include <errno.h>

static void next_claim(struct reconcile *rc);

static const json_t *current(const struct reconcile *rc)
{
	return json_array_get(json_object_get(rc->claims, "items"), rc->next_claim);
}

static bool is_retained(const struct coroot_spec *s, const json_t *claim)
{
	const json_t *labels = json_object_get(json_object_get(claim, "metadata"), "labels");
	const char *component =
		json_string_value(json_object_get(labels, "app.kubernetes.io/component"));
	const struct {
		const char *component;
		bool retain;
	} all[] = {
		{"coroot", s->server_storage.retain},
		{"clickhouse", s->clickhouse.storage.retain},
		{"clickhouse-keeper", s->clickhouse.keeper.storage.retain},
	};

	for (size_t i = 0; component && i < ARRAY_SIZE(all); i++)
		if (strcmp(component, all[i].component) == 0)
			return all[i].retain;
	return false;
}

static void on_released(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	enum object_answer a = object_answer_read(result);
	struct object_facts f;

	rc->call = NULL;
	object_facts_read(&f, current(rc));
	if (a != OBJECT_ANSWER_OK && a != OBJECT_ANSWER_NONE &&
	    !reconcile_object_failed(rc, OBJECT_PERSISTENT_VOLUME_CLAIM, f.name, result))
		return;
	rc->next_claim++;
	next_claim(rc);
}

static int release(struct reconcile *rc, json_t *body)
{
	const struct object_reply reply = {on_released, rc, &rc->call};
	struct object_facts f;

	object_facts_read(&f, current(rc));
	return object_request_merge(
		rc->cfg->client,
		&(struct object_ref){OBJECT_PERSISTENT_VOLUME_CLAIM, f.namespace, f.name}, body,
		&reply);
}

static void next_claim(struct reconcile *rc)
{
	json_t *body = NULL;
	int r = 0;

	for (; r == 0 && !body && current(rc); rc->next_claim += !body)
		if (is_retained(&rc->spec, current(rc)))
			r = reconcile_patch_release(&body, current(rc), rc->resource->uid);
	if (r == 0 && body && !rc->cfg->may_write(rc->cfg->ctx)) {
		json_decref(body);
		reconcile_finish(rc, RECONCILE_RETRY);
		return;
	}
	if (r == 0 && body)
		r = release(rc, body);
	if (r < 0)
		reconcile_give_up_errno(rc, "keep its claims", r);
	else if (!body)
		reconcile_delete_cluster_scoped(rc);
	json_decref(body);
}

static void on_claims(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;

	rc->call = NULL;
	if (object_answer_read(result) != OBJECT_ANSWER_OK) {
		if (reconcile_object_failed(rc, OBJECT_PERSISTENT_VOLUME_CLAIM, "(list)", result))
			reconcile_delete_cluster_scoped(rc);
		return;
	}
	rc->claims = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);
	if (rc->claims)
		next_claim(rc);
	else
		reconcile_give_up_errno(rc, "keep its claims", -EBADMSG);
}

void reconcile_delete(struct reconcile *rc)
{
	const struct object_reply reply = {on_claims, rc, &rc->call};
	const struct object_ref claims = {OBJECT_PERSISTENT_VOLUME_CLAIM, rc->resource->namespace,
					  NULL};
	int r = coroot_spec_parse(&rc->spec, rc->object, &rc->problems);

	rc->is_deleting = true;
	if (r == 0)
		r = object_request_list_owned(rc->cfg->client, &claims, rc->resource->uid, &reply);
	if (r < 0)
		reconcile_give_up_errno(rc, "keep its claims", r);
}
