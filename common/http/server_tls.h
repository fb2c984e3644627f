/*
 * The certificate of our listeners (--tls-cert, --tls-key), read again when the files change. One
 * object for all listeners of a process; any thread.
 */
#ifndef COMMON_HTTP_SERVER_TLS_H
#define COMMON_HTTP_SERVER_TLS_H

#include "common/base.h"
#include "common/err.h"

struct server_tls;

/* Both are PEM files; the first may have a chain. Returns 0, or an error with a sentence in err. */
int server_tls_new(struct server_tls **ret, const char *cert_file, const char *key_file,
		   struct err *err) MUST_CHECK;
/* After the servers that use it. */
void server_tls_free(struct server_tls *t);
DEFINE_CLEANUP(struct server_tls *, server_tls_free);

#endif /* COMMON_HTTP_SERVER_TLS_H */
