/* What debuginfod.c and its downloads share. */
#ifndef CLUSTER_AGENT_SYMBOLS_DEBUGINFOD_STATE_H
#define CLUSTER_AGENT_SYMBOLS_DEBUGINFOD_STATE_H

#include <pthread.h>

#include "cluster-agent/symbols/asked_builds.h"
#include "cluster-agent/symbols/debuginfod.h"
#include "cluster-agent/symbols/symbol_reader.h"
#include "common/base.h"
#include "common/debuginfod/debuginfod_receive.h"
#include "common/http/backoff.h"
#include "common/http/http.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/thread/condition.h"
#include "common/thread/worker_thread.h"

/* Downloads under way; reading takes one after the other. */
#define DEBUGINFOD_AT_ONCE 2u

enum debuginfod_metric {
	DEBUGINFOD_FOUND,
	DEBUGINFOD_ABSENT,
	DEBUGINFOD_TOO_LARGE,
	DEBUGINFOD_FAILED,
	DEBUGINFOD_BYTES,
	DEBUGINFOD_NAMED,
	DEBUGINFOD_SETTLED, /* and the other reasons after it */
	DEBUGINFOD_SETTLED_LAST = DEBUGINFOD_SETTLED + ASKED_REASONS - 1,
	DEBUGINFOD_READER_ENDED,
	DEBUGINFOD_WAITING,
	DEBUGINFOD_REMEMBERED,
	DEBUGINFOD_FORGOTTEN,
	DEBUGINFOD_METRICS,
};

struct debuginfod_server {
	const char *url;
	char *shown; /* without a password */
	struct backoff backoff;
	uint64_t up_ns;    /* when it may be asked again; ns since the epoch */
	char problem[160]; /* of its last failure; "": it answers */
};

enum debuginfod_phase {
	DOWNLOAD_NONE,
	DOWNLOAD_SYMBOLS,
	DOWNLOAD_PROGRAM,
	DOWNLOAD_UNREAD, /* waits for the reader */
	DOWNLOAD_READ,
};

/* One build that is being asked for. Loop thread only. */
struct debuginfod_download {
	struct debuginfod *d;
	struct asked_build *build;
	enum debuginfod_phase phase;
	size_t server;
	uint32_t failed_at; /* servers, as bits, that failed since it began */
	bool needs_offsets;
	bool is_bad; /* a server had a file of no use: */
	enum asked_reason bad;
	int symbols, program, table; /* files without a name */
	struct debuginfod_receive *receive;
};

struct debuginfod {
	struct debuginfod_config cfg; /* texts are not valid any more */
	struct debuginfod_urls urls;
	struct debuginfod_server servers[DEBUGINFOD_URLS_MAX];
	char *servers_text;
	int dir_fd;
	struct worker_thread *thread;
	struct loop *loop;
	struct loop_source *wake, *timer, *save_timer, *answers;
	struct http_client *client;
	struct symbol_reader *reader;
	struct debuginfod_download downloads[DEBUGINFOD_AT_ONCE];
	/* with the lock */
	pthread_mutex_t lock;
	struct condition changed;
	struct asked_builds *asked;
	uint64_t up_ns; /* when any server may be asked */
	bool is_stopping, is_dirty;
	struct metric metrics[DEBUGINFOD_METRICS];
};

/* debuginfod_download.c: begins all that is due and has a place, and sets the timer for more. */
void debuginfod_continue(struct debuginfod *d);
/* The reader has something to say. */
void debuginfod_read_answer(void *ctx, uint32_t events);
void debuginfod_cancel(struct debuginfod_download *l);
/* Updates gauges. With the lock. */
void debuginfod_show(struct debuginfod *d);

#endif /* CLUSTER_AGENT_SYMBOLS_DEBUGINFOD_STATE_H */
