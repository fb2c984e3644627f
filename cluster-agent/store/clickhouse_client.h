/*
 * ClickHouse servers over HTTP(S): one statement per call, blocking.
 *
 * Thread-safe: any number of statements at once, each on a connection of its own that is kept for
 * the next one. With several addresses the first that works is used as long as it works; one that
 * failed is left alone for a while, which doubles up to half a minute. Redirects are not followed,
 * because they would be sent the password, which travels in a header and is in no URL and no
 * message. Proxies come from the environment (https_proxy, no_proxy).
 *
 * An answer counts only if it is complete and a ClickHouse server says that it made it: an ingress
 * that answers 200 must not make rows disappear.
 */
#ifndef CLUSTER_AGENT_STORE_CLICKHOUSE_CLIENT_H
#define CLUSTER_AGENT_STORE_CLICKHOUSE_CLIENT_H

#include "cluster-agent/store/clickhouse_address.h"
#include "cluster-agent/store/clickhouse_error.h"
#include "cluster-agent/store/clickhouse_request.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

struct clickhouse_client;

/* Copied; NULL means not given. Files are read again when they are needed again. */
struct clickhouse_client_config {
	const struct clickhouse_address *addresses;
	size_t n_addresses;
	const char *user; /* NULL: "default" */
	const char *password;
	const char *password_file; /* instead of password; read again if a server refuses it */
	const char *ca_file;       /* NULL: the system's */
	const char *cert_file;     /* client certificate, needs key_file */
	const char *key_file;
	bool skip_verify;
};

/* Returns 0, -EINVAL or -errno of reading password_file with a sentence in err, or -ENOMEM. */
int clickhouse_client_new(struct clickhouse_client **ret,
			  const struct clickhouse_client_config *cfg, struct err *err) MUST_CHECK;
/* No statement may be under way. NULL is allowed. */
void clickhouse_client_free(struct clickhouse_client *c);
DEFINE_CLEANUP(struct clickhouse_client *, clickhouse_client_free);

struct clickhouse_failure {
	int code; /* of the exception; 0: there was none */
	enum clickhouse_advice advice;
};

/*
 * Runs the statement and appends its answer to out, which may be NULL. Returns 0, or with one line
 * in err:
 *  -EREMOTEIO  a server answered with an exception, or something on the way refused the request as
 *              too large; ret says which, and out has the text instead of an answer, cut to its
 *              limit;
 *  -EAGAIN     no server could be reached or gave a whole answer; whether it has executed the
 *              statement is not known;
 *  -EFBIG      the answer exceeds the limit of out;
 *  -EPIPE      clickhouse_client_stop() or _end() ended it; whether it was executed is not known;
 *  -ECANCELED  st->cancelled has turned true; a server ends a query whose connection is closed;
 *  -EBADMSG    the frames are no zstd;
 *  -EINVAL     a parameter has a bad name; or -ENOMEM.
 */
int clickhouse_client_run(struct clickhouse_client *c, const struct clickhouse_statement *st,
			  struct buf *out, struct clickhouse_failure *ret,
			  struct err *err) MUST_CHECK;

/* Ends cancellable statements within a second or so, and refuses later ones. From any thread. */
void clickhouse_client_stop(struct clickhouse_client *c);
/* Does the same to all other statements. */
void clickhouse_client_end(struct clickhouse_client *c);

#endif /* CLUSTER_AGENT_STORE_CLICKHOUSE_CLIENT_H */
