/*
 * A TLS server that serves a page: OpenSSL's own command. The certificates are made for tests:
 * for 127.0.0.1, valid for a hundred years, trusted by no CA.
 */
#ifndef TEST_LIB_TLS_SERVER_H
#define TEST_LIB_TLS_SERVER_H

#include <sys/types.h>

#include "common/base.h"

extern const char tls_key[]; /* PEM, as the others */
extern const char tls_cert[];
extern const char tls_other_cert[]; /* unrelated to the others */

struct tls_server {
	bool wants_certificate; /* tls_cert, from the client */
	bool is_old;            /* speaks TLS 1.1 and nothing else */

	/* set by tls_server_start() */
	unsigned port;
	pid_t pid;
	FILE *out;
	char cert_file[64], key_file[64];
};

/* On 127.0.0.1. */
void tls_server_start(struct tls_server *s);
/* Also for one that was not started. */
void tls_server_stop(struct tls_server *s);

#endif /* TEST_LIB_TLS_SERVER_H */
