/*
 * The cluster agent in its two forms.
 *
 * With a store, it takes uploads, scrapes pods, stores both, and answers the page and SQL. With
 * --coroot-url, it has no store: it only scrapes pods and sends their profiles on, so uploads and
 * queries get 404. Scraping is the same in both; put_scraped() is where they part.
 *
 * What an upload was answered with must hold after a SIGTERM too, and requests are kept by
 * threads of several stages while they wait; so the order in cluster_agent_free() is not free to
 * choose.
 */
#include "cluster-agent/cluster_agent.h"

#include <errno.h>
#include <sys/stat.h>

#include "cluster-agent/cluster_options.h"
#include "cluster-agent/cluster_privileges.h"
#include "cluster-agent/cluster_store.h"
#include "cluster-agent/cluster_symbols.h"
#include "cluster-agent/ingest/clock_skews.h"
#include "cluster-agent/ingest/ingest.h"
#include "cluster-agent/ingest/ingest_feed.h"
#include "cluster-agent/notes/note_store.h"
#include "cluster-agent/otlp/otlp_grpc.h"
#include "cluster-agent/otlp/otlp_handler.h"
#include "cluster-agent/pod_scraping.h"
#include "cluster-agent/pyroscope/pyroscope_api.h"
#include "cluster-agent/receive/ignored_uploads.h"
#include "cluster-agent/receive/profile_handler.h"
#include "cluster-agent/receive/push_handler.h"
#include "cluster-agent/receive/symbol_handler.h"
#include "cluster-agent/receive/upload_answer.h"
#include "cluster-agent/source/source_code.h"
#include "cluster-agent/sql/clickhouse_port.h"
#include "cluster-agent/store/store.h"
#include "cluster-agent/store_upkeep.h"
#include "cluster-agent/storing_ready.h"
#include "cluster-agent/wal/log_drain.h"
#include "cluster-agent/wal/upload_log.h"
#include "cluster-agent/web/web_api.h"
#include "cluster-agent/web/web_login.h"
#include "common/access/access.h"
#include "common/agent/agent.h"
#include "common/http/http_listen.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/open_files.h"
#include "common/telemetry/log.h"
#include "common/upload/receiver_probe.h"
#include "common/upload/upload_url.h"
#include "version.h"

/*
 * A node-agent uploads over up to 16 connections at once, and each stays open for the time-out
 * after its last request. What is not used costs about 10 KiB.
 */
#define MAX_CONNECTIONS 4000u
#define REQUEST_TIMEOUT_S 30u

/* Profiles waiting for --coroot-url. */
#define UPLOAD_QUEUE_ITEMS 32768u
#define UPLOAD_QUEUE_BYTES (64 * MIB)
#define UPLOADS_AT_ONCE 32u
#define UPLOAD_TIMEOUT_NS (10 * NS_PER_S)
#define UPLOAD_RETRY_MIN_NS NS_PER_S

/* Members are in the order in which they are made. */
struct cluster_agent {
	const struct cluster_options *opts;
	struct agent base;
	struct access *access;
	struct web_login login;
	bool has_left; /* the replica set, or there is none: nothing more is scraped */
	/* with a store */
	struct store *store;
	struct upload_log *log;
	struct store_upkeep upkeep;
	struct clock_skews *clocks;
	struct ingest *ingest;
	struct log_drain *drain;
	struct ingest_feed *feed;
	struct upload_counters uploads;
	struct profile_handler *handler;
	struct push_handler push;
	struct cluster_symbols symbols;
	struct otlp_handler *otlp;
	struct otlp_grpc *otlp_grpc; /* NULL without --otlp-grpc-listen */
	struct ignored_uploads ignored;
	struct source_code *sources;
	struct query_jobs *queries;
	struct clickhouse_port *sql; /* NULL without --clickhouse-listen */

	struct pod_scraping *scraping; /* NULL if nothing is scraped */
	struct receiver_probe *probe;  /* NULL with a store */
};

static void on_left(void *ctx)
{
	struct cluster_agent *a = ctx;

	a->has_left = true;
	agent_stop_if_done(&a->base);
}

static void stop(void *ctx)
{
	struct cluster_agent *a = ctx;

	if (a->scraping)
		pod_scraping_leave(a->scraping, on_left, a);
	else
		a->has_left = true;
}

static bool is_done(void *ctx)
{
	const struct cluster_agent *a = ctx;

	return a->has_left;
}

