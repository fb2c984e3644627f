/*
 * The answer to a request whose Content-Length is no number.
 *
 * libmicrohttpd 0.9.75 answers it by itself and puts the head of its answer into the buffer twice,
 * so that the client takes the second head for the body. No callback comes between; but it logs
 * before it answers, on the thread of the connection. There we send an answer of our own and end
 * the direction, so that its answer is not sent.
 */
#ifndef COMMON_HTTP_HTTP_BAD_LENGTH_H
#define COMMON_HTTP_HTTP_BAD_LENGTH_H

#include <microhttpd.h>

#include "common/base.h"

/* The request line of conn was read: its headers are the next that this thread reads. */
void http_bad_length_begin(struct MHD_Connection *conn);
/* The connection ends, on the same thread. */
void http_bad_length_end(struct MHD_Connection *conn);

/*
 * libmicrohttpd logs a line of this format. Returns true if it was about such a request, which has
 * now been answered; false too if another connection's line was read while its headers came.
 */
bool http_bad_length_on_log(const char *fmt);

#endif /* COMMON_HTTP_HTTP_BAD_LENGTH_H */
