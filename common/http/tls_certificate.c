/*
 * GnuTLS can load both files by itself, but then says only that something is wrong with one of
 * them. The operator needs to know which file and why, so they are read and parsed one by one.
 */
#include "common/http/tls_certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>

#include "common/data/buf.h"
#include "common/system/fs.h"

#define MAX_FILE_BYTES ((size_t)1 << 20)
/* A key that fits is not copied while its file is read. */
#define USUAL_FILE_BYTES ((size_t)32 << 10)

struct chain {
	gnutls_x509_crt_t *certs;
	unsigned n;
};

static void chain_fini(struct chain *c)
{
	for (unsigned i = 0; i < c->n; i++)
		gnutls_x509_crt_deinit(c->certs[i]);
	gnutls_free(c->certs);
}

static void key_fini(gnutls_x509_privkey_t *key)
{
	gnutls_x509_privkey_deinit(*key);
}

static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_fini(b);
}

static int read_file(const char *option, const char *path, struct buf *b, struct err *err)
{
	int r;

	buf_init(b, MAX_FILE_BYTES);
	r = buf_reserve(b, USUAL_FILE_BYTES);
	if (r == 0)
		r = fs_read_at(AT_FDCWD, path, b);
	if (r < 0)
		return err_set(err, r, "%s: cannot read %s: %s", option, path, strerror(-r));
	return 0;
}

static int load_chain(const char *path, struct chain *ret, struct err *err)
{
	CLEANUP(buf_fini) struct buf text = {0};
	gnutls_datum_t pem;
	int r;

	r = read_file("--tls-cert", path, &text, err);
	if (r < 0)
		return r;
	pem = (gnutls_datum_t){(unsigned char *)text.data, (unsigned)text.len};
	r = gnutls_x509_crt_list_import2(&ret->certs, &ret->n, &pem, GNUTLS_X509_FMT_PEM, 0);
	if (r == GNUTLS_E_NO_CERTIFICATE_FOUND || r == GNUTLS_E_BASE64_UNEXPECTED_HEADER_ERROR)
		return err_set(err, -EINVAL, "--tls-cert: %s has no certificate in PEM format",
			       path);
	if (r < 0)
		return err_set(err, r == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EINVAL,
			       "--tls-cert: %s has a bad certificate: %s", path,
			       gnutls_strerror(r));
	return 0;
}

static int load_key(const char *path, gnutls_x509_privkey_t key, struct err *err)
{
	CLEANUP(wipe) struct buf text = {0};
	gnutls_datum_t pem;
	int r;

	r = read_file("--tls-key", path, &text, err);
	if (r < 0)
		return r;
	pem = (gnutls_datum_t){(unsigned char *)text.data, (unsigned)text.len};
	r = gnutls_x509_privkey_import2(key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
	/* as the first line of PKCS #8 has it, and a header of OpenSSL's own format */
	if (r < 0 && strstr(text.data, "ENCRYPTED"))
		return err_set(err, -EINVAL,
			       "--tls-key: %s is encrypted; a key without a passphrase is needed",
			       path);
	if (r < 0)
		return err_set(err, r == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EINVAL,
			       "--tls-key: %s has no private key in PEM format", path);
	return 0;
}

static void find_validity(struct tls_certificate *c, const struct chain *chain)
{
	for (unsigned i = 0; i < chain->n; i++) {
		time_t begins = gnutls_x509_crt_get_activation_time(chain->certs[i]);
		time_t ends = gnutls_x509_crt_get_expiration_time(chain->certs[i]);

		if (i == 0 || begins > c->begins)
			c->begins = begins;
		if (i == 0 || ends < c->ends)
			c->ends = ends;
	}
}

int tls_certificate_load(struct tls_certificate **ret, const char *cert_file, const char *key_file,
			 struct err *err)
{
	CLEANUP(tls_certificate_unrefp) struct tls_certificate *c = NULL;
	CLEANUP(chain_fini) struct chain chain = {0};
	CLEANUP(key_fini) gnutls_x509_privkey_t key = NULL;
	int r;

	c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->n_users = 1;
	if (gnutls_x509_privkey_init(&key) < 0 ||
	    gnutls_certificate_allocate_credentials(&c->credentials) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = load_chain(cert_file, &chain, err);
	if (r == 0)
		r = load_key(key_file, key, err);
	if (r < 0)
		return r;
	find_validity(c, &chain);
	r = gnutls_certificate_set_x509_key(c->credentials, chain.certs, (int)chain.n, key);
	if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return err_set(err, -EINVAL,
			       "--tls-key: %s is not the key of the first certificate in %s",
			       key_file, cert_file);
	if (r < 0)
		return err_set(err, r == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EINVAL,
			       "--tls-cert: cannot use %s: %s", cert_file, gnutls_strerror(r));
	*ret = TAKE_PTR(c);
	return 0;
}

struct tls_certificate *tls_certificate_ref(struct tls_certificate *c)
{
	atomic_fetch_add(&c->n_users, 1);
	return c;
}

void tls_certificate_unref(struct tls_certificate *c)
{
	if (!c || atomic_fetch_sub(&c->n_users, 1) > 1)
		return;
	if (c->credentials)
		gnutls_certificate_free_credentials(c->credentials);
	free(c);
}
