/*
 * HTTP client: libcurl's multi interface on our loop. Loop thread only.
 *
 * Never follows redirects, only http and https, TLS verified unless switched
 * off. Bodies come as sent: nothing asks for compression or undoes it. Proxies
 * are those of the environment (https_proxy, no_proxy …). Response headers are
 * limited to 64 KiB. The number of requests under way is the caller's
 * business. The process ignores SIGPIPE: OpenSSL writes without MSG_NOSIGNAL.
 */
#ifndef COMMON_HTTP_H
#define COMMON_HTTP_H

#include "common/base.h"
#include "common/loop.h"

struct http_client;

struct http_client_config {
	const char *ca_file; /* NULL: the system's */
	bool insecure_skip_verify;
	const char *user_agent;
};

struct http_request {
	const char *method; /* "GET", "POST" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	const void *body;           /* borrowed until done is called */
	size_t body_len;
	uint64_t timeout_ns;       /* of the whole request, connecting included; not 0 */
	size_t max_response_bytes; /* more than that ends the request with -EFBIG */
};

struct http_result {
	/*
	 * 0; -ETIMEDOUT; -ECONNREFUSED or what else connect(2) said; -EHOSTUNREACH: no such name;
	 * -ECONNRESET: the connection ended before the answer did; -EFBIG; -EKEYREJECTED: the
	 * server's certificate is not trusted; -ENOMEM; -EIO: anything else
	 */
	int error;
	const char *msg; /* one line for a person when error; valid during the call */
	int status;      /* 0 when error */
	const char *body;
	size_t body_len;
	uint64_t retry_after_ns; /* from Retry-After, at most a day; 0: not given */
};

/*
 * Called once, on the loop thread, never from inside http_send(). May call http_send(), not
 * http_client_free().
 */
typedef void (*http_done_fn)(void *ctx, const struct http_result *result);

/* -ENOMEM, -EMFILE … cfg's strings are copied. */
int http_client_new(struct http_client **ret, struct loop *l,
		    const struct http_client_config *cfg) MUST_CHECK;
/* Cancels what is under way; their done functions are not called. */
void http_client_free(struct http_client *c);
DEFINE_CLEANUP(struct http_client *, http_client_free);

/*
 * Strings and headers are copied, the body is not. -ENOMEM; -EINVAL: bad URL, a method other than
 * GET and POST, GET with a body, a header without ':' or with a line break, no time-out.
 */
int http_send(struct http_client *c, const struct http_request *req, http_done_fn done,
	      void *ctx) MUST_CHECK;

#endif /* COMMON_HTTP_H */
