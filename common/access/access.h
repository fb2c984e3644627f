/*
 * Who may come in: under which names a listener answers, which web pages may send it requests,
 * and which key opens what. One object for all listeners of a process; any thread.
 *
 * A page of another site that is open in a user's browser can reach what the browser can reach:
 * by a name that it makes resolve to a loopback address ("DNS rebinding"), or by sending a form
 * across sites. Neither needs a key if there is none, so names and origins are checked always.
 */
#ifndef COMMON_ACCESS_ACCESS_H
#define COMMON_ACCESS_ACCESS_H

#include "common/base.h"
#include "common/err.h"

struct access;

/* What a route needs. The first one is what a route gets that says nothing. */
enum access_scope {
	ACCESS_READ,   /* the read key: the page's data, SQL, targets */
	ACCESS_WRITE,  /* the write key: uploads */
	ACCESS_NO_KEY, /* names and origins are checked: /metrics, the files of the page, login */
	ACCESS_ANYONE, /* nothing is checked: /healthz */
};

/* Strings are copied; NULL or "" means not given. */
struct access_config {
	const char *write_key; /* --api-key; opens ACCESS_READ too if there is no read key */
	const char *write_key_file;
	const char *read_key; /* --read-api-key */
	const char *read_key_file;
	char *const *allowed_hosts; /* --allowed-hosts: names beside our own; NULL-terminated */
};

/* Headers of a request, as sent; NULL for those that are absent. */
struct access_request {
	bool is_write; /* any method but GET, HEAD and OPTIONS */
	const char *host;
	const char *origin;
	const char *sec_fetch_site;
	const char *sec_fetch_mode;
	const char *api_key;       /* X-Api-Key */
	const char *authorization; /* "Bearer <key>", or "Basic …" with the key as password */
	const char *cookie;
};

/* Returns 0, -ENOMEM, or an error of reading a file or -EINVAL for a bad name, with a sentence. */
int access_new(struct access **ret, const struct access_config *cfg, struct err *err) MUST_CHECK;
void access_free(struct access *a);
DEFINE_CLEANUP(struct access *, access_free);

/*
 * Returns 0, or the status of a refusal: 401 for a missing or wrong key, 403 for a name or an
 * origin; *ret_text is then one line that says what to do, valid as long as a. A NULL a lets
 * everybody in (tests).
 */
unsigned access_check(const struct access *a, const struct access_request *req,
		      enum access_scope scope, const char **ret_text);

/* Whether scope needs a key at all. */
bool access_needs_key(const struct access *a, enum access_scope scope);
/* Whether key opens scope; true if it needs none. In constant time. key may be NULL. */
bool access_key_fits(const struct access *a, enum access_scope scope, const char *key);

#endif /* COMMON_ACCESS_ACCESS_H */
