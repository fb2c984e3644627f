/*
 * The certificate of our listeners (--tls-cert, --tls-key), read again when the files change. One
 * object for all listeners of a process; any thread.
 *
 * A certificate that was replaced, by a Kubernetes Secret, cert-manager or certbot, is used for new
 * connections after server_tls_refresh(); existing ones keep theirs. Files that cannot be used
 * leave the previous certificate in place.
 */
#ifndef COMMON_HTTP_SERVER_TLS_H
#define COMMON_HTTP_SERVER_TLS_H

#include "common/base.h"
#include "common/err.h"
#include "common/telemetry/metrics.h"

struct server_tls;

/*
 * Both are PEM files; the first may have a chain, the second no passphrase. NULL or "" means not
 * given: if neither is, *ret is NULL. Returns 0, or an error with a sentence in err.
 */
int server_tls_new(struct server_tls **ret, const char *cert_file, const char *key_file,
		   struct err *err) MUST_CHECK;
/* After the servers that use it. */
void server_tls_free(struct server_tls *t);
DEFINE_CLEANUP(struct server_tls *, server_tls_free);

/* Loads the files if they have changed. Called every second or so, by one thread. */
void server_tls_refresh(struct server_tls *t);

/* prefix must outlive ms, and t every write of ms. Returns what metrics_register_as() does. */
int server_tls_register_metrics(struct server_tls *t, const char *prefix,
				struct metrics *ms) MUST_CHECK;

#endif /* COMMON_HTTP_SERVER_TLS_H */
