/*
 * The order of the checks follows from who can send what.
 *
 * Every request of a browser that writes carries Origin, whatever page it comes from; so a foreign
 * origin is refused before anything else, and a request without one is no browser's. Reads carry
 * Sec-Fetch-Site; a foreign page could not see the answer, but may load us or time us.
 *
 * The name is what remains: a page that rebinds its own name to our address is of the same origin
 * as we are. It has neither a key nor a cookie, because those belong to other names; so a request
 * that opens something by its key needs no name, and names matter where no key is asked for.
 */
#include "common/access/access.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <strings.h>

#include "common/access/access_keys.h"
#include "common/access/credentials.h"
#include "common/access/host_rules.h"
#include "common/access/session.h"
#include "common/system/clock.h"

#define SESSION_S (UINT64_C(30) * 86400)
#define WRONG_LOGIN_NS (NS_PER_S / 5)
#define WRONG_LOGINS_AT_ONCE 10
/* Addresses share a limit by chance; so there is no table that can be filled. */
#define N_LOGIN_LIMITS 1024u

struct access {
	struct host_rules *hosts;
	struct access_keys *write_keys;
	struct access_keys *read_keys; /* NULL: the write keys open reading, too */
	struct access_keys *note_keys; /* NULL: the write keys do, or those of reading */
	bool anonymous_read;

	pthread_mutex_t login_lock;
	/* monotonic: now, plus WRONG_LOGIN_NS for each wrong key */
	uint64_t wrong_until_ns[N_LOGIN_LIMITS];
};

/* ---- keys ---------------------------------------------------------------------------------- */

/* The keys that open a scope; NULL if it needs none. */
static struct access_keys *keys_of(const struct access *a, enum access_scope scope)
{
	struct access_keys *keys = NULL;

	if (!a)
		return NULL;
	if (scope == ACCESS_NOTES && a->note_keys)
		keys = a->note_keys;
	else if (scope == ACCESS_WRITE ||
		 (scope == ACCESS_NOTES && access_keys_exist(a->write_keys)))
		keys = a->write_keys;
	else if (scope == ACCESS_NOTES)
		keys = a->read_keys;
	else if (scope == ACCESS_READ && !a->anonymous_read)
		keys = a->read_keys ? a->read_keys : a->write_keys;
	return access_keys_exist(keys) ? keys : NULL;
}

bool access_needs_key(const struct access *a, enum access_scope scope)
{
	return keys_of(a, scope) != NULL;
}

bool access_key_fits(const struct access *a, enum access_scope scope, const char *key)
{
	struct access_keys *keys = keys_of(a, scope);

	return !keys || access_keys_have(keys, key);
}

/* Whether the request presents one of the keys, in any way. */
static bool presents_key(struct access_keys *keys, const struct access_request *req)
{
	char password[CREDENTIALS_KEY_BYTES];

	if (!keys)
		return false;
	if (access_keys_have(keys, req->api_key) || access_keys_have(keys, req->clickhouse_key))
		return true;
	return req->authorization && credentials_parse(req->authorization, password) == 0 &&
	       access_keys_have(keys, password);
}

static bool opens(const struct access *a, const struct access_request *req, enum access_scope scope)
{
	struct access_keys *keys = keys_of(a, scope);
	bool by_session = scope != ACCESS_WRITE && keys == keys_of(a, ACCESS_READ);

	return presents_key(keys, req) || (by_session && access_has_session(a, req));
}

/* ---- login --------------------------------------------------------------------------------- */

struct cookie {
	const char *value;
	uint64_t now_s;
};

static bool is_made_with(void *cookie, const char *key)
{
	const struct cookie *c = cookie;

	return session_fits(key, c->value, c->now_s);
}

/* The name of the cookie for the sender of req. */
static void cookie_name(const struct access_request *req, char ret[static SESSION_NAME_BYTES])
{
	struct host_name host = {.text = ""};

	if (req->host && host_name_parse(&host, req->host) < 0)
		host.port = 0;
	session_name(&host, ret);
}

bool access_has_session(const struct access *a, const struct access_request *req)
{
	struct access_keys *keys = keys_of(a, ACCESS_READ);
	struct cookie c = {.now_s = clock_realtime_ns() / NS_PER_S};
	char name[SESSION_NAME_BYTES], value[SESSION_VALUE_BYTES];

	if (!keys || !req->cookie)
		return false;
	cookie_name(req, name);
	c.value = value;
	for (unsigned i = 0; i < SESSION_COOKIES_MAX; i++) {
		if (!session_find(req->cookie, name, i, value))
			return false;
		if (access_keys_any(keys, is_made_with, &c))
			return true;
	}
	return false;
}

