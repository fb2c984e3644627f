/*
 * Certificates made for one test: a root, an intermediate authority, and server certificates for
 * localhost and 127.0.0.1 in files as an operator has them.
 */
#ifndef TEST_LIB_TLS_FILES_H
#define TEST_LIB_TLS_FILES_H

#include <gnutls/x509.h>

#include "common/base.h"

struct tls_authority {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
};

struct tls_files {
	const char *dir;
	char ca[96];   /* the root, for clients */
	char cert[96]; /* server and intermediate */
	char key[96];
	struct tls_authority root, intermediate;
	unsigned n_made;
};

enum tls_key_kind {
	TLS_KEY_EC,
	TLS_KEY_RSA,
};

/* Makes the folder and the authorities; nothing is in cert and key yet. */
void tls_files_init(struct tls_files *f);
void tls_files_fini(struct tls_files *f);

/* Writes a new certificate of this name, and its key; valid from and until seconds from now. */
void tls_files_write(struct tls_files *f, enum tls_key_kind kind, const char *name,
		     const long valid_s[2]);
/* The same, valid from an hour ago for a day. */
void tls_files_replace(struct tls_files *f, const char *name);
void tls_files_write_text(const char *path, const char *text);

#endif /* TEST_LIB_TLS_FILES_H */
