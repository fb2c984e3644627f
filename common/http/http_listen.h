/* Listening sockets from the text of an option. */
#ifndef COMMON_HTTP_HTTP_LISTEN_H
#define COMMON_HTTP_HTTP_LISTEN_H

#include <sys/socket.h>

#include "common/base.h"
#include "common/err.h"

/*
 * Parses "127.0.0.1:80", "[::1]:80" or ":80" (any IPv6 address, with *ret_dual_stack set). Names
 * are not resolved. Returns 0, or -EINVAL with a sentence. Pure.
 */
int http_parse_listen(const char *text, struct sockaddr_storage *ret, bool *ret_dual_stack,
		      struct err *err) MUST_CHECK;

/* Whether such an address can be reached from this machine only; false if it is not an address. */
bool http_listen_is_loopback(const char *text);

/*
 * Returns a non-blocking listening socket, which the caller closes, or -EINVAL, -EADDRINUSE,
 * -EACCES and the like with a sentence. An IPv6 address accepts no IPv4 connections; ":80"
 * accepts both, and only IPv4 on a host without IPv6.
 */
int http_listen(const char *text, unsigned *ret_port, struct err *err) MUST_CHECK;

/*
 * A number for who has this address, the network (/64) of IPv6. addr may be NULL. Pure; see
 * http_exchange_client().
 */
uint64_t http_client_number(const struct sockaddr *addr);

#endif /* COMMON_HTTP_HTTP_LISTEN_H */
