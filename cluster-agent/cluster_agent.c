#include "cluster-agent/cluster_agent.h"

#include <errno.h>
#include <signal.h>

#include "cluster-agent/cluster_options.h"
#include "cluster-agent/ingest/ingest.h"
#include "cluster-agent/ingest/ingest_feed.h"
#include "cluster-agent/pod_scraping.h"
#include "cluster-agent/receive/profile_handler.h"
#include "cluster-agent/sql/clickhouse_port.h"
#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/store/store_writer.h"
#include "cluster-agent/web/web_api.h"
#include "cluster-agent/web/web_page.h"
#include "common/agent/agent_status.h"
#include "common/http/http.h"
#include "common/http/http_server.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "common/telemetry/process_metrics.h"
#include "common/upload/uploader.h"
#include "version.h"

#define BEAT_NS NS_PER_S
#define FLUSH_TIMEOUT_NS (8 * NS_PER_S)
#define MAX_CONNECTIONS 1000u
#define REQUEST_TIMEOUT_S 30u
/* Handing over to other replicas and sending what waits, together, before a second signal. */
#define SHUTDOWN_NS (8 * NS_PER_S)

/* Profiles that wait for --coroot-url. */
#define UPLOAD_QUEUE_ITEMS 32768u
#define UPLOAD_QUEUE_BYTES (64 * MIB)
#define UPLOADS_AT_ONCE 32u
#define UPLOAD_TIMEOUT_NS (10 * NS_PER_S)
#define UPLOAD_RETRY_MIN_NS NS_PER_S
#define UPLOAD_RETRY_MAX_NS (30 * NS_PER_S)

/* In the order in which they are made. */
struct cluster_agent {
	const struct cluster_options *opts;
	struct loop *loop;
	struct loop_source *beat;
	struct loop_source *shutdown_timer;
	struct metrics *metrics;
	struct agent_status status;
	bool stopping;
	bool has_left; /* the replica set, when stopping */
	/* with a store */
	struct store *store;
	struct store_writer *writer;
	struct ingest *ingest;
	struct ingest_feed *feed;
	struct profile_handler *handler;
	struct web_api *web;
	struct clickhouse_port *sql; /* NULL unless asked for */
	/* with --coroot-url instead */
	struct http_client *client;
	struct uploader *uploader;

	struct pod_scraping *scraping; /* NULL: off */
	struct http_server *server;
};

static void stop_when_sent(void *ctx)
{
	struct cluster_agent *a = ctx;

	if (a->has_left && (!a->uploader || uploader_pending(a->uploader) == 0))
		loop_stop(a->loop);
}

static void on_left(void *ctx)
{
	struct cluster_agent *a = ctx;

	a->has_left = true;
	stop_when_sent(a);
}

static void on_shutdown_timeout(void *ctx)
{
	struct cluster_agent *a = ctx;

	loop_stop(a->loop);
}

static void stop(void *ctx)
{
	struct cluster_agent *a = ctx;

	if (a->stopping) {
		loop_stop(a->loop);
		return;
	}
	a->stopping = true;
	log_info("stopping", "waiting=%zu", a->uploader ? uploader_pending(a->uploader) : 0);
	loop_set_timer(a->shutdown_timer, SHUTDOWN_NS);
	if (a->uploader)
		uploader_hurry(a->uploader);
	if (a->scraping)
		pod_scraping_leave(a->scraping, on_left, a);
	else
		on_left(a);
}

static void beat(void *ctx)
{
	struct cluster_agent *a = ctx;

	agent_status_beat(&a->status);
	if (a->scraping)
		pod_scraping_beat(a->scraping);
	loop_set_timer(a->beat, BEAT_NS);
}

static int make_loop(struct cluster_agent *a)
{
	int r = loop_new(&a->loop);

	if (r == 0)
		r = loop_add_signal(a->loop, SIGTERM, stop, a);
	if (r == 0)
		r = loop_add_signal(a->loop, SIGINT, stop, a);
	if (r == 0)
		r = loop_add_timer(a->loop, on_shutdown_timeout, a, &a->shutdown_timer);
	if (r == 0)
		r = loop_add_timer(a->loop, beat, a, &a->beat);
	if (r == 0)
		loop_set_timer(a->beat, 0);
	return r;
}

static int open_store(struct cluster_agent *a, struct err *err)
{
	const struct store_chdb_config cfg = {
		.data_dir = a->opts->data_dir,
		.profiles_ttl_ns = a->opts->profiles_ttl_ns,
		.chdb_library = a->opts->chdb_library,
	};

	return store_chdb_open(&a->store, &cfg, err);
}

