/*
 * Secrets that the resource names but that do not exist are made once, and never changed again: a
 * key that agents have already must stay valid. They are read by name, one after the other; the
 * operator has no right to list Secrets.
 *
 * A key is added only to a Secret that an operator made. Whoever writes the resource chooses the
 * name, and may have no right to change the Secret of somebody else.
 */
#include <errno.h>

#include "cluster-agent/operator/reconcile/reconcile_state.h"
#include "cluster-agent/operator/reconcile/secret_maker.h"
#include "common/telemetry/log.h"

static const struct wanted_secret *current(const struct reconcile *rc)
{
	return &rc->rendered.secrets[rc->next_secret];
}

static void next_secret(struct reconcile *rc)
{
	rc->next_secret++;
	reconcile_secrets(rc);
}

static void on_written(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;

	rc->call = NULL;
	if (object_answer_read(result) == OBJECT_ANSWER_OK) {
		metric_add(&rc->cfg->metrics->m[OPERATOR_CHANGED], 1);
		log_info("made a secret key", "resource=%s secret=%s key=%s", rc->resource->key,
			 LOG_QUOTED(current(rc)->name), LOG_QUOTED(current(rc)->key));
	} else if (!reconcile_object_failed(rc, OBJECT_SECRET, current(rc)->name, result)) {
		return;
	}
	next_secret(rc);
}

static void write_secret(struct reconcile *rc, const json_t *existing)
{
	const struct object_reply reply = {on_written, rc, &rc->call};
	const struct wanted_secret *w = current(rc);
	const struct object_ref ref = {OBJECT_SECRET, rc->spec.namespace, w->name};
	json_t *body;
	int r = -ENOMEM;

	if (!rc->cfg->may_write(rc->cfg->ctx)) {
		reconcile_finish(rc, RECONCILE_RETRY);
		return;
	}
	body = secret_maker_body(&rc->spec, w, existing);
	if (body)
		r = existing ? object_request_merge(rc->cfg->client, &ref, body, &reply)
			     : object_request_create(rc->cfg->client, &ref, body, &reply);
	json_decref(body);
	if (r < 0)
		reconcile_give_up_errno(rc, "make a secret key", r);
}

static void leave_alone(struct reconcile *rc)
{
	const struct wanted_secret *w = current(rc);
	char text[400];

	snprintf(text, sizeof(text),
		 "has no key \"%s\" and was not made by coroot-operator: add the key, or name "
		 "another "
		 "Secret",
		 w->key);
	log_warn_limited("a Secret of somebody else lacks a key; leaving it alone",
			 "resource=%s secret=%s key=%s", rc->resource->key, LOG_QUOTED(w->name),
			 LOG_QUOTED(w->key));
	metric_add(&rc->cfg->metrics->m[OPERATOR_ERRORS_FOREIGN], 1);
	if (reconcile_note(rc, OBJECT_SECRET, w->name, text) < 0)
		reconcile_give_up_errno(rc, "make a secret key", -ENOMEM);
	else
		next_secret(rc);
}

static void on_secret(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	enum object_answer a = object_answer_read(result);
	bool lacks_key;
	json_t *secret = NULL;

	rc->call = NULL;
	if (a == OBJECT_ANSWER_OK)
		secret = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);
	lacks_key = secret && !secret_maker_has(secret, current(rc)->key);
	if (lacks_key && !secret_maker_may_add(secret))
		leave_alone(rc);
	else if (a == OBJECT_ANSWER_NONE || lacks_key)
		write_secret(rc, secret);
	else if (secret || reconcile_object_failed(rc, OBJECT_SECRET, current(rc)->name, result))
		next_secret(rc);
	json_decref(secret);
}

void reconcile_secrets(struct reconcile *rc)
{
	const struct object_reply reply = {on_secret, rc, &rc->call};
	struct object_ref ref = {OBJECT_SECRET, rc->spec.namespace, NULL};
	int r;

	if (rc->next_secret >= rc->rendered.n_secrets) {
		reconcile_apply(rc);
		return;
	}
	ref.name = current(rc)->name;
	r = object_request_get(rc->cfg->client, &ref, &reply);
	if (r == -EINVAL) /* a name that no Secret can have */
		r = reconcile_note(rc, OBJECT_SECRET, ref.name, "this is not a valid name");
	else if (r == 0)
		return;
	if (r < 0)
		reconcile_give_up_errno(rc, "read a secret", r);
	else
		next_secret(rc);
}
