/*
 * How a reconcile ends, from whatever step: with its status written, to be tried again, or
 * cancelled. Each of these frees it.
 */
#include <errno.h>

#include "cluster-agent/operator/reconcile/reconcile_events.h"
#include "cluster-agent/operator/reconcile/reconcile_state.h"
#include "cluster-agent/operator/reconcile/reconcile_status.h"
#include "common/kubernetes/kube_status.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

/* ---- end ---- */

void reconcile_cancel(struct reconcile *rc)
{
	if (!rc)
		return;
	kube_call_cancel(rc->call);
	for (size_t i = 0; rc->works && i < rc->rendered.n_objects; i++)
		kube_call_cancel(rc->works[i].call);
	free(rc->pruned);
	free(rc->works);
	free(rc->workloads);
	rendered_fini(&rc->rendered);
	coroot_spec_fini(&rc->spec);
	spec_problems_fini(&rc->problems);
	spec_problems_fini(&rc->failed);
	json_decref(rc->object);
	json_decref(rc->claims);
	json_decref(rc->events);
	free(rc);
}

void reconcile_finish(struct reconcile *rc, enum reconcile_outcome outcome)
{
	static const enum operator_metric metric_of[RECONCILE_OUTCOME_MAX] = {
		[RECONCILE_DONE] = OPERATOR_DONE,
		[RECONCILE_WAITS] = OPERATOR_DONE,
		[RECONCILE_RETRY] = OPERATOR_RETRIED,
		[RECONCILE_GONE] = OPERATOR_GONE,
	};
	const struct reconcile_config *cfg = rc->cfg;
	struct resource *r = rc->resource;

	metric_add(&cfg->metrics->m[metric_of[outcome]], 1);
	metric_add(&cfg->metrics->m[OPERATOR_SECONDS], clock_monotonic_ns() - rc->started_ns);
	reconcile_cancel(rc);
	cfg->done(cfg->ctx, r, outcome);
}

static void give_up(struct reconcile *rc, const char *what, const char *why)
{
	log_warn_limited("cannot reconcile a Coroot resource, retrying",
			 "resource=%s step=%s reason=%s", rc->resource->key, LOG_QUOTED(what),
			 LOG_QUOTED(why));
	reconcile_finish(rc, RECONCILE_RETRY);
}

void reconcile_give_up(struct reconcile *rc, const char *what, const struct kube_result *result)
{
	operator_metrics_add_error(rc->cfg->metrics, object_answer_read(result));
	give_up(rc, what, result->msg ? result->msg : "unexpected answer");
}

void reconcile_give_up_errno(struct reconcile *rc, const char *what, int error)
{
	metric_add(&rc->cfg->metrics->m[OPERATOR_ERRORS_INTERNAL], 1);
	give_up(rc, what, strerror(-error));
}