static int make_storing(struct cluster_agent *a)
{
	int r = store_writer_new(&a->writer, &(struct store_writer_config){.store = a->store});

	if (r == 0)
		r = ingest_new(&a->ingest, &(struct ingest_config){
						   .writer = a->writer,
						   .profiles_ttl_ns = a->opts->profiles_ttl_ns});
	if (r == 0)
		r = ingest_feed_new(&a->feed, &(struct ingest_feed_config){.loop = a->loop,
									   .ingest = a->ingest});
	if (r == 0)
		r = profile_handler_new(
			&a->handler, &(struct profile_handler_config){.ingest = a->ingest,
								      .api_key = a->opts->api_key});
	if (r == 0)
		r = web_api_new(&a->web, &(struct web_api_config){.store = a->store});
	return r;
}

static int register_storing(struct cluster_agent *a)
{
	int r = profile_handler_register(a->handler, a->metrics);

	if (r == 0)
		r = ingest_register(a->ingest, a->metrics);
	if (r == 0)
		r = ingest_feed_register(a->feed, a->metrics);
	if (r == 0)
		r = store_writer_register(a->writer, a->metrics);
	if (r == 0)
		r = web_api_register(a->web, a->metrics);
	return r;
}

static int open_sql_port(struct cluster_agent *a, struct err *err)
{
	const struct clickhouse_port_config cfg = {
		.store = a->store,
		.listen = a->opts->clickhouse_listen,
		.api_key = a->opts->api_key,
	};
	int r;

	if (!cfg.listen)
		return 0;
	r = clickhouse_port_new(&a->sql, &cfg, err);
	return r < 0 ? r : clickhouse_port_register(a->sql, a->metrics);
}

static int start_storing(struct cluster_agent *a, struct err *err)
{
	int r = open_store(a, err);

	if (r < 0)
		return r;
	r = make_storing(a);
	if (r == 0)
		r = register_storing(a);
	return r < 0 ? r : open_sql_port(a, err);
}

static int start_forwarding(struct cluster_agent *a)
{
	const struct http_client_config client = {
		.ca_file = a->opts->ca_file,
		.insecure_skip_verify = a->opts->insecure_skip_verify,
		.user_agent = "coroot-cluster-agent/" VERSION,
		.max_idle_connections = UPLOADS_AT_ONCE,
	};
	AUTO_FREE char *endpoint = NULL;
	int r = upload_url_from_collector(&endpoint, a->opts->coroot_url);

	if (r == 0)
		r = http_client_new(&a->client, a->loop, &client);
	if (r < 0)
		return r;
	const struct uploader_config cfg = {
		.endpoint = endpoint,
		.api_key = a->opts->api_key,
		.max_items = UPLOAD_QUEUE_ITEMS,
		.max_bytes = UPLOAD_QUEUE_BYTES,
		.max_sending = UPLOADS_AT_ONCE,
		.timeout_ns = UPLOAD_TIMEOUT_NS,
		.retry_min_ns = UPLOAD_RETRY_MIN_NS,
		.retry_max_ns = UPLOAD_RETRY_MAX_NS,
	};
	r = uploader_new(&a->uploader, a->loop, a->client, &cfg);
	if (r < 0)
		return r;
	uploader_on_idle(a->uploader, stop_when_sent, a);
	return uploader_register_metrics(a->uploader, "coroot_cluster_agent", a->metrics);
}

static void put_scraped(void *ctx, const struct upload_label *labels, struct buf *body)
{
	struct cluster_agent *a = ctx;

	/* what cannot be queued is counted by the uploader */
	if (a->feed)
		ingest_feed_put(a->feed, labels, body);
	else if (uploader_add(a->uploader, labels, body) < 0)
		log_warn_limited("cannot queue a scraped profile", "waiting=%zu",
				 uploader_pending(a->uploader));
}

static int start_scraping(struct cluster_agent *a, struct err *err)
{
	const struct pod_scraping_config cfg = {
		.opts = a->opts, .loop = a->loop, .ctx = a, .put = put_scraped};
	int r;

	if (!pod_scraping_wanted(a->opts)) {
		if (cluster_options_forward(a->opts))
			return err_set(err, -EINVAL,
				       "nothing to forward: not in a pod, and no --kubeconfig");
		return 0;
	}
	r = pod_scraping_new(&a->scraping, &cfg, err);
	return r < 0 ? r : pod_scraping_register(a->scraping, a->metrics);
}

/* Uploads are taken and profiles shown without the API server, so with a store it does not matter. */
static void serve_ready(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;

	if (a->web)
		web_api_serve(a->web, x);
	else if (pod_scraping_synced(a->scraping))
		http_respond_text(x, 200, "ok");
	else
		http_respond_text(x, 503, "pods are not known yet");
}

static void respond_error(struct http_exchange *x, unsigned status, const char *error)
{
	char *body;
	int len = asprintf(&body, "{\"error\":\"%s\"}\n", error);

	if (len < 0)
		http_respond_text(x, 503, "out of memory");
	else
		http_respond(x, status, "application/json", body, (size_t)len);
}

