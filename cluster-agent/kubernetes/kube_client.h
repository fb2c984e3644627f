/*
 * Requests to one API server with the credentials of a kube_config. Loop
 * thread only.
 *
 * Tokens in files are read again before they are a minute old; certificates and
 * the CA when their files change; credentials of an exec plugin are kept until
 * shortly before they expire. An answer 401 refreshes them once and repeats the
 * request. An exec plugin runs as a child process, never blocks the loop, has
 * a time-out of 60 s and its output a limit of 1 MiB.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_CLIENT_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_CLIENT_H

#include "cluster-agent/kubernetes/kube_config.h"
#include "common/base.h"
#include "common/err.h"
#include "common/system/loop.h"

struct kube_client;
struct kube_call; /* one request under way */

struct kube_request {
	const char *method;       /* GET POST PUT PATCH DELETE */
	const char *path;         /* with its query: "/api/v1/pods?limit=500" */
	const char *content_type; /* of the body; NULL: application/json */
	const char *accept;       /* NULL: application/json */
	const void *body;         /* copied */
	size_t body_len;
	uint64_t timeout_ns;       /* whole request; 0: none, then idle_timeout_ns is not 0 */
	uint64_t idle_timeout_ns;  /* no byte for so long is -ETIMEDOUT; 0: none */
	size_t max_response_bytes; /* of result.body */
	/*
	 * When not NULL: the body of a 2xx answer in pieces, as it arrives, instead of
	 * result.body. A negative result ends the request with it. May send and cancel, its own
	 * call too.
	 */
	int (*on_data)(void *ctx, const char *data, size_t len);
};

struct kube_result {
	int error;  /* 0, or as of http_result; -EACCES also: no credentials could be had */
	int status; /* HTTP status; 0 when error */
	const char
		*msg; /* one line when error or not 2xx: the server's own message if it gave one */
	const char *body;
	size_t body_len;
	uint64_t retry_after_ns;
};

typedef void (*kube_done_fn)(void *ctx, const struct kube_result *result);

/*
 * cfg is copied. -ENOMEM, -EMFILE …; -EBADMSG: a token that cannot be sent; -ENOTSUP: a
 * tls_server_name for a server that is not given by its address. With a sentence in err.
 */
int kube_client_new(struct kube_client **ret, struct loop *l, const struct kube_config *cfg,
		    struct err *err) MUST_CHECK;
/* Cancels what is under way; done functions are not called. */
void kube_client_free(struct kube_client *c);
DEFINE_CLEANUP(struct kube_client *, kube_client_free);

/* Borrowed. */
const char *kube_client_server(const struct kube_client *c);
const char *kube_client_namespace(const struct kube_client *c);

/*
 * done is called once, on the loop thread, never from inside; it may do anything but free c.
 * *ret (may be NULL) is valid until then. -ENOMEM; -EINVAL: no path or time-out, line breaks.
 */
int kube_client_send(struct kube_client *c, const struct kube_request *req, kube_done_fn done,
		     void *ctx, struct kube_call **ret) MUST_CHECK;
/* done is not called. NULL is allowed. */
void kube_call_cancel(struct kube_call *call);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_CLIENT_H */
