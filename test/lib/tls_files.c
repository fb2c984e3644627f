#include "test/lib/tls_files.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include "test/lib/unit.h"

#define HOUR_S 3600L

static const long day_s[2] = {-HOUR_S, 24 * HOUR_S};

static void make_key(gnutls_x509_privkey_t *ret, enum tls_key_kind kind)
{
	assert_int_equal(gnutls_x509_privkey_init(ret), 0);
	if (kind == TLS_KEY_RSA)
		assert_int_equal(gnutls_x509_privkey_generate(*ret, GNUTLS_PK_RSA, 2048, 0), 0);
	else
		assert_int_equal(gnutls_x509_privkey_generate(
					 *ret, GNUTLS_PK_ECDSA,
					 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
				 0);
}

static gnutls_x509_crt_t make_crt(struct tls_files *f, const char *name, gnutls_x509_privkey_t key,
				  const long valid_s[2])
{
	unsigned char serial[2] = {1, (unsigned char)++f->n_made};
	gnutls_x509_crt_t crt;
	time_t now = time(NULL);

	assert_int_equal(gnutls_x509_crt_init(&crt), 0);
	assert_int_equal(gnutls_x509_crt_set_version(crt, 3), 0);
	assert_int_equal(gnutls_x509_crt_set_serial(crt, serial, sizeof(serial)), 0);
	assert_int_equal(gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name,
						       (unsigned)strlen(name)),
			 0);
	assert_int_equal(gnutls_x509_crt_set_activation_time(crt, now + valid_s[0]), 0);
	assert_int_equal(gnutls_x509_crt_set_expiration_time(crt, now + valid_s[1]), 0);
	assert_int_equal(gnutls_x509_crt_set_key(crt, key), 0);
	return crt;
}

static void sign(gnutls_x509_crt_t crt, const struct tls_authority *by)
{
	assert_int_equal(gnutls_x509_crt_sign2(crt, by->crt, by->key, GNUTLS_DIG_SHA256, 0), 0);
}

static void make_authority(struct tls_files *f, struct tls_authority *a, const char *name,
			   const struct tls_authority *by)
{
	make_key(&a->key, TLS_KEY_EC);
	a->crt = make_crt(f, name, a->key, day_s);
	assert_int_equal(gnutls_x509_crt_set_basic_constraints(a->crt, 1, -1), 0);
	assert_int_equal(gnutls_x509_crt_set_key_usage(a->crt, GNUTLS_KEY_KEY_CERT_SIGN), 0);
	sign(a->crt, by ? by : a);
}

void tls_files_write_text(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void write_pem(const char *path, gnutls_x509_crt_t first, gnutls_x509_crt_t second)
{
	gnutls_datum_t a = {0}, b = {0};
	char text[16384];

	assert_int_equal(gnutls_x509_crt_export2(first, GNUTLS_X509_FMT_PEM, &a), 0);
	if (second)
		assert_int_equal(gnutls_x509_crt_export2(second, GNUTLS_X509_FMT_PEM, &b), 0);
	snprintf(text, sizeof(text), "%.*s%.*s", (int)a.size, a.data, (int)b.size,
		 b.data ? (const char *)b.data : "");
	tls_files_write_text(path, text);
	gnutls_free(a.data);
	gnutls_free(b.data);
}

void tls_files_init(struct tls_files *f)
{
	*f = (struct tls_files){.dir = temp_dir()};
	snprintf(f->ca, sizeof(f->ca), "%s/ca.pem", f->dir);
	snprintf(f->cert, sizeof(f->cert), "%s/cert.pem", f->dir);
	snprintf(f->key, sizeof(f->key), "%s/key.pem", f->dir);
	make_authority(f, &f->root, "test root", NULL);
	make_authority(f, &f->intermediate, "test intermediate", &f->root);
	write_pem(f->ca, f->root.crt, NULL);
}

void tls_files_write(struct tls_files *f, enum tls_key_kind kind, const char *name,
		     const long valid_s[2])
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	gnutls_datum_t pem;
	struct in_addr address = {htonl(INADDR_LOOPBACK)};

	make_key(&key, kind);
	crt = make_crt(f, name, key, valid_s);
	assert_int_equal(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, "localhost",
							      9, GNUTLS_FSAN_SET),
			 0);
	assert_int_equal(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, &address,
							      sizeof(address), GNUTLS_FSAN_APPEND),
			 0);
	sign(crt, &f->intermediate);
	write_pem(f->cert, crt, f->intermediate.crt);
	assert_int_equal(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem), 0);
	tls_files_write_text(f->key, (const char *)pem.data);
	gnutls_free(pem.data);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
}

void tls_files_replace(struct tls_files *f, const char *name)
{
	tls_files_write(f, TLS_KEY_EC, name, day_s);
}

void tls_files_fini(struct tls_files *f)
{
	gnutls_x509_crt_deinit(f->root.crt);
	gnutls_x509_crt_deinit(f->intermediate.crt);
	gnutls_x509_privkey_deinit(f->root.key);
	gnutls_x509_privkey_deinit(f->intermediate.key);
}
