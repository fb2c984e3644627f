#include "cluster-agent/web/web_login.h"

#include "common/telemetry/log.h"

#define LOGINS(result)                                                \
	"coroot_cluster_agent_logins_total", "result=\"" result "\"", \
		"Logins at the page, by result"

static const struct metric_def metric_defs[WEB_LOGIN_METRIC_MAX] = {
	[WEB_LOGIN_RIGHT] = {LOGINS("right")},
	[WEB_LOGIN_WRONG] = {LOGINS("wrong")},
	[WEB_LOGIN_TOO_MANY] = {LOGINS("too_many")},
};
METRIC_TABLE(metric_table, metric_defs);

static void respond(struct http_exchange *x, unsigned status, const char *json)
{
	char *body = strdup(json);

	http_respond(x, status, "application/json", body, body ? strlen(body) : 0);
}

/* The key as it was typed or read from a file, without the white space around it. */
static void copy_key(const struct http_exchange *x, char ret[static WEB_LOGIN_MAX_BYTES + 1])
{
	size_t len;
	const char *body = http_exchange_body(x, &len);

	while (len > 0 && (unsigned char)body[len - 1] <= ' ')
		len--;
	while (len > 0 && (unsigned char)*body <= ' ') {
		body++;
		len--;
	}
	memcpy(ret, body, len);
	ret[len] = '\0';
}

void web_login_serve(void *ctx, struct http_exchange *x)
{
	static const struct {
		enum web_login_metric metric;
		unsigned status;
		const char *json;
	} answers[] = {
		[ACCESS_LOGIN_RIGHT] = {WEB_LOGIN_RIGHT, 200, "{}"},
		[ACCESS_LOGIN_WRONG] = {WEB_LOGIN_WRONG, 401, "{\"error\":\"This key is wrong\"}"},
		[ACCESS_LOGIN_TOO_MANY] = {WEB_LOGIN_TOO_MANY, 429,
					   "{\"error\":\"Too many wrong keys: try again in a few "
					   "seconds\"}"},
	};
	const struct access_request req = http_exchange_access(x);
	char key[WEB_LOGIN_MAX_BYTES + 1], cookie[ACCESS_COOKIE_BYTES];
	struct web_login *l = ctx;
	enum access_login result;

	copy_key(x, key);
	result = access_login(l->access, &req, key, cookie);
	explicit_bzero(key, sizeof(key));
	metric_add(&l->metrics[answers[result].metric], 1);
	if (result != ACCESS_LOGIN_RIGHT)
		log_warn_limited("refusing a login", "reason=%s",
				 result == ACCESS_LOGIN_WRONG ? "\"wrong key\""
							      : "\"too many wrong keys\"");
	else if (access_needs_key(l->access, ACCESS_READ) &&
		 http_exchange_set_header(x, "Set-Cookie", cookie) < 0) {
		respond(x, 503, "{\"error\":\"out of memory\"}");
		return;
	}
	respond(x, answers[result].status, answers[result].json);
}

void web_login_serve_logout(void *ctx, struct http_exchange *x)
{
	const struct access_request req = http_exchange_access(x);
	char cookie[ACCESS_COOKIE_BYTES];

	(void)ctx;
	access_logout(&req, cookie);
	if (http_exchange_set_header(x, "Set-Cookie", cookie) < 0)
		respond(x, 503, "{\"error\":\"out of memory\"}");
	else
		respond(x, 200, "{}");
}

void web_login_serve_session(void *ctx, struct http_exchange *x)
{
	const struct access_request req = http_exchange_access(x);
	const struct web_login *l = ctx;

	if (access_has_session(l->access, &req))
		respond(x, 200, "{\"mayRead\":true,\"loggedIn\":true}");
	else if (access_check(l->access, &req, ACCESS_READ, NULL) == ACCESS_GRANTED)
		respond(x, 200, "{\"mayRead\":true,\"loggedIn\":false}");
	else
		respond(x, 200, "{\"mayRead\":false,\"loggedIn\":false}");
}

int web_login_register(struct web_login *l, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, l->metrics, NULL);
}