static void serve_api(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;

	if (a->web)
		web_api_serve(a->web, x);
	else
		respond_error(x, 404,
			      "this agent keeps no profiles: it sends them to --coroot-url");
}

static void serve_upload(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;

	if (a->handler)
		profile_handler_serve(a->handler, x);
	else
		http_respond_text(x, 404,
				  "this agent keeps no profiles: send them to its --coroot-url");
}

/* One address for people and programs, as Prometheus has it: browsers ask for HTML. */
static void serve_targets(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;
	const char *accept = http_exchange_header(x, "Accept");

	if (accept && strstr(accept, "text/html"))
		web_page_serve(NULL, x);
	else if (a->scraping)
		pod_scraping_serve_targets(a->scraping, x);
	else
		respond_error(x, 404,
			      "no pods are scraped: the agent runs outside Kubernetes without "
			      "--kubeconfig, or --profiles-scrape-interval is 0");
}

static int listen_on(struct cluster_agent *a, struct err *err)
{
	const struct http_route routes[] = {
		{"POST", "/v1/profiles", LIMIT_UPLOAD_BYTES, serve_upload, a},
		{"GET", "/api/*", 0, serve_api, a},
		{"GET", "/readyz", 0, serve_ready, a},
		{"GET", "/targets", 0, serve_targets, a},
		{"GET", "/healthz", 0, agent_status_healthz, &a->status},
		{"GET", "/metrics", 0, agent_status_metrics, &a->status},
		{"GET", "/", 0, web_page_serve, NULL},
		{"GET", "/assets/*", 0, web_page_serve, NULL},
		{},
	};
	const struct http_server_config cfg = {
		.listen = a->opts->listen,
		.n_threads = 2,
		.max_connections = MAX_CONNECTIONS,
		.timeout_s = REQUEST_TIMEOUT_S,
		.max_body_memory_bytes = LIMIT_UPLOADS_MEMORY_BYTES,
		.routes = routes,
		.metrics = a->metrics,
	};

	return http_server_new(&a->server, &cfg, err);
}

static int start(struct cluster_agent *a, struct err *err)
{
	int r = make_loop(a);

	if (r == 0)
		r = metrics_new(&a->metrics);
	if (r < 0)
		return r;
	agent_status_init(&a->status, a->metrics);
	r = process_metrics_register(a->metrics, "coroot_cluster_agent", VERSION);
	if (r == 0)
		r = cluster_options_forward(a->opts) ? start_forwarding(a) : start_storing(a, err);
	if (r == 0)
		r = start_scraping(a, err);
	return r < 0 ? r : listen_on(a, err);
}

int cluster_agent_new(struct cluster_agent **ret, const struct cluster_options *opts,
		      struct err *err)
{
	CLEANUP(cluster_agent_freep) struct cluster_agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->opts = opts;
	r = start(a, err);
	if (r < 0)
		return err->msg[0] ? r : err_set(err, r, "cannot start: %s", strerror(-r));
	*ret = TAKE_PTR(a);
	return 0;
}

int cluster_agent_run(struct cluster_agent *a)
{
	const struct cluster_options *o = a->opts;

	if (cluster_options_forward(o))
		log_info("listening", "address=%s port=%u coroot_url=%s", o->listen,
			 http_server_port(a->server), LOG_QUOTED(o->coroot_url));
	else
		log_info("listening", "address=%s port=%u storage=%s data_dir=%s", o->listen,
			 http_server_port(a->server), o->storage, LOG_QUOTED(o->data_dir));
	return loop_run(a->loop);
}

/*
 * The server goes only after everything it may have handed a request to has
 * answered, and these go only after the server, whose threads call them.
 * Queries are not worth waiting for.
 */
void cluster_agent_free(struct cluster_agent *a)
{
	if (!a)
		return;
	if (a->server)
		http_server_quiesce(a->server);
	if (a->store)
		store_stop_queries(a->store);
	if (a->scraping)
		pod_scraping_stop(a->scraping);
	if (a->feed)
		ingest_feed_flush(a->feed);
	if (a->ingest)
		ingest_stop(a->ingest, FLUSH_TIMEOUT_NS);
	store_writer_free(a->writer);
	if (a->web)
		web_api_stop(a->web);
	http_server_free(a->server);
	pod_scraping_free(a->scraping);
	clickhouse_port_free(a->sql);
	web_api_free(a->web);
	profile_handler_free(a->handler);
	ingest_feed_free(a->feed);
	ingest_free(a->ingest);
	store_close(a->store);
	/* it borrows the uploader's bodies */
	http_client_free(a->client);
	uploader_free(a->uploader);
	metrics_free(a->metrics);
	loop_free(a->loop);
	free(a);
}