/* What is scraped and not in the log yet is with ingest, and few. */
static size_t count_waiting(void *ctx)
{
	const struct cluster_agent *a = ctx;
	struct upload_log_state log = {0};

	if (a->log)
		upload_log_state(a->log, &log);
	return log.n_records;
}

static void on_beat(void *ctx)
{
	struct cluster_agent *a = ctx;

	if (a->scraping)
		pod_scraping_beat(a->scraping);
}

/* An agent that sends profiles on takes no uploads, and its --api-key is the receiver's. */
static int make_access(struct cluster_agent *a, struct err *err)
{
	const struct cluster_options *o = a->opts;
	bool sends_on = cluster_options_forward(o);
	const struct access_config cfg = {
		.write_key = sends_on ? NULL : o->api_key,
		.write_key_file = sends_on ? NULL : o->api_key_file,
		.read_key = o->read_api_key,
		.read_key_file = o->read_api_key_file,
		.notes_key = o->notes_api_key,
		.notes_key_file = o->notes_api_key_file,
		.anonymous_read = o->anonymous_read,
		.allowed_hosts = o->allowed_hosts,
	};
	int r = access_new(&a->access, &cfg, err);

	a->login.access = a->access;
	return r;
}

static int start_base(struct cluster_agent *a)
{
	const struct agent_config cfg = {
		.program = "coroot-cluster-agent",
		.metrics_prefix = "coroot_cluster_agent",
		.version = VERSION,
		.ctx = a,
		.beat = on_beat,
		.stop = stop,
		.is_done = is_done,
		.count_waiting = count_waiting,
	};

	return agent_init(&a->base, &cfg);
}

