#include "common/access/session.h"

#include <errno.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "common/text/parse.h"
#include "common/text/secret.h"

#define NAME "coroot_session"
/* What the HMAC is about: the key may be used for others. */
#define PURPOSE "coroot-cluster-agent session, valid until "
#define DIGEST_BYTES 32u

void session_name(const struct host_name *host, char ret[static SESSION_NAME_BYTES])
{
	if (host->port > 0)
		snprintf(ret, SESSION_NAME_BYTES, NAME "_%u", host->port);
	else
		snprintf(ret, SESSION_NAME_BYTES, NAME);
}

int session_make(const char *key, uint64_t expires_s, char ret[static SESSION_VALUE_BYTES])
{
	unsigned char digest[DIGEST_BYTES];
	char text[sizeof(PURPOSE) + 20];
	int len = snprintf(text, sizeof(text), PURPOSE "%llu", (unsigned long long)expires_s);
	size_t at;

	if (gnutls_hmac_fast(GNUTLS_MAC_SHA256, key, strlen(key), text, (size_t)len, digest) < 0)
		return -EIO;
	at = (size_t)snprintf(ret, SESSION_VALUE_BYTES, "%llu.", (unsigned long long)expires_s);
	for (size_t i = 0; i < DIGEST_BYTES; i++, at += 2)
		snprintf(ret + at, SESSION_VALUE_BYTES - at, "%02x", digest[i]);
	return 0;
}

bool session_fits(const char *key, const char *value, uint64_t now_s)
{
	char right[SESSION_VALUE_BYTES];
	uint64_t expires_s;

	if (parse_u64(value, strcspn(value, "."), 1, UINT64_MAX, &expires_s) < 0 ||
	    expires_s <= now_s || session_make(key, expires_s, right) < 0)
		return false;
	return secret_equal(value, right);
}

bool session_find(const char *cookies, const char *name, unsigned i,
		  char ret[static SESSION_VALUE_BYTES])
{
	size_t n_name = strlen(name);

	for (const char *at = cookies; *at;) {
		const char *value;
		size_t len;

		at += strspn(at, "; \t");
		len = strcspn(at, ";");
		value = at + n_name + 1;
		if (len > n_name && memcmp(at, name, n_name) == 0 && at[n_name] == '=' &&
		    i-- == 0) {
			len -= n_name + 1;
			if (len >= SESSION_VALUE_BYTES)
				len = 0;
			memcpy(ret, value, len);
			ret[len] = '\0';
			return true;
		}
		at += len;
	}
	return false;
}
