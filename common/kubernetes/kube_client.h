/*
 * Sends requests to one API server, with the credentials of a kube_config. Loop thread only.
 *
 * Token files are read again before the token is a minute old; client certificates and the CA
 * when their files change; credentials from an exec plugin are kept until shortly before they
 * expire. An answer 401 refreshes the credentials and repeats the request once. An exec plugin
 * runs as a child process: it never blocks the loop, is killed after 60 s, and may print at
 * most 1 MiB.
 */
#ifndef COMMON_KUBERNETES_KUBE_CLIENT_H
#define COMMON_KUBERNETES_KUBE_CLIENT_H

#include "common/base.h"
#include "common/err.h"
#include "common/kubernetes/kube_config.h"
#include "common/system/loop.h"

struct kube_client;
struct kube_call; /* one request under way */

struct kube_request {
	const char *method;       /* GET POST PUT PATCH DELETE */
	const char *path;         /* including the query: "/api/v1/pods?limit=500" */
	const char *content_type; /* of the body; NULL: application/json */
	const char *accept;       /* NULL: application/json */
	const void *body;         /* copied */
	size_t body_len;
	uint64_t timeout_ns; /* of the whole request; 0: none, then idle_timeout_ns must be set */
	uint64_t idle_timeout_ns;  /* without a byte the request fails with -ETIMEDOUT; 0: none */
	size_t max_response_bytes; /* of result.body */
	/*
	 * If set, receives the body of a 2xx answer in pieces as it arrives, and result.body
	 * stays empty. A negative result ends the request with that error. May send and cancel
	 * requests, including its own.
	 */
	int (*on_data)(void *ctx, const char *data, size_t len);
};

struct kube_result {
	int error;  /* 0, or as in http_result; -EACCES also if there are no credentials */
	int status; /* HTTP status; 0 if error is set */
	/* one line unless the status is 2xx: the server's own message, if it sent one */
	const char *msg;
	const char *body;
	size_t body_len;
	uint64_t retry_after_ns;
};

typedef void (*kube_done_fn)(void *ctx, const struct kube_result *result);

/*
 * cfg is copied. Returns 0, -ENOMEM, -EMFILE …, -EBADMSG if the token cannot be sent in a
 * header, or -ENOTSUP if tls_server_name does not fit the server's URL (see kube_endpoint.h);
 * the last two with a sentence in err.
 */
int kube_client_new(struct kube_client **ret, struct loop *l, const struct kube_config *cfg,
		    struct err *err) MUST_CHECK;
/* Cancels all requests; done functions are not called. */
void kube_client_free(struct kube_client *c);
DEFINE_CLEANUP(struct kube_client *, kube_client_free);

/* Borrowed. */
const char *kube_client_server(const struct kube_client *c);
const char *kube_client_namespace(const struct kube_client *c);

/*
 * done is called once, on the loop thread, never from within this function, and may do anything
 * but free c. *ret (ret may be NULL) is valid until then. Returns 0, -ENOMEM, or -EINVAL if the
 * path or a time-out is missing or a header would contain a line break.
 */
int kube_client_send(struct kube_client *c, const struct kube_request *req, kube_done_fn done,
		     void *ctx, struct kube_call **ret) MUST_CHECK;
/* done is not called. call may be NULL. */
void kube_call_cancel(struct kube_call *call);

#endif /* COMMON_KUBERNETES_KUBE_CLIENT_H */
