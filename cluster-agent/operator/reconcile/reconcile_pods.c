/*
 * Finds out why pods are not ready, so that the status of the resource says it: an image that
 * cannot be pulled, a program that ends, a node that cannot be found. "2 of 3 pods ready" alone
 * would send a person from object to object.
 *
 * Pods are only listed of workloads that lack some, page by page until one is found that fails. If
 * a workload has none at all, its controller cannot create them, and says so in an event: because
 * of Pod Security, a quota, or an admission webhook.
 *
 * The status without a reason is better than none, so whatever goes wrong here is not an error.
 */
#include "cluster-agent/operator/objects/pod_status.h"
#include "cluster-agent/operator/reconcile/reconcile_state.h"
#include "common/telemetry/log.h"

#define PAGES_MAX 20u

static void next_workload(struct reconcile *rc);

static struct workload_state *current(const struct reconcile *rc)
{
	return &rc->workloads[rc->next_workload];
}

static void keep(const struct reconcile *rc, const char *text)
{
	struct workload_state *w = current(rc);

	snprintf(w->why, sizeof(w->why), "%s", text);
}

static void end_workload(struct reconcile *rc)
{
	rc->next_workload++;
	next_workload(rc);
}

static void report_failure(const struct reconcile *rc, const char *what,
			   const struct kube_result *result)
{
	log_debug("cannot find out why pods are not ready",
		  "resource=%s workload=%s list=%s reason=%s", rc->resource->key, current(rc)->name,
		  what, LOG_QUOTED(result->msg ? result->msg : ""));
}

/* Whether an object is the workload, or one that its controller made: they extend its name. */
static bool is_of(const struct workload_state *w, const char *name)
{
	size_t len = strlen(w->name);

	return strncmp(name, w->name, len) == 0 && (name[len] == '-' || name[len] == '\0');
}

/* ---- events ---- */

/* The latest event about the workload. */
static void take_events(struct reconcile *rc, const json_t *list)
{
	const char *latest = NULL;
	const json_t *event;
	size_t i;

	json_array_foreach (json_object_get(list, "items"), i, event) {
		const json_t *about = json_object_get(event, "involvedObject");
		const char *name = json_string_value(json_object_get(about, "name"));
		const char *at = json_string_value(json_object_get(event, "lastTimestamp"));
		char text[POD_STATUS_BYTES];

		if (!name || !is_of(current(rc), name) ||
		    (latest && strcmp(at ? at : "", latest) < 0) ||
		    !pod_status_of_event(text, event))
			continue;
		latest = at ? at : "";
		current(rc)->failing = true;
		keep(rc, text);
	}
}

static void on_events(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	json_t *list;

	rc->call = NULL;
	if (object_answer_read(result) != OBJECT_ANSWER_OK) {
		report_failure(rc, "events", result);
		end_workload(rc);
		return;
	}
	list = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);
	take_events(rc, list);
	json_decref(list);
	end_workload(rc);
}

static void list_events(struct reconcile *rc)
{
	const struct object_reply reply = {on_events, rc, &rc->call};
	const struct workload_state *w = current(rc);
	/* a Deployment has its pods made by ReplicaSets */
	const char *maker =
		w->kind == OBJECT_DEPLOYMENT ? "ReplicaSet" : object_kinds[w->kind].kind;

	keep(rc, "no pod exists");
	if (object_request_failed_creates(rc->cfg->client, rc->spec.namespace, maker, &reply) < 0)
		end_workload(rc);
}

/* ---- pods ---- */

static void take_pods(struct reconcile *rc, const json_t *list)
{
	const json_t *pod;
	size_t i;

	json_array_foreach (json_object_get(list, "items"), i, pod) {
		const json_t *name = json_object_get(json_object_get(pod, "metadata"), "name");
		char text[POD_STATUS_BYTES];
		enum pod_status s;

		if (!json_is_string(name) || !is_of(current(rc), json_string_value(name)))
			continue;
		rc->n_pods++;
		s = pod_status_read(text, pod);
		if (s <= rc->worst_pod)
			continue;
		rc->worst_pod = s;
		current(rc)->failing = s == POD_FAILING;
		keep(rc, text);
	}
}

static void list_pods(struct reconcile *rc, const char *more);

static void on_pods(void *ctx, const struct kube_result *result)
{
	struct reconcile *rc = ctx;
	const char *more;
	json_t *list;

	rc->call = NULL;
	if (object_answer_read(result) != OBJECT_ANSWER_OK) {
		report_failure(rc, "pods", result);
		end_workload(rc);
		return;
	}
	list = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);
	take_pods(rc, list);
	more = json_string_value(json_object_get(json_object_get(list, "metadata"), "continue"));
	if (more && *more && rc->worst_pod < POD_FAILING && ++rc->n_pages < PAGES_MAX)
		list_pods(rc, more);
	else if (rc->n_pods == 0 && list)
		list_events(rc);
	else
		end_workload(rc);
	json_decref(list);
}

/* more: where the page before ended; NULL: the first page. */
static void list_pods(struct reconcile *rc, const char *more)
{
	const struct object_reply reply = {on_pods, rc, &rc->call};
	const struct object_pods pods = {rc->spec.namespace, current(rc)->labels, more};

	if (object_request_pods(rc->cfg->client, &pods, &reply) < 0)
		end_workload(rc);
}

static void next_workload(struct reconcile *rc)
{
	while (rc->next_workload < rc->n_workloads && !workload_lacks_pods(current(rc)))
		rc->next_workload++;
	if (rc->next_workload == rc->n_workloads) {
		reconcile_write_status(rc);
		return;
	}
	rc->n_pods = rc->n_pages = 0;
	rc->worst_pod = POD_READY;
	list_pods(rc, NULL);
}

/* In the order of the objects: answers come in any, and the status should not change with it. */
void reconcile_pods(struct reconcile *rc)
{
	for (size_t i = 0; i < rc->rendered.n_objects; i++) {
		const struct object_work *w = &rc->works[i];
		const json_t *spec = json_object_get(rc->rendered.objects[i].body, "spec");
		const json_t *selector = json_object_get(spec, "selector");
		struct workload_state *state = &rc->workloads[rc->n_workloads];

		if (!w->has_pods)
			continue;
		*state = w->pods;
		state->name = rc->rendered.objects[i].name;
		state->labels = json_object_get(selector, "matchLabels");
		rc->n_workloads++;
	}
	next_workload(rc);
}
