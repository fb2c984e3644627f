/* A client of TLS for tests of servers, on 127.0.0.1. */
#ifndef TEST_LIB_TLS_CLIENT_H
#define TEST_LIB_TLS_CLIENT_H

#include <gnutls/gnutls.h>

#include "common/base.h"

struct tls_client {
	int fd;
	gnutls_session_t session;
	gnutls_certificate_credentials_t credentials;
};

/*
 * Trusts ca_file and wants the name localhost. priorities as GnuTLS writes them; NULL: its own.
 * Returns what the handshake returned; tls_client_close() is called in every case.
 */
int tls_client_open(struct tls_client *c, unsigned port, const char *ca_file,
		    const char *priorities);
void tls_client_close(struct tls_client *c);

/* The common name of the server's certificate. */
void tls_client_peer_name(const struct tls_client *c, char *name, size_t size);

/* As raw_client.h: failures fail the test; what was read is for free(3). */
void tls_client_send(struct tls_client *c, const char *data, size_t len);
char *tls_client_read(struct tls_client *c, const char *wanted);

#endif /* TEST_LIB_TLS_CLIENT_H */
