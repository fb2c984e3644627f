/*
 * How many connections the clients of a server hold, by address. Who shares an IPv6 network of the
 * size that a host has for itself (/64) counts as one. Used by http_connections.c and grpc_server.c
 * only; not locked.
 */
#ifndef COMMON_HTTP_HTTP_PEERS_H
#define COMMON_HTTP_HTTP_PEERS_H

#include <sys/socket.h>

#include "common/base.h"
#include "common/data/table.h"

#define HTTP_PEER_BYTES 16

struct http_peer {
	uint8_t address[HTTP_PEER_BYTES];
	unsigned n; /* connections that count: the user's */
	unsigned n_refs;
	UT_hash_handle hh;
};

/* Begins with peers == NULL. Returns NULL without memory. */
struct http_peer *http_peer_ref(struct http_peer **peers, const struct sockaddr *from);
/* p may be NULL. */
void http_peer_unref(struct http_peer **peers, struct http_peer *p);
/* p->n; one without memory counts as an address with a single connection. */
unsigned http_peer_weight(const struct http_peer *p);

#endif /* COMMON_HTTP_HTTP_PEERS_H */
