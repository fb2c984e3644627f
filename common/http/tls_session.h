/* One TLS connection of libmicrohttpd. Used by http_server.c only. */
#ifndef COMMON_HTTP_TLS_SESSION_H
#define COMMON_HTTP_TLS_SESSION_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>

#include "common/base.h"
#include "common/http/server_tls.h"
#include "common/http/tls_certificate.h"

/* TLS 1.2 and 1.3 with ephemeral keys and authenticated encryption, as GnuTLS writes it. */
#define TLS_SESSION_PRIORITIES                                                        \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:" \
	"-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD"

struct tls_session;

/*
 * Gives a new connection the certificate of t, before its handshake. Returns NULL if there is no
 * memory; the handshake then fails.
 */
struct tls_session *tls_session_begin(struct server_tls *t, struct MHD_Connection *conn);
/* When MHD has freed the connection's TLS state. NULL is allowed. */
void tls_session_end(struct tls_session *s);

/* gnutls_certificate_retrieve_function2 of a connection that got no certificate: fails. */
int tls_session_without_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
				    int n_authorities, const gnutls_pk_algorithm_t *algorithms,
				    int n_algorithms, gnutls_pcert_st **certs, unsigned *n_certs,
				    gnutls_privkey_t *key);

/* ---- of server_tls.c ---- */

/* The certificate in use; the caller unrefs it. */
struct tls_certificate *server_tls_certificate(struct server_tls *t);
void server_tls_count_failed(struct server_tls *t);
void server_tls_count_plain(struct server_tls *t);

#endif /* COMMON_HTTP_TLS_SESSION_H */