static void make_cookie(const struct access_request *req, const char *value, uint64_t age_s,
			char ret[static ACCESS_COOKIE_BYTES])
{
	bool is_tls = req->origin && strncasecmp(req->origin, "https://", 8) == 0;
	char name[SESSION_NAME_BYTES];

	cookie_name(req, name);
	snprintf(ret, ACCESS_COOKIE_BYTES,
		 "%s=%s; Max-Age=%llu; Path=%s; HttpOnly; SameSite=Strict%s", name, value,
		 (unsigned long long)age_s,
		 req->base_path && req->base_path[0] ? req->base_path : "/",
		 is_tls ? "; Secure" : "");
}

static enum access_login check_login(struct access *a, uint64_t client, const char *key)
{
	uint64_t *until_ns = &a->wrong_until_ns[client % N_LOGIN_LIMITS];
	enum access_login result = ACCESS_LOGIN_RIGHT;
	uint64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&a->login_lock);
	if (*until_ns < now_ns)
		*until_ns = now_ns;
	if (*until_ns - now_ns > (WRONG_LOGINS_AT_ONCE - 1) * WRONG_LOGIN_NS) {
		result = ACCESS_LOGIN_TOO_MANY;
	} else if (!access_key_fits(a, ACCESS_READ, key)) {
		*until_ns += WRONG_LOGIN_NS;
		result = ACCESS_LOGIN_WRONG;
	}
	pthread_mutex_unlock(&a->login_lock);
	return result;
}

enum access_login access_login(struct access *a, const struct access_request *req, const char *key,
			       char ret_cookie[static ACCESS_COOKIE_BYTES])
{
	enum access_login result = check_login(a, req->client, key);
	char value[SESSION_VALUE_BYTES];

	if (result != ACCESS_LOGIN_RIGHT)
		return result;
	if (session_make(key, clock_realtime_ns() / NS_PER_S + SESSION_S, value) < 0)
		return ACCESS_LOGIN_WRONG;
	make_cookie(req, value, SESSION_S, ret_cookie);
	explicit_bzero(value, sizeof(value));
	return result;
}

void access_logout(const struct access_request *req, char ret_cookie[static ACCESS_COOKIE_BYTES])
{
	make_cookie(req, "", 0, ret_cookie);
}

/* ---- names and origins --------------------------------------------------------------------- */

static bool is_foreign(const char *sec_fetch_site)
{
	return sec_fetch_site && strcmp(sec_fetch_site, "same-origin") != 0 &&
	       strcmp(sec_fetch_site, "none") != 0;
}

/* Only for messages: control characters and what follows are left out. */
static int printable(const char *text)
{
	int len = (int)strnlen(text, 100), n = 0;

	while (n < len && text[n] > ' ' && text[n] <= '~' && text[n] != '"')
		n++;
	return n;
}

/* Whether somebody opens us in a tab; frames and objects "navigate", too. */
static bool follows_link(const struct access_request *req)
{
	return req->sec_fetch_mode && strcmp(req->sec_fetch_mode, "navigate") == 0 &&
	       (!req->sec_fetch_dest || strcmp(req->sec_fetch_dest, "document") == 0);
}

static enum access_verdict check_origin(const struct access *a, const struct access_request *req,
					struct err *err)
{
	struct host_name host, origin;
	const char *from = req->origin;

	if (!req->is_write) {
		if (!is_foreign(req->sec_fetch_site) || follows_link(req))
			return ACCESS_GRANTED;
		(void)err_set(err, 0, "a page of another site asked for this; open it directly");
		return ACCESS_REFUSED_ORIGIN;
	}
	if (!from && !is_foreign(req->sec_fetch_site))
		return ACCESS_GRANTED;
	if (from && host_name_parse_origin(&origin, from) == 0 &&
	    (host_rules_list(a->hosts, &origin) ||
	     (req->host && host_name_parse(&host, req->host) == 0 &&
	      host_name_is_origin(&host, &origin))))
		return ACCESS_GRANTED;
	if (!from)
		from = "unknown";
	(void)err_set(err, 0,
		      "a page of another site (\"%.*s\") sent this; if it may, add its host with "
		      "--allowed-hosts",
		      printable(from), from);
	return ACCESS_REFUSED_ORIGIN;
}

