/*
 * What both agents have in common between start and exit: the event loop, signals, a heartbeat,
 * metrics, the HTTP server with /metrics and /healthz, the upload of profiles, and an orderly stop.
 *
 * SIGTERM or SIGINT begins the stop: the owner hands over what it still has (stop), uploads are
 * tried at once, and the loop ends when the owner says that it is done and no upload is pending, or
 * after AGENT_STOP_NS. A second signal ends the loop at once. The agent is to exit within ten
 * seconds of the first signal: what is freed after the loop takes agent_time_left_ns().
 *
 * Loop thread only.
 */
#ifndef COMMON_AGENT_AGENT_H
#define COMMON_AGENT_AGENT_H

#include "common/agent/agent_status.h"
#include "common/agent/exit_guard.h"
#include "common/base.h"
#include "common/err.h"
#include "common/http/http.h"
#include "common/http/http_server.h"
#include "common/http/server_tls.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/upload/uploader.h"

struct sent_key;
struct upload_format;

struct agent_config {
	const char *program;        /* "coroot-node-agent" */
	const char *metrics_prefix; /* "coroot_node_agent" */
	const char *version;
	void *ctx;
	void (*beat)(void *ctx); /* called every second */
	void (*stop)(void *ctx); /* called once, at the first signal */
	/*
	 * Whether everything is with the uploader; once it is, the owner calls
	 * agent_stop_if_done().
	 */
	bool (*is_done)(void *ctx);
	/* How many uploads wait elsewhere than with the uploader, for the log; NULL: none. */
	size_t (*count_waiting)(void *ctx);
};

struct agent_upload_config {
	const char *endpoint;  /* full URL; if NULL, <collector>/v1/profiles */
	const char *collector; /* base URL */
	/* base URL of an OTLP receiver, to which profiles are sent as OTLP, instead of the two */
	const char *otlp_endpoint;
	const char *otlp_headers; /* "name=value,…"; NULL: none */
	const char *api_key;      /* NULL if there is none */
	const char *api_key_file;
	const char *ca_file; /* NULL: the system's */
	bool insecure_skip_verify;
	size_t max_items;
	size_t max_bytes;
	unsigned max_sending;
	unsigned max_idle_connections; /* 0: the default of the client */
	uint64_t timeout_ns;
	uint64_t retry_min_ns;
	const char *spool_dir; /* NULL or "": profiles wait in memory only */
	uint64_t spool_max_bytes;
};

struct agent {
	struct agent_config cfg;
	struct loop *loop;
	struct metrics *metrics;
	struct http_server *server; /* NULL until agent_listen() */
	struct server_tls *tls;     /* of all listeners; NULL: plain HTTP */
	/* NULL unless agent_start_uploads() was called */
	struct uploader *uploader;
	struct http_client *client; /* of the uploader; others may use it until agent_fini() */
	char *upload_endpoint;      /* where it sends to */
	struct sent_key *key;       /* of uploads */
	struct upload_format *format;
	/* of agent.c */
	struct agent_status status;
	struct loop_source *beat_timer;
	struct loop_source *stop_timer;
	bool stopping;
	uint64_t exit_by_ns; /* monotonic; 0 before the stop */
	struct exit_guard guard;
};

/*
 * Blocks the signals, so it comes before any other thread. Metrics of the process and of the log
 * are registered. Returns 0, -ENOMEM, or -EMFILE and the like; agent_fini() is called in every
 * case.
 */
int agent_init(struct agent *a, const struct agent_config *cfg) MUST_CHECK;
/* After agent_close_server() and everything else that uses the loop. */
void agent_fini(struct agent *a);

/* Returns 0, -ENOMEM, -EMFILE and the like, or an error of api_key_file with a sentence in err. */
int agent_start_uploads(struct agent *a, const struct agent_upload_config *cfg,
			struct err *err) MUST_CHECK;

/*
 * Loads the certificate of all listeners (--tls-cert, --tls-key) and keeps it current; without
 * both, they speak plain HTTP. Before agent_listen(). Errors as of server_tls_new().
 */
int agent_use_tls(struct agent *a, const char *cert_file, const char *key_file,
		  struct err *err) MUST_CHECK;

/*
 * Serves the routes of cfg (may be NULL) and /metrics and /healthz. All metrics must be registered.
 * Errors as of http_server_new().
 */
int agent_listen(struct agent *a, const struct http_server_config *cfg, struct err *err) MUST_CHECK;
/* Waits for the answers of the requests that were accepted: see http_server_free(). */
void agent_close_server(struct agent *a);

/* Until the stop is complete. Returns 0 or -errno of the loop. */
int agent_run(struct agent *a) MUST_CHECK;

/* To be called whenever is_done() may have become true. */
void agent_stop_if_done(struct agent *a);

/* What is left of the time to exit, at least a second. */
uint64_t agent_time_left_ns(const struct agent *a);

#endif /* COMMON_AGENT_AGENT_H */
