/*
 * HTTP client: libcurl's multi interface on our loop. Loop thread only.
 *
 * Never follows redirects, only http and https, TLS verified unless switched
 * off, HTTP/1.1. Bodies come as sent: nothing asks for compression or undoes
 * it. Proxies are those of the environment (https_proxy, no_proxy …) if not
 * configured. Response headers are limited to 64 KiB. The number of requests
 * under way is the caller's business; one that waits for its answer costs about
 * 17 KiB, TLS apart. The process ignores SIGPIPE: OpenSSL writes without MSG_NOSIGNAL.
 */
#ifndef COMMON_HTTP_HTTP_H
#define COMMON_HTTP_HTTP_H

#include "common/base.h"
#include "common/system/loop.h"

struct http_client;
struct http_transfer; /* one request under way */

/*
 * Strings are copied; NULL: not given. Files are read at each connection (the CA file at most once
 * a second), so they may be replaced.
 */
struct http_client_config {
	const char *ca_file; /* neither this nor ca_pem: the system's */
	const char *ca_pem;
	bool insecure_skip_verify;
	const char *cert_file; /* client certificate, PEM; with its key */
	const char *cert_pem;
	const char *key_file;
	const char *key_pem;
	const char *user_agent;
	const char *proxy;             /* NULL: as the environment says; "": none */
	unsigned max_idle_connections; /* kept alive for later requests; 0: 8 */
	/*
	 * Of all response bodies being received; the one that passes it ends with -ENOBUFS. Counts
	 * what is allocated, up to twice what was received. 0: no limit
	 */
	size_t max_memory_bytes;
};

struct http_request {
	const char *method; /* GET, POST, PUT, PATCH, DELETE */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	const void *body;           /* borrowed until done is called */
	size_t body_len;
	uint64_t
		timeout_ns; /* whole, connecting included; 0: none, then idle_timeout_ns is not 0 */
	uint64_t idle_timeout_ns;  /* no byte for so long ends it with -ETIMEDOUT; 0: no matter */
	size_t max_response_bytes; /* more than that ends the request with -EFBIG */
	/*
	 * When not NULL: the body of a 2xx answer in pieces as they arrive, instead of result.body and
	 * without its limit; a negative result ends the request with it. May start and cancel
	 * requests, its own too; what is cancelled is not called again.
	 */
	int (*on_data)(void *ctx, const char *data, size_t len);
	/* What to connect to instead of the URL's host: "10.0.0.1:80", "[::1]:80", "name:80"; NULL */
	const char *connect_to;
};

struct http_result {
	/*
	 * 0; -ETIMEDOUT; -ECONNREFUSED or what else connect(2) said; -EHOSTUNREACH: no such name;
	 * -ECONNRESET: the connection ended before the answer did; -EFBIG; -EKEYREJECTED: the
	 * server's certificate is not trusted; -ENOBUFS: max_memory_bytes; what on_data gave; -ENOMEM;
	 * -EIO: anything else
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
 * Strings and headers are copied, the body is not. *ret may be NULL; the transfer is valid until
 * done is called. -ENOMEM; -EINVAL: bad URL, unknown method, GET with a body, a header without ':'
 * or with a line break, connect_to that is none, no time-out.
 */
int http_start(struct http_client *c, const struct http_request *req, http_done_fn done, void *ctx,
	       struct http_transfer **ret) MUST_CHECK;
/* The same, for those that do not cancel. */
int http_send(struct http_client *c, const struct http_request *req, http_done_fn done,
	      void *ctx) MUST_CHECK;
/* done is not called. NULL is allowed. */
void http_cancel(struct http_transfer *t);

#endif /* COMMON_HTTP_HTTP_H */
