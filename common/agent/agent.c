/*
 * Start, heartbeat, uploads and stop of an agent, so that node_agent.c and cluster_agent.c contain
 * only what differs.
 *
 * The two agents stop in different ways (one profiles its last interval, the other hands its pods
 * over to other replicas), but both then wait for uploads, and both have promised to exit within
 * ten seconds. The deadline is therefore kept here and nowhere else: the loop gives up after
 * AGENT_STOP_NS, and what is done after it asks for the time that is left.
 */
#include "common/agent/agent.h"

#include <errno.h>
#include <signal.h>

#include "common/access/sent_key.h"
#include "common/http/http.h"
#include "common/privilege/syscall_refusals.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/process_metrics.h"
#include "common/upload/upload_format.h"

#define BEAT_NS (1 * NS_PER_S)
/* Kubernetes and systemd kill after 30 and 90 s; ten is what we promise. */
#define AGENT_STOP_NS (8 * NS_PER_S)
#define AGENT_EXIT_NS (9 * NS_PER_S)
#define AGENT_GUARD_NS (10 * NS_PER_S)
#define UPLOAD_RETRY_MAX_NS (30 * NS_PER_S)
#define UPLOADER_CLOSE_NS (2 * NS_PER_S) /* what it waits if there is time */

static void on_beat(void *ctx)
{
	struct agent *a = ctx;

	agent_status_beat(&a->status);
	syscall_refusals_report();
	if (a->tls)
		server_tls_refresh(a->tls);
	a->cfg.beat(a->cfg.ctx);
	loop_set_timer(a->beat_timer, BEAT_NS);
}

static void on_stop_timeout(void *ctx)
{
	struct agent *a = ctx;

	loop_stop(a->loop);
}

void agent_stop_if_done(struct agent *a)
{
	if (a->stopping && a->cfg.is_done(a->cfg.ctx) &&
	    (!a->uploader || uploader_pending(a->uploader) == 0))
		loop_stop(a->loop);
}

static void on_uploads_idle(void *ctx)
{
	agent_stop_if_done(ctx);
}

static size_t count_waiting(const struct agent *a)
{
	size_t n = a->uploader ? uploader_waiting(a->uploader) : 0;

	return a->cfg.count_waiting ? n + a->cfg.count_waiting(a->cfg.ctx) : n;
}

static void on_signal(void *ctx)
{
	struct agent *a = ctx;

	if (a->stopping) {
		loop_stop(a->loop);
		return;
	}
	a->stopping = true;
	a->exit_by_ns = clock_monotonic_ns() + AGENT_EXIT_NS;
	exit_guard_start(&a->guard, clock_monotonic_ns() + AGENT_GUARD_NS);
	loop_set_timer(a->stop_timer, AGENT_STOP_NS);
	log_info("stopping", "uploads_waiting=%zu", count_waiting(a));
	a->cfg.stop(a->cfg.ctx);
	if (a->uploader)
		uploader_hurry(a->uploader);
	agent_stop_if_done(a);
}

int agent_init(struct agent *a, const struct agent_config *cfg)
{
	int r;

	*a = (struct agent){.cfg = *cfg};
	r = loop_new(&a->loop);
	if (r == 0)
		r = loop_add_signal(a->loop, SIGTERM, on_signal, a);
	if (r == 0)
		r = loop_add_signal(a->loop, SIGINT, on_signal, a);
	if (r == 0)
		r = loop_add_timer(a->loop, on_stop_timeout, a, &a->stop_timer);
	if (r == 0)
		r = loop_add_timer(a->loop, on_beat, a, &a->beat_timer);
	if (r == 0)
		r = metrics_new(&a->metrics);
	if (r == 0)
		r = process_metrics_register(a->metrics, cfg->metrics_prefix, cfg->version);
	if (r == 0)
		r = log_register_metrics(a->metrics, cfg->metrics_prefix);
	if (r == 0)
		r = syscall_refusals_register(a->metrics, cfg->metrics_prefix);
	if (r == 0)
		agent_status_init(&a->status, a->metrics);
	return r;
}

void agent_fini(struct agent *a)
{
	syscall_refusals_report();
	agent_close_server(a);
	server_tls_free(a->tls);
	if (a->uploader && agent_time_left_ns(a) < UPLOADER_CLOSE_NS)
		uploader_set_close_time(a->uploader, agent_time_left_ns(a));
	/* the client borrows the uploader's bodies */
	http_client_free(a->client);
	uploader_free(a->uploader);
	sent_key_free(a->key);
	free(a->upload_endpoint);
	upload_format_free(a->format);
	metrics_free(a->metrics);
	loop_free(a->loop);
	exit_guard_stop(&a->guard);
}

