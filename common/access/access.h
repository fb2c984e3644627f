/*
 * Who may come in: under which names a listener answers, which web pages may send it requests,
 * and which key opens what. One object for all listeners of a process; any thread.
 *
 * A page of another site that is open in a user's browser can reach what the browser can reach:
 * by a name that it makes resolve to a loopback address ("DNS rebinding"), or by sending a form
 * across sites. Neither needs a key if there is none, so names and origins are checked always.
 * docs/security.md has the rules.
 */
#ifndef COMMON_ACCESS_ACCESS_H
#define COMMON_ACCESS_ACCESS_H

#include "common/base.h"
#include "common/err.h"

struct access;
struct metrics;

/* What a route needs. The first one is what a route gets that says nothing. */
enum access_scope {
	ACCESS_READ,  /* the read key or a session: the page's data, targets */
	ACCESS_WRITE, /* the write key: uploads */
	/*
	 * The key of notes; without one, the write key, or else what opens reading. A session opens
	 * it where it has the keys of reading.
	 */
	ACCESS_NOTES,
	ACCESS_NO_KEY, /* names and origins are checked: /metrics */
	/*
	 * Likewise, but names only while reading needs no key: the files of the page, the login,
	 * and SQL, which looks at keys itself. Without a key they give nothing away, and with one
	 * they must work under any name that leads to us.
	 */
	ACCESS_BEFORE_KEY,
	ACCESS_ANYONE, /* nothing is checked: /healthz */
};

enum access_verdict {
	ACCESS_GRANTED,
	ACCESS_REFUSED_KEY,    /* a key is missing or wrong: 401 */
	ACCESS_REFUSED_NAME,   /* 403 */
	ACCESS_REFUSED_ORIGIN, /* 403 */
};

/* Strings are copied; NULL or "" means not given. */
struct access_config {
	const char *write_key; /* --api-key; opens ACCESS_READ too if there is no read key */
	const char *write_key_file;
	const char *read_key; /* --read-api-key */
	const char *read_key_file;
	const char *notes_key; /* --notes-api-key */
	const char *notes_key_file;
	bool anonymous_read;       /* ACCESS_READ needs no key: --anonymous-read */
	const char *allowed_hosts; /* --allowed-hosts, as host_rules_new() takes it */
};

/* Headers of a request, as sent; NULL for those that are absent. */
struct access_request {
	bool is_write; /* any method but GET, HEAD and OPTIONS */
	const char *host;
	const char *origin;
	const char *sec_fetch_site;
	const char *sec_fetch_mode;
	const char *api_key;        /* X-Api-Key */
	const char *clickhouse_key; /* X-ClickHouse-Key */
	const char *authorization;  /* "Bearer <key>", or "Basic …" with the key as password */
	const char *cookie;
	const char *sec_fetch_dest;
	const char *base_path; /* of the page, for its cookie; NULL and "": the root */
	uint64_t client;       /* stands for its address: see http_exchange_client() */
};

/*
 * A key and its file are not given together. Returns 0, -ENOMEM, an error of reading a file, or
 * -EINVAL for a bad name or an empty file, with a sentence.
 */
int access_new(struct access **ret, const struct access_config *cfg, struct err *err) MUST_CHECK;
void access_free(struct access *a);
DEFINE_CLEANUP(struct access *, access_free);

/*
 * For a refusal, err has one line that says what to do. A NULL a lets everybody in (tests).
 */
enum access_verdict access_check(const struct access *a, const struct access_request *req,
				 enum access_scope scope, struct err *err) MUST_CHECK;

/* Whether scope needs a key at all. */
bool access_needs_key(const struct access *a, enum access_scope scope);
/* Whether key opens scope; true if it needs none. In constant time. key may be NULL. */
bool access_key_fits(const struct access *a, enum access_scope scope, const char *key);

/* ---- login ---- */

/* A value of Set-Cookie, with the NUL. */
#define ACCESS_COOKIE_BYTES 384u

enum access_login {
	ACCESS_LOGIN_RIGHT,
	ACCESS_LOGIN_WRONG,
	ACCESS_LOGIN_TOO_MANY, /* wrong keys from this address: this one was not read */
};

/*
 * Logs the sender of req in if key opens ACCESS_READ: ret_cookie is then the cookie to be set.
 * Wrong keys are limited to a burst of 10 and 5 per second for each address, so that whoever
 * guesses does not keep others from logging in.
 */
enum access_login access_login(struct access *a, const struct access_request *req, const char *key,
			       char ret_cookie[static ACCESS_COOKIE_BYTES]) MUST_CHECK;
/* The cookie that ends the session in this browser. */
void access_logout(const struct access_request *req, char ret_cookie[static ACCESS_COOKIE_BYTES]);
/* Whether the request has the cookie of a session that is valid. */
bool access_has_session(const struct access *a, const struct access_request *req);

#endif /* COMMON_ACCESS_ACCESS_H */
