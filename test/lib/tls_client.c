#include "test/lib/tls_client.h"

#include <gnutls/x509.h>

#include "common/data/buf.h"
#include "test/lib/raw_client.h"
#include "test/lib/unit.h"

/* For what never comes. */
#define PATIENCE_MS 300000

int tls_client_open(struct tls_client *c, unsigned port, const char *ca_file,
		    const char *priorities)
{
	unsigned char http[] = "http/1.1";
	const gnutls_datum_t alpn = {http, sizeof(http) - 1};
	int r;

	c->fd = raw_client_connect(port);
	assert_int_equal(gnutls_certificate_allocate_credentials(&c->credentials), 0);
	assert_true(gnutls_certificate_set_x509_trust_file(c->credentials, ca_file,
							   GNUTLS_X509_FMT_PEM) > 0);
	assert_int_equal(gnutls_init(&c->session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL), 0);
	assert_int_equal(
		gnutls_priority_set_direct(c->session, priorities ? priorities : "NORMAL", NULL),
		0);
	assert_int_equal(gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, c->credentials),
			 0);
	gnutls_session_set_verify_cert(c->session, "localhost", 0);
	assert_int_equal(gnutls_alpn_set_protocols(c->session, &alpn, 1, 0), 0);
	gnutls_transport_set_int(c->session, c->fd);
	gnutls_handshake_set_timeout(c->session, PATIENCE_MS);
	gnutls_record_set_timeout(c->session, PATIENCE_MS);
	do
		r = gnutls_handshake(c->session);
	while (r < 0 && !gnutls_error_is_fatal(r));
	return r;
}

void tls_client_close(struct tls_client *c)
{
	if (c->session) {
		gnutls_deinit(c->session);
		gnutls_certificate_free_credentials(c->credentials);
		close(c->fd);
	}
	*c = (struct tls_client){0};
}

void tls_client_peer_name(const struct tls_client *c, char *name, size_t size)
{
	const gnutls_datum_t *certs;
	gnutls_x509_crt_t crt;
	unsigned n;

	certs = gnutls_certificate_get_peers(c->session, &n);
	assert_non_null(certs);
	assert_int_equal(gnutls_x509_crt_init(&crt), 0);
	assert_int_equal(gnutls_x509_crt_import(crt, &certs[0], GNUTLS_X509_FMT_DER), 0);
	assert_int_equal(
		gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size),
		0);
	gnutls_x509_crt_deinit(crt);
}

void tls_client_send(struct tls_client *c, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = gnutls_record_send(c->session, data, len);

		if (n < 0 && !gnutls_error_is_fatal((int)n))
			continue;
		if (n <= 0)
			fail_msg("send: %s", gnutls_strerror((int)n));
		data += n;
		len -= (size_t)n;
	}
}

char *tls_client_read(struct tls_client *c, const char *wanted)
{
	char part[16384];
	struct buf in;
	size_t len;

	buf_init(&in, (size_t)64 << 20);
	assert_int_equal(buf_add(&in, "", 0), 0);
	while (!wanted || !in.data || !strstr(in.data, wanted)) {
		ssize_t n = gnutls_record_recv(c->session, part, sizeof(part));

		if (n < 0 && !gnutls_error_is_fatal((int)n))
			continue;
		if (n <= 0)
			break;
		assert_int_equal(buf_add(&in, part, (size_t)n), 0);
	}
	return buf_take(&in, &len);
}
