/*
 * Wiring: who leads, what exists, and what is reconciled when.
 *
 * Only the leader watches anything. When it stops leading, all of its reconciles are cancelled and
 * all that it knew is forgotten: the next leader learns it from lists. resource_queue.c decides
 * what is due; a few resources are reconciled at a time, each by a reconcile.c of its own.
 *
 * All of this runs on the loop thread. Only /readyz is answered by a thread of the HTTP server,
 * from a copy that each beat makes.
 */
#include "cluster-agent/operator/operator.h"

#include <errno.h>
#include <pthread.h>
#include <sys/random.h>

#include "cluster-agent/operator/leader.h"
#include "cluster-agent/operator/objects/object_answer.h"
#include "cluster-agent/operator/objects/object_requests.h"
#include "cluster-agent/operator/objects/object_watches.h"
#include "cluster-agent/operator/operator_privileges.h"
#include "cluster-agent/operator/reconcile/operator_metrics.h"
#include "cluster-agent/operator/reconcile/reconcile.h"
#include "common/agent/agent.h"
#include "common/kubernetes/kube_config_load.h"
#include "common/kubernetes/kube_watch.h"
#include "common/system/clock.h"
#include "common/system/open_files.h"
#include "common/telemetry/log.h"
#include "version.h"

#define LEASE_NAME "coroot-operator"
#define RUNNING_AT_ONCE 4u
#define MAX_CONNECTIONS 64u
#define REQUEST_TIMEOUT_S 10u
/* With the time to release the Lease, what an agent has to exit. */
#define LEAVE_NS (4 * NS_PER_S)

struct readiness {
	pthread_mutex_t lock;
	bool ready;
	char text[700];
};

/* Members are in the order in which they are made. */
struct operator_agent {
	const struct operator_options *opts;
	struct operator_images images;
	struct readiness readiness;
	struct agent base;
	struct operator_metrics metrics;
	struct kube_config kube;
	struct kube_client *client;
	struct loop_source *timer; /* when the next resource is due */
	struct leader *leader;     /* NULL without --leader-elect */
	bool has_left;             /* the Lease is given up: the loop may end */
	struct kube_call *call;    /* about the operator's own namespace */
	struct loop_source *leave_timer;
	bool is_leaving; /* resources of that namespace are given up */

	/* of a leader */
	bool working;
	struct reconcile_config reconcile;
	struct resource_queue queue;
	struct object_table objects;
	struct kube_watch *resources;
	struct object_watches *watches;
	unsigned n_running;
};

static const char *given(const char *s)
{
	return s && s[0] ? s : NULL;
}

static void release(struct operator_agent *o);

/* ---- what is due ---- */

static void start_due(void *ctx)
{
	struct operator_agent *o = ctx;
	uint64_t now_ns = clock_monotonic_ns(), next_ns;
	struct resource *r = NULL;

	while (o->n_running < RUNNING_AT_ONCE && (r = resource_queue_next(&o->queue, now_ns))) {
		struct reconcile *rc;

		if (reconcile_start(&rc, &o->reconcile, r) < 0) {
			resource_queue_done(&o->queue, r, RECONCILE_RETRY, now_ns);
			continue;
		}
		r->work = rc;
		o->n_running++;
	}
	next_ns = resource_queue_next_ns(&o->queue);
	if (o->n_running == RUNNING_AT_ONCE || next_ns == UINT64_MAX)
		loop_set_timer(o->timer, UINT64_MAX);
	else
		loop_set_timer(o->timer, next_ns > now_ns ? next_ns - now_ns : 0);
}

static void note_drift(struct operator_agent *o, struct resource *r)
{
	metric_add(&o->metrics.m[OPERATOR_DRIFTS], 1);
	resource_queue_drifted(r, clock_monotonic_ns());
}

static void on_reconciled(void *ctx, struct resource *r, enum reconcile_outcome outcome)
{
	struct operator_agent *o = ctx;

	o->n_running--;
	if (object_table_settle(&o->objects, r->uid))
		note_drift(o, r);
	resource_queue_done(&o->queue, r, outcome, clock_monotonic_ns());
	if (o->is_leaving && !resource_queue_is_leaving(&o->queue))
		release(o);
	else
		start_due(o);
}

static bool may_write(void *ctx)
{
	const struct operator_agent *o = ctx;

	return !o->leader || leader_leads(o->leader);
}

static bool resource_lives(void *ctx, const char *uid)
{
	struct operator_agent *o = ctx;

	return resource_queue_find_uid(&o->queue, uid) != NULL;
}

/* ---- what exists ---- */

static void on_list_begins(void *ctx)
{
	struct operator_agent *o = ctx;

	resource_queue_list_begin(&o->queue);
}

