/* A statement as the URL of ClickHouse's HTTP interface. Pure. */
#ifndef CLUSTER_AGENT_STORE_CLICKHOUSE_REQUEST_H
#define CLUSTER_AGENT_STORE_CLICKHOUSE_REQUEST_H

#include <stdatomic.h>

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/buf.h"

struct clickhouse_setting {
	const char *name;
	const char *value;
};

struct clickhouse_statement {
	const char *sql;
	const char *database; /* the current one of the statement; NULL: the user's default */
	const char *format;   /* of an answer, unless the SQL has a FORMAT clause; may be NULL */
	const struct clickhouse_setting *settings;
	size_t n_settings;
	const struct store_setting *query_settings; /* after those above; may repeat them */
	size_t n_query_settings;
	const struct store_param *params; /* {name:Type} in the SQL; only without frames */
	size_t n_params;
	const struct store_frame *frames; /* the rows of an INSERT; borrowed */
	size_t n_frames;
	uint64_t timeout_ns;          /* of all attempts together */
	uint64_t attempt_timeout_ns;  /* of each */
	bool cancellable;             /* clickhouse_client_stop() ends it */
	const atomic_bool *cancelled; /* ends it when it turns true; may be NULL */
	/* May be executed twice without harm: after a lost answer it is sent to the next server. */
	bool repeatable;
};

#define CLICKHOUSE_QUERY_ID_BYTES 33u

/* Whether the parameters are too long for a URL, and travel as a form instead. */
bool clickhouse_request_needs_form(const struct clickhouse_statement *st);

/*
 * Appends the URL to ret. The SQL is in it if the statement has frames, because they are the body;
 * parameters are in it unless they need a form. Returns 0, -EINVAL for a bad name of a parameter,
 * -ENOMEM, or -EFBIG over the limit of ret.
 */
int clickhouse_request_url(const struct clickhouse_statement *st, const char *base,
			   const char *query_id, struct buf *ret) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_CLICKHOUSE_REQUEST_H */
