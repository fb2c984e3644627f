/*
 * One request to one ClickHouse server, on a libcurl easy handle: sends a statement and judges the
 * answer. Blocking; a handle belongs to one thread at a time.
 */
#ifndef CLUSTER_AGENT_STORE_CLICKHOUSE_TRANSFER_H
#define CLUSTER_AGENT_STORE_CLICKHOUSE_TRANSFER_H

#include <stdatomic.h>

#include <curl/curl.h>

#include "cluster-agent/store/clickhouse_client.h"

struct clickhouse_transfer {
	const struct clickhouse_statement *st;
	const char *base; /* URL of the server */
	const char *user;
	const char *password;
	bool inflate;            /* send the rows inflated */
	uint64_t deadline_ns;    /* on the monotonic clock */
	const atomic_bool *stop; /* NULL, or ends the transfer with -EPIPE when it turns true */
	struct buf *out;         /* the answer is appended; may be NULL */

	/* results */
	struct clickhouse_failure failure;
	bool was_idle; /* failed on a kept connection before any answer: try again at once */
};

/* As clickhouse_client_run(), but for one attempt. easy has the options for TLS already. */
int clickhouse_transfer_run(struct clickhouse_transfer *t, CURL *easy, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_CLICKHOUSE_TRANSFER_H */
