/* A connection's bytes, with TLS or without. Does not block. Used by grpc_connection.c only. */
#ifndef COMMON_HTTP_GRPC_TRANSPORT_H
#define COMMON_HTTP_GRPC_TRANSPORT_H

#include <gnutls/gnutls.h>

#include "common/base.h"
#include "common/http/server_tls.h"
#include "common/http/tls_certificate.h"

struct grpc_transport {
	int fd;
	struct server_tls *tls; /* NULL: none */
	struct tls_certificate *cert;
	gnutls_session_t session;
	bool ready;       /* the handshake is complete */
	bool wants_write; /* to continue, although there is nothing to be written */
};

/* Takes fd on success. Returns 0, -ENOMEM, or -EIO if GnuTLS fails. */
int grpc_transport_init(struct grpc_transport *t, int fd, struct server_tls *tls) MUST_CHECK;
/* Closes the connection. */
void grpc_transport_fini(struct grpc_transport *t);

/* Each returns the number of bytes, 0 at the end, -EAGAIN, or another error. */
ssize_t grpc_transport_read(struct grpc_transport *t, void *data, size_t len) MUST_CHECK;
ssize_t grpc_transport_write(struct grpc_transport *t, const void *data, size_t len) MUST_CHECK;

#endif /* COMMON_HTTP_GRPC_TRANSPORT_H */
