#include "common/http/http_peers.h"

#include <netinet/in.h>

#define V6_NETWORK_BYTES 8

static void address_of(const struct sockaddr *from, uint8_t address[HTTP_PEER_BYTES])
{
	union {
		const struct sockaddr *any;
		const struct sockaddr_in *v4;
		const struct sockaddr_in6 *v6;
	} a = {.any = from};

	memset(address, 0, HTTP_PEER_BYTES);
	if (from->sa_family == AF_INET)
		memcpy(address + 12, &a.v4->sin_addr, 4);
	else if (from->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a.v6->sin6_addr))
		memcpy(address + 12, a.v6->sin6_addr.s6_addr + 12, 4);
	else if (from->sa_family == AF_INET6)
		memcpy(address, &a.v6->sin6_addr, V6_NETWORK_BYTES);
}

struct http_peer *http_peer_ref(struct http_peer **peers, const struct sockaddr *from)
{
	uint8_t address[HTTP_PEER_BYTES];
	struct http_peer *p;

	address_of(from, address);
	HASH_FIND(hh, *peers, address, HTTP_PEER_BYTES, p);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		memcpy(p->address, address, HTTP_PEER_BYTES);
		HASH_ADD(hh, *peers, address, HTTP_PEER_BYTES, p);
		if (!TABLE_ADDED(hh, p)) {
			free(p);
			return NULL;
		}
	}
	p->n_refs++;
	return p;
}

void http_peer_unref(struct http_peer **peers, struct http_peer *p)
{
	if (!p || --p->n_refs > 0 || !*peers)
		return;
	HASH_DEL(*peers, p);
	free(p);
}

unsigned http_peer_weight(const struct http_peer *p)
{
	return p ? p->n : 1;
}
