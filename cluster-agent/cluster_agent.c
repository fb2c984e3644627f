#include "cluster-agent/cluster_agent.h"

#include <errno.h>
#include <signal.h>

#include "cluster-agent/cluster_options.h"
#include "cluster-agent/ingest/ingest.h"
#include "cluster-agent/receive/profile_handler.h"
#include "cluster-agent/store/clickhouse_port.h"
#include "cluster-agent/store/store.h"
#include "cluster-agent/store/store_writer.h"
#include "cluster-agent/web/web_api.h"
#include "cluster-agent/web/web_page.h"
#include "common/agent_status.h"
#include "common/clock.h"
#include "common/http_server.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/metrics.h"
#include "version.h"

#define BEAT_NS NS_PER_S
#define FLUSH_TIMEOUT_NS (8 * NS_PER_S)
#define MAX_CONNECTIONS 1000u
#define REQUEST_TIMEOUT_S 30u

/* In the order in which they are made. */
struct cluster_agent {
	const struct cluster_options *opts;
	struct loop *loop;
	struct loop_source *beat;
	struct metrics *metrics;
	struct agent_status status;
	struct store *store;
	struct store_writer *writer;
	struct ingest *ingest;
	struct profile_handler *handler;
	struct web_api *web;
	struct clickhouse_port *sql; /* NULL unless asked for */
	struct http_server *server;
};

static void stop(void *ctx)
{
	struct cluster_agent *a = ctx;

	log_info("stopping", "storage=%s", a->opts->storage);
	loop_stop(a->loop);
}

static void beat(void *ctx)
{
	struct cluster_agent *a = ctx;

	agent_status_beat(&a->status);
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
		r = loop_add_timer(a->loop, beat, a, &a->beat);
	if (r == 0)
		loop_set_timer(a->beat, 0);
	return r;
}

static int open_store(struct cluster_agent *a, struct err *err)
{
	const struct store_embedded_config cfg = {
		.data_dir = a->opts->data_dir,
		.profiles_ttl_ns = a->opts->profiles_ttl_ns,
		.chdb_library = a->opts->chdb_library,
	};

	return store_open_embedded(&a->store, &cfg, err);
}

static int make_stages(struct cluster_agent *a)
{
	int r = store_writer_new(&a->writer, &(struct store_writer_config){.store = a->store});

	if (r == 0)
		r = ingest_new(&a->ingest, &(struct ingest_config){
						   .writer = a->writer,
						   .profiles_ttl_ns = a->opts->profiles_ttl_ns});
	if (r == 0)
		r = profile_handler_new(
			&a->handler, &(struct profile_handler_config){.ingest = a->ingest,
								      .api_key = a->opts->api_key});
	if (r == 0)
		r = web_api_new(&a->web, &(struct web_api_config){.store = a->store});
	return r;
}

static int make_metrics(struct cluster_agent *a)
{
	int r = metrics_register_process(a->metrics, "coroot_cluster_agent", VERSION);

	if (r == 0)
		r = profile_handler_register(a->handler, a->metrics);
	if (r == 0)
		r = ingest_register(a->ingest, a->metrics);
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

static int listen_on(struct cluster_agent *a, struct err *err)
{
	const struct http_route routes[] = {
		{"POST", "/v1/profiles", LIMIT_UPLOAD_BYTES, profile_handler_serve, a->handler},
		{"GET", "/api/*", 0, web_api_serve, a->web},
		{"GET", "/readyz", 0, web_api_serve, a->web},
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

int cluster_agent_new(struct cluster_agent **ret, const struct cluster_options *opts,
		      struct err *err)
{
	CLEANUP(cluster_agent_freep) struct cluster_agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->opts = opts;
	r = make_loop(a);
	if (r == 0)
		r = metrics_new(&a->metrics);
	if (r < 0)
		return err_set(err, r, "cannot start: %s", strerror(-r));
	agent_status_init(&a->status, a->metrics);
	r = open_store(a, err);
	if (r < 0)
		return r;
	r = make_stages(a);
	if (r == 0)
		r = make_metrics(a);
	if (r < 0)
		return err_set(err, r, "cannot start: %s", strerror(-r));
	r = open_sql_port(a, err);
	if (r == 0)
		r = listen_on(a, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(a);
	return 0;
}

int cluster_agent_run(struct cluster_agent *a)
{
	log_info("listening", "address=%s port=%u storage=%s data_dir=%s", a->opts->listen,
		 http_server_port(a->server), a->opts->storage, LOG_QUOTED(a->opts->data_dir));
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
	if (a->ingest)
		ingest_stop(a->ingest, FLUSH_TIMEOUT_NS);
	store_writer_free(a->writer);
	if (a->web)
		web_api_stop(a->web);
	http_server_free(a->server);
	clickhouse_port_free(a->sql);
	web_api_free(a->web);
	profile_handler_free(a->handler);
	ingest_free(a->ingest);
	store_close(a->store);
	metrics_free(a->metrics);
	loop_free(a->loop);
	free(a);
}
