/*
 * The page's login: POST /api/login with the key as body sets the cookie of a session, POST
 * /api/logout deletes it, GET /api/session says whether there is one and whether the request may
 * read. Requests are untrusted and come without a key; the server has checked names and origins.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_LOGIN_H
#define CLUSTER_AGENT_WEB_WEB_LOGIN_H

#include "common/base.h"
#include "common/http/http_server.h"
#include "common/telemetry/metrics.h"

#define WEB_LOGIN_MAX_BYTES ((size_t)1024)

enum web_login_metric {
	WEB_LOGIN_RIGHT,
	WEB_LOGIN_WRONG,
	WEB_LOGIN_TOO_MANY,
	WEB_LOGIN_METRIC_MAX,
};

struct web_login {
	struct access *access; /* borrowed */
	struct metric metrics[WEB_LOGIN_METRIC_MAX];
};

/* coroot_cluster_agent_logins_total, by result; l must outlive ms. */
int web_login_register(struct web_login *l, struct metrics *ms) MUST_CHECK;

/* Of type http_handler_fn; ctx is the struct. */
void web_login_serve(void *ctx, struct http_exchange *x);
void web_login_serve_logout(void *ctx, struct http_exchange *x);
void web_login_serve_session(void *ctx, struct http_exchange *x);

#endif /* CLUSTER_AGENT_WEB_WEB_LOGIN_H */