int reconcile_note(struct reconcile *rc, enum object_kind kind, const char *name, const char *text)
{
	AUTO_FREE char *path = NULL;

	rc->retry = true;
	if (asprintf(&path, "%s %s", object_kinds[kind].kind, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return spec_problems_wrong(&rc->failed, path, "%s", text);
}

#define SECRET_ADVICE "; rbac.secretNamespaces of the operator's chart gives the right"

/* What the API server says, and of Secrets, to which the right is by namespace, who gives it. */
static void describe(char ret[static KUBE_STATUS_MESSAGE_BYTES + sizeof(SECRET_ADVICE)],
		     enum object_kind kind, enum object_answer a, const struct kube_result *result)
{
	bool is_advised = kind == OBJECT_SECRET && a == OBJECT_ANSWER_FORBIDDEN;

	snprintf(ret, KUBE_STATUS_MESSAGE_BYTES + sizeof(SECRET_ADVICE), "%.*s%s",
		 (int)KUBE_STATUS_MESSAGE_BYTES, result->msg ? result->msg : "unexpected answer",
		 is_advised ? SECRET_ADVICE : "");
}

bool reconcile_object_failed(struct reconcile *rc, enum object_kind kind, const char *name,
			     const struct kube_result *result)
{
	enum object_answer a = object_answer_read(result);
	char msg[KUBE_STATUS_MESSAGE_BYTES + sizeof(SECRET_ADVICE)];

	if (a == OBJECT_ANSWER_UNREACHABLE) {
		reconcile_give_up(rc, "apply objects", result);
		return false;
	}
	describe(msg, kind, a, result);
	operator_metrics_add_error(rc->cfg->metrics, a);
	log_warn_limited("cannot apply an object of a Coroot resource, retrying",
			 "resource=%s kind=%s name=%s reason=%s", rc->resource->key,
			 object_kinds[kind].kind, name, LOG_QUOTED(msg));
	if (reconcile_note(rc, kind, name, msg) < 0) {
		reconcile_give_up_errno(rc, "apply objects", -ENOMEM);
		return false;
	}
	return true;
}

/* ---- status ---- */

static enum reconcile_outcome outcome_of(const struct reconcile *rc)
{
	if (rc->retry)
		return RECONCILE_RETRY;
	for (size_t i = 0; i < rc->n_workloads; i++)
		if (workload_lacks_pods(&rc->workloads[i]))
			return RECONCILE_WAITS;
	return rc->n_held > 0 ? RECONCILE_WAITS : RECONCILE_DONE;
}

/* ---- events ---- */

static void tell_next(struct reconcile *rc);

/* An event that is lost is no reason to try again: the status says the same. */
static void on_told(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;

	rc->call = NULL;
	if (object_answer_read(result) != OBJECT_ANSWER_OK)
		log_debug("cannot write an event", "resource=%s reason=%s", rc->resource->key,
			  LOG_QUOTED(result->msg ? result->msg : ""));
	tell_next(rc);
}

static void tell_next(struct reconcile *rc)
{
	const struct object_reply reply = {on_told, rc, &rc->call};
	const json_t *event = json_array_get(rc->events, rc->next_event++);

	if (!event || !rc->cfg->may_write(rc->cfg->ctx) ||
	    object_request_event(rc->cfg->client, event, &reply) < 0)
		reconcile_finish(rc, outcome_of(rc));
}

static void on_status_written(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	enum object_answer a = object_answer_read(result);

	rc->call = NULL;
	if (a == OBJECT_ANSWER_OK)
		tell_next(rc);
	else if (a == OBJECT_ANSWER_NONE)
		reconcile_finish(rc, RECONCILE_GONE);
	else
		reconcile_give_up(rc, "write the status", result);
}

void reconcile_write_status(struct reconcile *rc)
{
	const struct reconcile_status_input in = {
		.resource = rc->object,
		.wrong = &rc->problems.wrong,
		.unused = &rc->problems.unused,
		.failed = &rc->failed.wrong,
		.workloads = rc->workloads,
		.n_workloads = rc->n_workloads,
		.n_kept = rc->n_kept,
		.now_ns = (int64_t)clock_realtime_ns(),
	};
	const struct object_reply reply = {on_status_written, rc, &rc->call};
	const struct coroot_ref ref = {rc->resource->namespace, rc->resource->name, true};
	json_t *status, *body;
	int r = reconcile_status_make(&status, &in);

	if (r < 0) {
		reconcile_give_up_errno(rc, "make the status", r);
		return;
	}
	if (!status || !rc->cfg->may_write(rc->cfg->ctx)) {
		rc->retry |= status != NULL;
		json_decref(status);
		reconcile_finish(rc, outcome_of(rc));
		return;
	}
	r = reconcile_events_make(&rc->events, rc->object, status, in.now_ns);
	body = json_pack("{s:o}", "status", status);
	if (r == 0)
		r = body ? coroot_request_merge(rc->cfg->client, &ref, body, &reply) : -ENOMEM;
	json_decref(body);
	if (r < 0)
		reconcile_give_up_errno(rc, "write the status", r);
}
