/* Listening sockets from the text an operator writes. */
#ifndef COMMON_HTTP_HTTP_LISTEN_H
#define COMMON_HTTP_HTTP_LISTEN_H

#include <sys/socket.h>

#include "common/base.h"
#include "common/err.h"

/*
 * "127.0.0.1:80", "[::1]:80" or ":80" (IPv6 any; *ret_dual_stack is true then).
 * No names. -EINVAL with a sentence. Pure.
 */
int http_parse_listen(const char *text, struct sockaddr_storage *ret, bool *ret_dual_stack,
		      struct err *err) MUST_CHECK;

/*
 * A non-blocking listening socket, which the caller closes, and its port. An
 * address of IPv6 takes no IPv4 connections, ":80" takes both, and on a host
 * without IPv6 only those of IPv4. -EINVAL, -EADDRINUSE, -EACCES … with a sentence.
 */
int http_listen(const char *text, unsigned *ret_port, struct err *err) MUST_CHECK;

#endif /* COMMON_HTTP_HTTP_LISTEN_H */