static void on_listed(void *ctx)
{
	struct operator_agent *o = ctx;

	resource_queue_list_end(&o->queue);
	start_due(o);
}

/* A change of the status, most of which are our own, does not count. */
static uint64_t digest_of(const json_t *resource, const struct object_facts *f)
{
	const json_t *metadata = json_object_get(resource, "metadata");
	uint64_t generation = (uint64_t)json_integer_value(json_object_get(metadata, "generation"));

	return 2 * generation + f->deleting;
}

static int on_resource(void *ctx, const json_t *resource)
{
	struct operator_agent *o = ctx;
	struct object_facts f;
	int r;

	object_facts_read(&f, resource);
	r = resource_queue_put(&o->queue, f.namespace, f.name, f.uid, digest_of(resource, &f),
			       clock_monotonic_ns());
	if (r == -ENOSPC || r == -EINVAL) {
		metric_add(&o->metrics.m[OPERATOR_RESOURCES_LEFT_OUT], 1);
		log_warn_limited("ignoring a Coroot resource: there are too many",
				 "namespace=%s name=%s max=%u", LOG_QUOTED(f.namespace),
				 LOG_QUOTED(f.name), RESOURCES_MAX);
		r = 0;
	}
	start_due(o);
	return r;
}

static void on_resource_deleted(void *ctx, const json_t *resource)
{
	struct operator_agent *o = ctx;
	struct object_facts f;

	object_facts_read(&f, resource);
	resource_queue_remove(&o->queue, f.namespace, f.name);
}

static void on_object_changed(void *ctx, const char *owner, enum object_change change)
{
	struct operator_agent *o = ctx;
	struct resource *r = resource_queue_find_uid(&o->queue, owner);

	if (!r)
		return;
	if (change == OBJECT_DRIFTED)
		note_drift(o, r);
	else /* a new object may be one to be deleted */
		resource_queue_progressed(r, clock_monotonic_ns());
	start_due(o);
}

static bool is_running(void *ctx, const char *owner)
{
	struct operator_agent *o = ctx;
	const struct resource *r = resource_queue_find_uid(&o->queue, owner);

	return r && r->running;
}

/* ---- leading ---- */

static int watch_resources(struct operator_agent *o)
{
	struct kube_watch_config cfg = {
		.client = o->client,
		.loop = o->base.loop,
		.path = "/apis/coroot.com/v1/coroots",
		.what = "coroots.coroot.com",
		.ctx = o,
		.list_begins = on_list_begins,
		.object = on_resource,
		.deleted = on_resource_deleted,
		.listed = on_listed,
	};
	char path[160];

	if (given(o->opts->watch_namespace)) {
		snprintf(path, sizeof(path), "/apis/coroot.com/v1/namespaces/%s/coroots",
			 o->opts->watch_namespace);
		cfg.path = path;
	}
	return kube_watch_new(&o->resources, &cfg);
}

static int begin_work(struct operator_agent *o)
{
	const struct object_watches_config cfg = {
		.client = o->client,
		.loop = o->base.loop,
		.namespace = given(o->opts->watch_namespace),
		.table = &o->objects,
		.ctx = o,
		.changed = on_object_changed,
		.is_running = is_running,
	};
	int r = watch_resources(o);

	o->working = true;
	metric_set(&o->metrics.m[OPERATOR_LEADER], 1);
	return r < 0 ? r : object_watches_new(&o->watches, &cfg);
}

static void end_work(struct operator_agent *o)
{
	o->working = false;
	metric_set(&o->metrics.m[OPERATOR_LEADER], 0);
	for (struct resource *r = o->queue.by_key; r; r = r->hh.next)
		reconcile_cancel(TAKE_PTR(r->work));
	o->n_running = 0;
	object_watches_free(TAKE_PTR(o->watches));
	kube_watch_free(TAKE_PTR(o->resources));
	resource_queue_fini(&o->queue);
	object_table_fini(&o->objects);
	if (o->timer)
		loop_set_timer(o->timer, UINT64_MAX);
}

static void on_leader_changed(void *ctx)
{
	struct operator_agent *o = ctx;
	bool leads = leader_leads(o->leader);
	int r;

	if (leads == o->working)
		return;
	if (!leads) {
		end_work(o);
		return;
	}
	r = begin_work(o);
	if (r < 0) {
		log_error("cannot begin to work; leaving it to the next start", "error=%s",
			  strerror(-r));
		loop_stop(o->base.loop);
	}
}

/* ---- status ---- */

