/*
 * What a client of gRPC may make the server do that brings no call forward: PING and SETTINGS that
 * want an answer, calls that are cancelled or refused, empty frames. Each has a price; a client has
 * so much to spend at first, is given more as time goes by, and earns some with each call that
 * reaches its handler. Pure.
 */
#ifndef COMMON_HTTP_GRPC_BUDGET_H
#define COMMON_HTTP_GRPC_BUDGET_H

#include "common/base.h"

#define GRPC_BUDGET_MAX 1000u
#define GRPC_BUDGET_PER_S 100u
/* More than the PING and the WINDOW_UPDATE that a client may send for each answer. */
#define GRPC_BUDGET_EARNED 8u
/* Of a call that is refused for what its client sent. */
#define GRPC_PRICE_REFUSED 4u

struct grpc_budget {
	unsigned left;
	uint64_t since_ns; /* when it was filled last; monotonic */
};

void grpc_budget_init(struct grpc_budget *b, uint64_t now_ns);
/* Returns false if there is not enough left. */
bool grpc_budget_spend(struct grpc_budget *b, unsigned price, uint64_t now_ns) MUST_CHECK;
void grpc_budget_earn(struct grpc_budget *b);

/* The price of a frame of HTTP/2; type, flags and len are those of its head (RFC 9113, 4.1). */
unsigned grpc_budget_price(uint8_t type, uint8_t flags, size_t len);

#endif /* COMMON_HTTP_GRPC_BUDGET_H */
