/*
 * The server's own thread beside those of libmicrohttpd. Used by http_server.c only.
 */
#ifndef COMMON_HTTP_HTTP_DOORMAN_H
#define COMMON_HTTP_HTTP_DOORMAN_H

#include "common/base.h"
#include "common/http/http_left.h"

struct http_doorman;

/* Returns 0, -ENOMEM, -EAGAIN without a thread, or -EMFILE and the like. */
int http_doorman_new(struct http_doorman **ret) MUST_CHECK;
/* No exchange may be watched. */
void http_doorman_free(struct http_doorman *d);
struct http_left *http_doorman_left(struct http_doorman *d);

#endif /* COMMON_HTTP_HTTP_DOORMAN_H */