/* Whether the operator does what it is for, or waits for its turn; the text says which. */
static bool describe(const struct operator_agent *o, char *text, size_t size)
{
	const char *problem;

	if (o->leader && !o->working) {
		snprintf(text, size, "%s", leader_state(o->leader));
		return leader_works(o->leader);
	}
	problem = kube_watch_problem(o->resources);
	if (problem[0] || !kube_watch_synced(o->resources)) {
		snprintf(text, size, "%s",
			 problem[0] ? problem : "Coroot resources have not been listed yet");
		return false;
	}
	/* what it can do, it does */
	problem = object_watches_problem(o->watches);
	snprintf(text, size, "ok: %zu Coroot resources%s%s", o->queue.n, problem[0] ? "; " : "",
		 problem);
	return true;
}

static void on_beat(void *ctx)
{
	struct operator_agent *o = ctx;
	uint64_t n_failing = 0;
	char text[sizeof(o->readiness.text)];
	bool ready = describe(o, text, sizeof(text));

	for (const struct resource *r = o->queue.by_key; r; r = r->hh.next)
		n_failing += r->failing;
	metric_set(&o->metrics.m[OPERATOR_RESOURCES], o->queue.n);
	metric_set(&o->metrics.m[OPERATOR_RESOURCES_FAILING], n_failing);
	metric_set(&o->metrics.m[OPERATOR_OBJECTS], o->objects.n);
	pthread_mutex_lock(&o->readiness.lock);
	o->readiness.ready = ready;
	snprintf(o->readiness.text, sizeof(o->readiness.text), "%s", text);
	pthread_mutex_unlock(&o->readiness.lock);
}

static void serve_ready(void *ctx, struct http_exchange *x)
{
	struct operator_agent *o = ctx;
	char text[sizeof(o->readiness.text)];
	bool ready;

	pthread_mutex_lock(&o->readiness.lock);
	ready = o->readiness.ready;
	snprintf(text, sizeof(text), "%s", o->readiness.text);
	pthread_mutex_unlock(&o->readiness.lock);
	http_respond_text(x, ready ? 200 : 503, "%s", text);
}

/* ---- stop ---- */

static void on_released(void *ctx)
{
	struct operator_agent *o = ctx;

	o->has_left = true;
	agent_stop_if_done(&o->base);
}

/* Lets another operator work. */
static void release(struct operator_agent *o)
{
	o->is_leaving = false;
	kube_call_cancel(TAKE_PTR(o->call));
	loop_set_timer(o->leave_timer, UINT64_MAX);
	if (o->leader) {
		leader_release(o->leader, on_released, o);
		return;
	}
	end_work(o);
	on_released(o);
}

static void on_leave_timeout(void *ctx)
{
	struct operator_agent *o = ctx;

	if (o->is_leaving)
		log_warn("the operator's namespace is being deleted, and finalizers of Coroot "
			 "resources in it could not be removed in time",
			 "namespace=%s", kube_client_namespace(o->client));
	release(o);
}

static void on_own_namespace(void *ctx, const struct kube_result *result)
{
	struct operator_agent *o = ctx;
	const char *namespace = kube_client_namespace(o->client);
	struct object_facts f = {.deleting = false};
	json_t *object = NULL;

	o->call = NULL;
	if (object_answer_read(result) == OBJECT_ANSWER_OK)
		object = json_loadb(result->body, result->body_len, JSON_ALLOW_NUL, NULL);
	object_facts_read(&f, object);
	if (f.deleting)
		resource_queue_leave(&o->queue, namespace, clock_monotonic_ns());
	json_decref(object);
	if (!resource_queue_is_leaving(&o->queue)) {
		release(o);
		return;
	}
	log_info("the operator's namespace is being deleted; giving up Coroot resources in it",
		 "namespace=%s", namespace);
	o->is_leaving = true;
	start_due(o);
}

/*
 * Who deletes the namespace of both the operator and Coroot resources deletes the operator's pod,
 * too, perhaps before it has seen that the resources are being deleted; and a resource with a
 * finalizer that nobody removes keeps its namespace for good. So before it ends, the operator looks
 * whether that is why.
 */
static void stop(void *ctx)
{
	struct operator_agent *o = ctx;
	const char *namespace = kube_client_namespace(o->client);
	const struct object_reply reply = {on_own_namespace, o, &o->call};

	if (!o->working || !may_write(o) ||
	    object_request_namespace(o->client, namespace, &reply) < 0)
		release(o);
	else
		loop_set_timer(o->leave_timer, LEAVE_NS);
}

static bool is_done(void *ctx)
{
	const struct operator_agent *o = ctx;

	return o->has_left;
}

/* ---- start ---- */