/* ---- uploads ------------------------------------------------------------------------------- */

static int make_client(struct agent *a, const struct agent_upload_config *cfg)
{
	AUTO_FREE char *user_agent = NULL;
	struct http_client_config client = {
		.ca_file = cfg->ca_file,
		.insecure_skip_verify = cfg->insecure_skip_verify,
		.max_idle_connections = cfg->max_idle_connections,
	};

	if (asprintf(&user_agent, "%s/%s", a->cfg.program, a->cfg.version) < 0) {
		user_agent = NULL;
		return -ENOMEM;
	}
	client.user_agent = user_agent;
	return http_client_new(&a->client, a->loop, &client);
}

int agent_start_uploads(struct agent *a, const struct agent_upload_config *cfg, struct err *err)
{
	struct uploader_config uploads = {
		.max_items = cfg->max_items,
		.max_bytes = cfg->max_bytes,
		.max_sending = cfg->max_sending,
		.timeout_ns = cfg->timeout_ns,
		.retry_min_ns = cfg->retry_min_ns,
		.retry_max_ns = UPLOAD_RETRY_MAX_NS,
		.spool_dir = cfg->spool_dir,
		.spool_max_bytes = cfg->spool_max_bytes,
	};
	int r = sent_key_new(&a->key, cfg->api_key, cfg->api_key_file, err);

	if (r < 0)
		return err_wrap(err, r,
				cfg->api_key && *cfg->api_key ? "--api-key" : "--api-key-file");
	uploads.key = a->key;
	if (cfg->otlp_endpoint)
		r = upload_format_new_otlp(&a->format, cfg->otlp_headers, a->cfg.program,
					   a->cfg.version, err);
	if (r < 0)
		return r;
	uploads.format = a->format;
	if (cfg->otlp_endpoint)
		r = upload_format_otlp_url(&a->upload_endpoint, cfg->otlp_endpoint);
	else if (!cfg->endpoint)
		r = upload_url_from_collector(&a->upload_endpoint, cfg->collector);
	else if (!(a->upload_endpoint = strdup(cfg->endpoint)))
		r = -ENOMEM;
	uploads.endpoint = a->upload_endpoint;
	if (r == 0)
		r = make_client(a, cfg);
	if (r == 0)
		r = uploader_new(&a->uploader, a->loop, a->client, &uploads);
	if (r < 0)
		return r;
	uploader_on_idle(a->uploader, on_uploads_idle, a);
	return uploader_register_metrics(a->uploader, a->cfg.metrics_prefix, a->metrics);
}

/* ---- the server ---------------------------------------------------------------------------- */

int agent_use_tls(struct agent *a, const char *cert_file, const char *key_file, struct err *err)
{
	int r = server_tls_new(&a->tls, cert_file, key_file, err);

	if (r < 0 || !a->tls)
		return r;
	r = server_tls_register_metrics(a->tls, a->cfg.metrics_prefix, a->metrics);
	return r < 0 ? err_set(err, r, "register the metrics of TLS: %s", strerror(-r)) : 0;
}

int agent_listen(struct agent *a, const struct http_server_config *cfg, struct err *err)
{
	AUTO_FREE struct http_route *routes = NULL;
	struct http_server_config with_status = *cfg;
	size_t n = 0;

	while (cfg->routes && cfg->routes[n].method)
		n++;
	routes = calloc(n + 3, sizeof(*routes));
	if (!routes)
		return -ENOMEM;
	if (n > 0)
		memcpy(routes, cfg->routes, n * sizeof(*routes));
	routes[n] = (struct http_route){"GET",
					"/healthz",
					0,
					agent_status_healthz,
					&a->status,
					.scope = ACCESS_ANYONE,
					.essential = true};
	routes[n + 1] = (struct http_route){
		"GET", "/metrics", 0, agent_status_metrics, &a->status, .scope = ACCESS_NO_KEY};
	with_status.routes = routes;
	with_status.tls = a->tls;
	return http_server_new(&a->server, &with_status, err);
}

void agent_close_server(struct agent *a)
{
	http_server_free(a->server);
	a->server = NULL;
}

/* ---- running ------------------------------------------------------------------------------- */

int agent_run(struct agent *a)
{
	loop_set_timer(a->beat_timer, 0);
	return loop_run(a->loop);
}

uint64_t agent_time_left_ns(const struct agent *a)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (a->exit_by_ns == 0)
		return AGENT_STOP_NS;
	return a->exit_by_ns > now_ns + NS_PER_S ? a->exit_by_ns - now_ns : NS_PER_S;
}
