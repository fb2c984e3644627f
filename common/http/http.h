/*
 * HTTP client: libcurl's multi interface on our loop. Loop thread only.
 *
 * Speaks HTTP/1.1 over http and https only (or HTTP/2, if configured), never follows redirects,
 * and verifies TLS unless that is switched off. Each connection carries one request at a time.
 * Bodies arrive as sent: the client neither asks for compression nor undoes it. Proxies come from
 * the environment (https_proxy, no_proxy …) unless configured. Response headers are limited to 64
 * KiB. The caller limits the number of requests under way; one that waits for its answer costs
 * about 17 KiB without TLS. The process must ignore SIGPIPE, because OpenSSL writes without
 * MSG_NOSIGNAL.
 */
#ifndef COMMON_HTTP_HTTP_H
#define COMMON_HTTP_HTTP_H

#include "common/base.h"
#include "common/system/loop.h"

struct http_client;
struct http_transfer; /* one request under way */

/*
 * Strings are copied; NULL means not given. Files are read again for each connection (the CA file
 * at most once a second), so they may be replaced while the client is in use.
 */
struct http_client_config {
	const char *ca_file; /* if both are NULL, the system's CA bundle is used */
	const char *ca_pem;
	bool insecure_skip_verify;
	const char *cert_file; /* client certificate in PEM format; needs a key */
	const char *cert_pem;
	const char *key_file;
	const char *key_pem;
	const char *user_agent;
	const char *proxy;             /* NULL: from the environment; "": none */
	unsigned max_idle_connections; /* kept alive for later requests; 0 means 8 */
	/*
	 * All connections go to the socket with this path, without a proxy; the URL's host is only
	 * what the server sees. A server that accepts no connections ends a request with -EAGAIN.
	 */
	const char *unix_socket;
	/*
	 * HTTP/2 with prior knowledge (h2c), which the server must speak; not for https. Each
	 * request has a connection of its own. If the server sends GOAWAY right after its answer,
	 * libcurl may drop the end of the body without an error: the body must say how long it is,
	 * as messages of gRPC do.
	 */
	bool http2;
	/*
	 * Limit of all response bodies being received together; the one that exceeds it ends with
	 * -ENOBUFS. Counts allocated memory, which is up to twice the bytes received. 0: no limit
	 */
	size_t max_memory_bytes;
};

struct http_request {
	const char *method; /* GET, POST, PUT, PATCH, DELETE */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	const void *body;           /* borrowed until done is called */
	size_t body_len;
	/* At least one of the two is not 0; either ends the request with -ETIMEDOUT. */
	uint64_t timeout_ns;       /* for the whole request, connecting included; 0: none */
	uint64_t idle_timeout_ns;  /* longest time without a byte in either direction; 0: none */
	size_t max_response_bytes; /* a longer body ends the request with -EFBIG */
	/*
	 * If not NULL, receives the body of a 2xx answer in pieces as they arrive, without that
	 * limit; result.body is empty then. A negative return value ends the request with that
	 * error. May start and cancel requests, its own too; it is not called for a cancelled
	 * request.
	 */
	int (*on_data)(void *ctx, const char *data, size_t len);
	/*
	 * Where to connect instead of the URL's host: "10.0.0.1:80", "[::1]:80", "name:80"; or
	 * NULL
	 */
	const char *connect_to;
	/*
	 * The request is sent once: if a kept connection ends before the answer, it ends with
	 * -ECONNRESET. Otherwise libcurl sends it again over a new connection, and nobody learns
	 * that the server may have it twice.
	 */
	bool once;
};

struct http_result {
	/*
	 * 0, or one of: -ETIMEDOUT; -ECONNREFUSED or another errno of connect(2); -EHOSTUNREACH
	 * if the name does not resolve; -ECONNRESET if the connection ended before the answer
	 * did; -EPROTO if the server does not speak HTTP/2 or has reset the stream; -EFBIG and
	 * -ENOBUFS for the limits above; -EKEYREJECTED if the server's certificate is not trusted;
	 * what on_data returned; -ENOMEM; -EIO for anything else
	 */
	int error;
	const char
		*msg; /* the error as one line of text, valid during the call; NULL without one */
	int status;   /* 0 if there was an error */
	const char *body;
	size_t body_len;
	uint64_t retry_after_ns;              /* from Retry-After, at most a day; 0 if not given */
	const struct http_transfer *transfer; /* for http_result_header() */
};

/*
 * The value of a response header or trailer ("grpc-status"), whatever its case, valid during the
 * call of done; NULL if there is none or the request has failed. If there are several, the last.
 */
const char *http_result_header(const struct http_result *result, const char *name);

/*
 * Called once, on the loop thread, never from inside http_send(). May call http_send(), not
 * http_client_free().
 */
typedef void (*http_done_fn)(void *ctx, const struct http_result *result);

/* Returns 0, -ENOMEM, or -EMFILE and the like if there is no file descriptor left. */
int http_client_new(struct http_client **ret, struct loop *l,
		    const struct http_client_config *cfg) MUST_CHECK;
/* Cancels what is under way; their done functions are not called. */
void http_client_free(struct http_client *c);
DEFINE_CLEANUP(struct http_client *, http_client_free);

/*
 * Strings and headers are copied, the body is borrowed. ret may be NULL; *ret is valid until done
 * is called. Returns 0, -ENOMEM, or -EINVAL for a bad URL, an unknown method, a GET with a body,
 * a header without ':' or with a line break, an unusable connect_to, or no time-out.
 */
int http_start(struct http_client *c, const struct http_request *req, http_done_fn done, void *ctx,
	       struct http_transfer **ret) MUST_CHECK;
/* The same for callers that never cancel. */
int http_send(struct http_client *c, const struct http_request *req, http_done_fn done,
	      void *ctx) MUST_CHECK;
/* Frees t, whose done function is not called. NULL is allowed. */
void http_cancel(struct http_transfer *t);

#endif /* COMMON_HTTP_HTTP_H */