static enum access_verdict check_name(const struct access *a, const struct access_request *req,
				      struct err *err)
{
	struct host_name host;

	/* HTTP/1.0 has no names, and no browser speaks it */
	if (!req->host)
		return ACCESS_GRANTED;
	if (host_name_parse(&host, req->host) < 0) {
		(void)err_set(err, 0, "the Host header is not the name of a server");
		return ACCESS_REFUSED_NAME;
	}
	if (host_rules_allow(a->hosts, &host))
		return ACCESS_GRANTED;
	(void)err_set(err, 0,
		      "the name \"%.100s\" is not one of this server: add it with --allowed-hosts",
		      host.text);
	return ACCESS_REFUSED_NAME;
}

/* ---- all together -------------------------------------------------------------------------- */

static bool needs_name(const struct access *a, const struct access_request *req,
		       enum access_scope scope)
{
	switch (scope) {
	case ACCESS_WRITE:
		/* a sender that is no browser may know us by any name */
		return req->origin;
	case ACCESS_BEFORE_KEY:
		return !access_needs_key(a, ACCESS_READ);
	default:
		return !opens(a, req, ACCESS_READ) && !opens(a, req, ACCESS_WRITE);
	}
}

enum access_verdict access_check(const struct access *a, const struct access_request *req,
				 enum access_scope scope, struct err *err)
{
	enum access_verdict verdict;

	if (!a || scope == ACCESS_ANYONE)
		return ACCESS_GRANTED;
	verdict = check_origin(a, req, err);
	if (verdict != ACCESS_GRANTED)
		return verdict;
	if (access_needs_key(a, scope)) {
		if (opens(a, req, scope))
			return ACCESS_GRANTED;
		(void)err_set(err, 0, "wrong or missing key: send it in the header X-Api-Key");
		return ACCESS_REFUSED_KEY;
	}
	return needs_name(a, req, scope) ? check_name(a, req, err) : ACCESS_GRANTED;
}

/* ---- create and destroy -------------------------------------------------------------------- */

static bool is_given(const char *option)
{
	return option && *option;
}

/* *ret stays NULL if neither is given. */
static int make_more_keys(struct access_keys **ret, const char *key, const char *file,
			  const char *option, struct err *err)
{
	int r;

	if (!is_given(key) && !is_given(file))
		return 0;
	r = access_keys_new(ret, key, file, err);
	return r < 0 ? err_wrap(err, r, "%s%s", option, is_given(key) ? "" : "-file") : 0;
}

static int make_keys(struct access *a, const struct access_config *cfg, struct err *err)
{
	int r;

	r = access_keys_new(&a->write_keys, cfg->write_key, cfg->write_key_file, err);
	if (r < 0)
		return err_wrap(err, r, is_given(cfg->write_key) ? "--api-key" : "--api-key-file");
	r = make_more_keys(&a->read_keys, cfg->read_key, cfg->read_key_file, "--read-api-key", err);
	return r < 0 ? r
		     : make_more_keys(&a->note_keys, cfg->notes_key, cfg->notes_key_file,
				      "--notes-api-key", err);
}

int access_new(struct access **ret, const struct access_config *cfg, struct err *err)
{
	CLEANUP(access_freep) struct access *a = calloc(1, sizeof(*a));
	char own[HOST_NAME_MAX + 1] = "";
	int r;

	if (!a)
		return -ENOMEM;
	pthread_mutex_init(&a->login_lock, NULL);
	a->anonymous_read = cfg->anonymous_read;
	/* without it, the name must be listed */
	if (gethostname(own, sizeof(own) - 1) < 0)
		own[0] = '\0';
	r = host_rules_new(&a->hosts, cfg->allowed_hosts, own, err);
	if (r < 0)
		return err_wrap(err, r, "--allowed-hosts");
	r = make_keys(a, cfg, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(a);
	return 0;
}

void access_free(struct access *a)
{
	if (!a)
		return;
	host_rules_free(a->hosts);
	access_keys_free(a->write_keys);
	access_keys_free(a->read_keys);
	access_keys_free(a->note_keys);
	pthread_mutex_destroy(&a->login_lock);
	free(a);
}