static int open_log(struct cluster_agent *a, struct err *err)
{
	AUTO_FREE char *dir = NULL;
	int r;

	if (asprintf(&dir, "%s/wal", a->opts->data_dir) < 0) {
		dir = NULL;
		return -ENOMEM;
	}
	/* the embedded engine has made it, but a ClickHouse server has not */
	if (mkdir(a->opts->data_dir, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "create %s: %m", a->opts->data_dir);
	r = upload_log_open(&a->log,
			    &(struct upload_log_config){.dir = dir,
							.lock_wait_ns = CLUSTER_STORE_LOCK_WAIT_NS,
							.max_bytes = a->opts->max_wal_bytes},
			    err);
	return r < 0 ? err_wrap(err, r, "open the write-ahead log") : 0;
}

/* Stacks of a refused or damaged upload are not in the store, although they were in the log. */
static void on_refused(void *ctx)
{
	struct cluster_agent *a = ctx;

	ingest_forget_stacks(a->ingest);
}

/* What became of a scraped profile. */
static void on_receipt(void *ctx, uint64_t number, const char *refusal)
{
	struct cluster_agent *a = ctx;

	if (a->scraping)
		pod_scraping_take_receipt(a->scraping, number, refusal);
}

static struct otlp_handler_config otlp_config(struct cluster_agent *a)
{
	return (struct otlp_handler_config){
		.ingest = a->ingest,
		.counters = &a->uploads,
		.profiles_ttl_ns = a->opts->profiles_ttl_ns,
	};
}

static int make_storing(struct cluster_agent *a)
{
	int r = clock_skews_new(&a->clocks);

	if (r == 0)
		r = ingest_new(&a->ingest,
			       &(struct ingest_config){.log = a->log,
						       .profiles_ttl_ns = a->opts->profiles_ttl_ns,
						       .clocks = a->clocks});
	if (r == 0)
		r = log_drain_new(&a->drain, &(struct log_drain_config){
						     .log = a->log,
						     .store = a->store,
						     .claim_wait_ns = a->opts->claim_wait_ns,
						     .refused = on_refused,
						     .ctx = a});
	if (r == 0)
		r = ingest_feed_new(&a->feed, &(struct ingest_feed_config){.loop = a->base.loop,
									   .ingest = a->ingest,
									   .on_receipt = on_receipt,
									   .receipt_ctx = a});
	if (r == 0)
		r = profile_handler_new(&a->handler,
					&(struct profile_handler_config){.ingest = a->ingest,
									 .counters = &a->uploads,
									 .clocks = a->clocks});
	a->push = (struct push_handler){.ingest = a->ingest, .counters = &a->uploads};
	if (r == 0) {
		const struct otlp_handler_config otlp = otlp_config(a);

		r = otlp_handler_new(&a->otlp, &otlp);
	}
	if (r == 0)
		r = source_code_new(&a->sources, a->opts->source_path, a->opts->source_url_template,
				    NULL);
	if (r == 0)
		r = query_jobs_new(&a->queries,
				   &(struct query_jobs_config){.store = a->store,
							       .symbols = a->symbols.store,
							       .sources = a->sources});
	return r;
}

static int register_storing(struct cluster_agent *a)
{
	int r = upload_counters_register(&a->uploads, a->base.metrics);

	if (r < 0)
		return r;
	r = ignored_uploads_register(&a->ignored, a->base.metrics);
	if (r < 0)
		return r;
	r = ingest_register(a->ingest, a->base.metrics);
	if (r < 0)
		return r;
	r = clock_skews_register(a->clocks, a->base.metrics);
	if (r < 0)
		return r;
	r = ingest_feed_register(a->feed, a->base.metrics);
	if (r < 0)
		return r;
	r = upload_log_register(a->log, a->base.metrics);
	if (r < 0)
		return r;
	r = log_drain_register(a->drain, a->base.metrics);
	if (r < 0)
		return r;
	r = cluster_symbols_register(&a->symbols, a->base.metrics);
	if (r < 0)
		return r;
	return query_jobs_register(a->queries, a->base.metrics);
}

static int open_sql_port(struct cluster_agent *a, struct err *err)
{
	const struct clickhouse_port_config cfg = {
		.store = a->store,
		.listen = a->opts->clickhouse_listen,
		.access = a->access,
		.tls = a->base.tls,
	};
	int r;

	if (!cfg.listen)
		return 0;
	r = clickhouse_port_new(&a->sql, &cfg, err);
	return r < 0 ? r : clickhouse_port_register(a->sql, a->base.metrics);
}

static int open_otlp_port(struct cluster_agent *a, struct err *err)
{
	const struct otlp_grpc_config cfg = {
		.handler = otlp_config(a),
		.listen = a->opts->otlp_grpc_listen,
		.access = a->access,
		.tls = a->base.tls,
	};
	int r;

	if (!cfg.listen)
		return 0;
	r = otlp_grpc_new(&a->otlp_grpc, &cfg, err);
	return r < 0 ? r : otlp_grpc_register(a->otlp_grpc, a->base.metrics);
}

static int start_storing(struct cluster_agent *a, struct err *err)
{
	int r = cluster_store_open(&a->store, a->opts, err);

	if (r == 0)
		r = open_log(a, err);
	if (r == 0)
		r = cluster_symbols_open(&a->symbols, a->opts, err);
	if (r < 0)
		return r;
	r = make_storing(a);
	if (r == 0)
		r = register_storing(a);
	if (r == 0)
		r = store_upkeep_start(&a->upkeep, a->store, a->opts, a->base.metrics);
	return r;
}

static int start_forwarding(struct cluster_agent *a, struct err *err)
{
	const struct agent_upload_config cfg = {
		.collector = a->opts->coroot_url,
		.api_key = a->opts->api_key,
		.api_key_file = a->opts->api_key_file,
		.ca_file = a->opts->ca_file,
		.insecure_skip_verify = a->opts->insecure_skip_verify,
		.max_items = UPLOAD_QUEUE_ITEMS,
		.max_bytes = UPLOAD_QUEUE_BYTES,
		.max_sending = UPLOADS_AT_ONCE,
		.max_idle_connections = UPLOADS_AT_ONCE,
		.timeout_ns = UPLOAD_TIMEOUT_NS,
		.retry_min_ns = UPLOAD_RETRY_MIN_NS,
		.spool_dir = a->opts->data_dir,
		.spool_max_bytes = a->opts->max_spool_bytes,
	};

	return agent_start_uploads(&a->base, &cfg, err);
}

static void put_scraped(void *ctx, uint64_t number, const struct upload_label *labels,
			struct buf *body)
{
	struct cluster_agent *a = ctx;

	/* the uploader counts profiles that it cannot queue */
	if (a->feed)
		ingest_feed_put(a->feed, number, labels, body);
	else if (uploader_add_numbered(a->base.uploader, number, labels, body) < 0)
		log_warn_limited("cannot queue a scraped profile", "waiting=%zu",
				 uploader_pending(a->base.uploader));
}

static int start_scraping(struct cluster_agent *a, struct err *err)
{
	const struct pod_scraping_config cfg = {
		.opts = a->opts, .loop = a->base.loop, .ctx = a, .put = put_scraped};
	int r;

	if (!pod_scraping_wanted(a->opts)) {
		if (cluster_options_forward(a->opts))
			return err_set(err, -EINVAL,
				       "nothing to forward: not in a pod, no --kubeconfig, no "
				       "--scrape-config and no --scrape-docker-socket");
		return 0;
	}
	if (a->base.uploader)
		uploader_on_receipt(a->base.uploader, on_receipt, a);
	r = pod_scraping_new(&a->scraping, &cfg, err);
	return r < 0 ? r : pod_scraping_register(a->scraping, a->base.metrics);
}

static void on_wishes(void *ctx, const struct receiver_wishes *w)
{
	struct cluster_agent *a = ctx;

	pod_scraping_set_wishes(a->scraping, w);
}

/* The receiver may be another of our agents, with a store. */
static int start_probe(struct cluster_agent *a)
{
	const struct receiver_probe_config cfg = {
		.endpoint = a->base.upload_endpoint,
		.key = a->base.key,
		.uploader = a->base.uploader,
		.on_answer = on_wishes,
		.ctx = a,
	};

	if (!cluster_options_forward(a->opts))
		return 0;
	return receiver_probe_new(&a->probe, a->base.loop, a->base.client, &cfg);
}

static void serve_ready(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;
	const char *problem = NULL;

	if (a->log) {
		storing_ready_serve(a->log, a->drain, x);
		return;
	}
	problem = pod_scraping_synced(a->scraping) ? uploader_problem(a->base.uploader)
						   : "pods have not been listed yet";
	http_respond_text(x, problem ? 503 : 200, "%s", problem ? problem : "ok");
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

	if (a->queries)
		web_api_serve(a->queries, x);
	else
		respond_error(x, 404,
			      "this agent keeps no profiles: it sends them to --coroot-url");
}

/* The hosts whose clock is wrong; without a store the receiver knows them. */
static void serve_clocks(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;
	CLEANUP(buf_fini) struct buf out;
	size_t len;
	char *body;

	buf_init(&out, MIB);
	if (!a->clocks) {
		serve_api(ctx, x);
		return;
	}
	if (clock_skews_json(a->clocks, &out) < 0) {
		respond_error(x, 503, "out of memory");
		return;
	}
	body = buf_take(&out, &len);
	http_respond(x, 200, "application/json", body, len);
}

/* What waits for the store. */
static void serve_backlog(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;

	if (a->log)
		storing_backlog_serve(a->log, a->drain, x);
	else
		serve_api(ctx, x);
}

static void serve_pyroscope(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;

	if (a->queries)
		pyroscope_api_serve(a->queries, x);
	else
		serve_api(ctx, x);
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

static void serve_ingest(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;

	if (a->handler)
		push_handler_serve_ingest(&a->push, x);
	else
		serve_upload(a, x);
}

static void serve_push(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;

	if (a->handler)
		push_handler_serve_push(&a->push, x);
	else
		serve_upload(a, x);
}

static void serve_symbols(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;

	if (a->symbols.uploads)
		symbol_handler_serve(a->symbols.uploads, x);
	else
		serve_upload(a, x);
}

static void serve_otlp(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;

	if (a->otlp)
		otlp_handler_serve(a->otlp, x);
	else
		serve_upload(a, x);
}

static void serve_ignored(struct cluster_agent *a, struct http_exchange *x, http_handler_fn fn)
{
	if (a->handler)
		fn(&a->ignored, x);
	else
		serve_upload(a, x);
}

static void serve_metrics_upload(void *ctx, struct http_exchange *x)
{
	serve_ignored(ctx, x, ignored_uploads_serve_metrics);
}

static void serve_logs_upload(void *ctx, struct http_exchange *x)
{
	serve_ignored(ctx, x, ignored_uploads_serve_logs);
}

static void serve_traces_upload(void *ctx, struct http_exchange *x)
{
	serve_ignored(ctx, x, ignored_uploads_serve_traces);
}

static void serve_wishes(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;
	const char *json = receiver_wishes_json(&RECEIVER_WISHES_COROOT);

	if (a->handler)
		profile_handler_serve_wishes(a->handler, x);
	else
		http_respond_static(x, "application/json", json, strlen(json), false);
}

/* One address for people and programs, as in Prometheus: browsers ask for HTML. */
static void serve_targets(void *ctx, struct http_exchange *x)
{
	struct cluster_agent *a = ctx;
	const char *accept = http_exchange_header(x, "Accept");

	if (accept && strstr(accept, "text/html"))
		web_page_serve(NULL, x);
	else if (!http_exchange_require(x, ACCESS_READ))
		return;
	else if (a->scraping)
		pod_scraping_serve_targets(a->scraping, x);
	else
		respond_error(x, 404,
			      "nothing is scraped: the agent runs outside Kubernetes without "
			      "--kubeconfig, --scrape-config and --scrape-docker-socket, or "
			      "--profiles-scrape-interval is 0");
}

static int listen_on(struct cluster_agent *a, struct err *err)
{
	size_t most = open_files_share(open_files_raise());
	const struct http_route routes[] = {
		{"POST", "/v1/profiles", LIMIT_UPLOAD_BYTES, serve_upload, a,
		 .scope = ACCESS_WRITE},
		{"POST", "/ingest", LIMIT_UPLOAD_BYTES, serve_ingest, a, .scope = ACCESS_WRITE},
		{"POST", "/pyroscope/ingest", LIMIT_UPLOAD_BYTES, serve_ingest, a,
		 .scope = ACCESS_WRITE},
		{"POST", "/push.v1.PusherService/Push", LIMIT_UPLOAD_BYTES, serve_push, a,
		 .scope = ACCESS_WRITE},
		{"POST", "/v1development/profiles", LIMIT_UPLOAD_BYTES, serve_otlp, a,
		 .scope = ACCESS_WRITE},
		{"POST", "/v1/symbols", LIMIT_UPLOAD_BYTES, serve_symbols, a,
		 .scope = ACCESS_WRITE},
		{"GET", "/v1/profiles", 0, serve_wishes, a, .scope = ACCESS_ANYONE},
		{"POST", "/v1/metrics", LIMIT_UPLOAD_BYTES, serve_metrics_upload, a, ACCESS_WRITE,
		 true},
		{"POST", "/v1/logs", LIMIT_UPLOAD_BYTES, serve_logs_upload, a, ACCESS_WRITE, true},
		{"POST", "/v1/traces", LIMIT_UPLOAD_BYTES, serve_traces_upload, a, ACCESS_WRITE,
		 true},
		{"POST", "/api/login", WEB_LOGIN_MAX_BYTES, web_login_serve, &a->login,
		 .scope = ACCESS_BEFORE_KEY},
		{"POST", "/api/logout", 0, web_login_serve_logout, &a->login,
		 .scope = ACCESS_BEFORE_KEY},
		{"GET", "/api/session", 0, web_login_serve_session, &a->login,
		 .scope = ACCESS_BEFORE_KEY},
		{"GET", "/api/clocks", 0, serve_clocks, a, .scope = ACCESS_READ},
		{"GET", "/api/backlog", 0, serve_backlog, a, .scope = ACCESS_READ},
		{"GET", "/api/*", 0, serve_api, a, .scope = ACCESS_READ},
		{"POST", "/api/notes", NOTE_STORE_TEXT_BYTES, serve_api, a, .scope = ACCESS_NOTES},
		{"DELETE", "/api/notes", 0, serve_api, a, .scope = ACCESS_NOTES},
		{"POST", "/api/snapshots", NOTE_STORE_TEXT_BYTES, serve_api, a,
		 .scope = ACCESS_NOTES},
		{"POST", "/querier.v1.QuerierService/*", PYROSCOPE_API_MAX_BODY_BYTES,
		 serve_pyroscope, a, .scope = ACCESS_READ},
		{"POST", "/settings.v1.SettingsService/*", PYROSCOPE_API_MAX_BODY_BYTES,
		 serve_pyroscope, a, .scope = ACCESS_READ},
		{"POST", "/capabilities.v1.FeatureFlagsService/*", PYROSCOPE_API_MAX_BODY_BYTES,
		 serve_pyroscope, a, .scope = ACCESS_READ},
		{"GET", "/pyroscope/*", 0, serve_pyroscope, a, .scope = ACCESS_READ},
		{"GET", "/readyz", 0, serve_ready, a, .scope = ACCESS_ANYONE, .essential = true},
		{"GET", "/targets", 0, serve_targets, a, .scope = ACCESS_BEFORE_KEY},
		{"GET", "/", 0, web_page_serve, NULL, .scope = ACCESS_BEFORE_KEY},
		{"GET", "/assets/*", 0, web_page_serve, NULL, .scope = ACCESS_BEFORE_KEY},
		{"GET", "/docs/*", 0, web_page_serve, NULL, .scope = ACCESS_BEFORE_KEY},
		{},
	};
	const struct http_server_config cfg = {
		.listen = a->opts->listen,
		.n_threads = 2,
		.max_connections = most < MAX_CONNECTIONS ? (unsigned)most : MAX_CONNECTIONS,
		.timeout_s = REQUEST_TIMEOUT_S,
		.max_body_memory_bytes = LIMIT_UPLOADS_MEMORY_BYTES,
		.max_answer_memory_bytes = LIMIT_ANSWERS_MEMORY_BYTES,
		.routes = routes,
		.base_path = a->opts->url_base_path,
		.access = a->access,
		.metrics = a->base.metrics,
	};

	int r = web_login_register(&a->login, a->base.metrics);

	return r == 0 ? agent_listen(&a->base, &cfg, err) : r;
}

static int start(struct cluster_agent *a, struct err *err)
{
	int r = make_access(a, err);

	if (r == 0)
		r = start_base(a);
	if (r == 0)
		r = agent_use_tls(&a->base, a->opts->tls_cert, a->opts->tls_key, err);
	if (r == 0)
		cluster_privileges_limit_writes(a->opts);
	if (r == 0)
		r = cluster_options_forward(a->opts) ? start_forwarding(a, err)
						     : start_storing(a, err);
	if (r == 0)
		r = start_scraping(a, err);
	if (r == 0)
		r = start_probe(a);
	if (r == 0)
		r = cluster_privileges_filter(a->opts, err);
	if (r == 0 && a->store)
		r = open_sql_port(a, err);
	if (r == 0 && a->store)
		r = open_otlp_port(a, err);
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
	r = open_files_require(err);
	if (r == 0)
		r = start(a, err);
	if (r < 0)
		return err->msg[0] ? r : err_set(err, r, "cannot start: %s", strerror(-r));
	*ret = TAKE_PTR(a);
	return 0;
}

int cluster_agent_run(struct cluster_agent *a)
{
	const struct cluster_options *o = a->opts;

	if (cluster_options_forward(o)) {
		AUTO_FREE char *url = strdup(o->coroot_url);

		if (url)
			upload_url_remove_user(url);
		log_info("listening", "address=%s port=%u coroot_url=%s", o->listen,
			 http_server_port(a->base.server), LOG_QUOTED(url ?: ""));
	} else {
		log_info("listening", "address=%s port=%u storage=%s data_dir=%s", o->listen,
			 http_server_port(a->base.server),
			 cluster_storage_names[cluster_options_storage(o)],
			 LOG_QUOTED(o->data_dir));
	}
	if (!cluster_options_forward(o) && !access_needs_key(a->access, ACCESS_READ) &&
	    !http_listen_is_loopback(o->listen))
		log_warn("everybody who reaches this address can read all profiles: set "
			 "--read-api-key or --api-key",
			 "listen=%s", LOG_QUOTED(o->listen));
	return agent_run(&a->base);
}

/*
 * Everything that the server may have passed a request to must answer before the server can be
 * freed, and may itself be freed only after the server, whose threads call it and read its metrics.
 * Uploads become durable in the log, and are stored as far as the time allows; queries are ended.
 */
void cluster_agent_free(struct cluster_agent *a)
{
	if (!a)
		return;
	if (a->base.server)
		http_server_quiesce(a->base.server);
	if (a->otlp_grpc)
		otlp_grpc_quiesce(a->otlp_grpc);
	if (a->store)
		store_stop_queries(a->store);
	if (a->scraping)
		pod_scraping_stop(a->scraping);
	if (a->feed)
		ingest_feed_flush(a->feed);
	if (a->ingest)
		ingest_stop(a->ingest, agent_time_left_ns(&a->base));
	if (a->log)
		upload_log_stop(a->log);
	log_drain_stop(a->drain, agent_time_left_ns(&a->base));
	cluster_symbols_stop(&a->symbols);
	if (a->queries)
		query_jobs_stop(a->queries);
	otlp_grpc_free(a->otlp_grpc);
	agent_close_server(&a->base);
	receiver_probe_free(a->probe);
	pod_scraping_free(TAKE_PTR(a->scraping));
	clickhouse_port_free(a->sql);
	query_jobs_free(a->queries);
	source_code_free(a->sources);
	cluster_symbols_close(&a->symbols);
	otlp_handler_free(a->otlp);
	profile_handler_free(a->handler);
	ingest_feed_free(a->feed);
	log_drain_free(a->drain);
	ingest_free(a->ingest);
	clock_skews_free(a->clocks);
	upload_log_close(a->log);
	store_upkeep_stop(&a->upkeep);
	store_close(a->store);
	agent_fini(&a->base);
	access_free(a->access);
	free(a);
}
