/*
 * A certificate chain with its key, loaded from two PEM files and ready for use by GnuTLS.
 * Immutable and counted: connections keep the one that they began with. Used by server_tls.c and
 * tls_session.c.
 */
#ifndef COMMON_HTTP_TLS_CERTIFICATE_H
#define COMMON_HTTP_TLS_CERTIFICATE_H

#include <gnutls/gnutls.h>
#include <stdatomic.h>

#include "common/base.h"
#include "common/err.h"

struct tls_certificate {
	_Atomic unsigned n_users;
	gnutls_certificate_credentials_t credentials;
	time_t begins; /* when all certificates of the chain are valid: from */
	time_t ends;   /* until */
};

/*
 * Returns 0, -ENOMEM, -errno of reading a file, or -EINVAL if one is not usable or they do not
 * belong together; with a sentence in err.
 */
int tls_certificate_load(struct tls_certificate **ret, const char *cert_file, const char *key_file,
			 struct err *err) MUST_CHECK;
struct tls_certificate *tls_certificate_ref(struct tls_certificate *c);
/* NULL is allowed. */
void tls_certificate_unref(struct tls_certificate *c);
DEFINE_CLEANUP(struct tls_certificate *, tls_certificate_unref);

#endif /* COMMON_HTTP_TLS_CERTIFICATE_H */