static int start_base(struct operator_agent *o)
{
	const struct agent_config cfg = {
		.program = "coroot-cluster-agent",
		.metrics_prefix = "coroot_cluster_agent",
		.version = VERSION,
		.ctx = o,
		.beat = on_beat,
		.stop = stop,
		.is_done = is_done,
	};
	int r = agent_init(&o->base, &cfg);

	if (r == 0)
		r = operator_metrics_register(&o->metrics, o->base.metrics);
	if (r == 0)
		r = loop_add_timer(o->base.loop, start_due, o, &o->timer);
	if (r == 0)
		r = loop_add_timer(o->base.loop, on_leave_timeout, o, &o->leave_timer);
	return r;
}

static int make_client(struct operator_agent *o, struct err *err)
{
	const struct operator_options *opts = o->opts;
	int r;

	if (given(opts->kubeconfig))
		r = kube_config_load_file(&o->kube, opts->kubeconfig, given(opts->kube_context),
					  err);
	else
		r = kube_config_load_service_account(&o->kube, KUBE_SERVICE_ACCOUNT_DIR, err);
	return r < 0 ? r : kube_client_new(&o->client, o->base.loop, &o->kube, err);
}

static int make_leader(struct operator_agent *o, struct err *err)
{
	const struct leader_config cfg = {
		.client = o->client,
		.loop = o->base.loop,
		.namespace = given(o->opts->lease_namespace) ?: kube_client_namespace(o->client),
		.lease = LEASE_NAME,
		.ctx = o,
		.changed = on_leader_changed,
	};
	int r;

	if (!o->opts->leader_elect)
		return begin_work(o);
	r = leader_new(&o->leader, &cfg);
	return r < 0 ? err_set(err, r, "--lease-namespace \"%s\": %s", cfg.namespace, strerror(-r))
		     : 0;
}

static int listen_on(struct operator_agent *o, struct err *err)
{
	const struct http_route routes[] = {
		{"GET", "/readyz", 0, serve_ready, o, .scope = ACCESS_ANYONE, .essential = true},
		{},
	};
	const struct http_server_config cfg = {
		.listen = o->opts->listen,
		.max_connections = MAX_CONNECTIONS,
		.timeout_s = REQUEST_TIMEOUT_S,
		.max_body_memory_bytes = 65536,
		.routes = routes,
	};

	return agent_listen(&o->base, &cfg, err);
}

static int start(struct operator_agent *o, struct err *err)
{
	int r = open_files_require(err);

	if (r == 0)
		r = start_base(o);
	if (r == 0)
		r = make_client(o, err);
	if (r == 0)
		r = make_leader(o, err);
	if (r == 0)
		r = operator_privileges_filter(o->opts, err);
	return r < 0 ? r : listen_on(o, err);
}

int operator_new(struct operator_agent **ret, const struct operator_options *opts, struct err *err)
{
	CLEANUP(operator_freep) struct operator_agent *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->opts = opts;
	o->images = (struct operator_images){
		.node_agent = opts->node_agent_image,
		.cluster_agent = opts->cluster_agent_image,
		.store = opts->store_image,
		.clickhouse = opts->clickhouse_image,
		.keeper = opts->keeper_image,
		.pull_secret = given(opts->image_pull_secret),
		.node_agent_scc = given(opts->node_agent_scc),
	};
	pthread_mutex_init(&o->readiness.lock, NULL);
	snprintf(o->readiness.text, sizeof(o->readiness.text), "starting");
	if (getrandom(&o->queue.random, sizeof(o->queue.random), GRND_NONBLOCK) < 0)
		o->queue.random = clock_monotonic_ns();
	r = start(o, err);
	if (r < 0)
		return err->msg[0] ? r : err_set(err, r, "cannot start: %s", strerror(-r));
	o->reconcile = (struct reconcile_config){
		.client = o->client,
		.images = &o->images,
		.objects = &o->objects,
		.metrics = &o->metrics,
		.ctx = o,
		.may_write = may_write,
		.resource_lives = resource_lives,
		.done = on_reconciled,
	};
	*ret = TAKE_PTR(o);
	return 0;
}

int operator_run(struct operator_agent *o)
{
	log_info("listening", "address=%s port=%u api=%s namespace=%s", o->opts->listen,
		 http_server_port(o->base.server), kube_client_server(o->client),
		 given(o->opts->watch_namespace) ?: "");
	return agent_run(&o->base);
}

void operator_free(struct operator_agent *o)
{
	if (!o)
		return;
	agent_close_server(&o->base);
	kube_call_cancel(o->call);
	end_work(o);
	leader_free(o->leader);
	kube_client_free(o->client);
	kube_config_fini(&o->kube);
	agent_fini(&o->base);
	pthread_mutex_destroy(&o->readiness.lock);
	free(o);
}
