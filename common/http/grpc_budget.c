#include "common/http/grpc_budget.h"

#include <nghttp2/nghttp2.h>

#include "common/system/clock.h"

/* A DATA frame with less than this of a message is as good as an empty one. */
#define MIN_DATA_BYTES 64u
/* More than a call earns, so that nobody can begin calls and cancel them for ever. */
#define PRICE_RESET (GRPC_BUDGET_EARNED + 2u)
/* The headers that we accept fit into one frame. */
#define PRICE_CONTINUATION 10u

void grpc_budget_init(struct grpc_budget *b, uint64_t now_ns)
{
	*b = (struct grpc_budget){GRPC_BUDGET_MAX, now_ns};
}

static void fill(struct grpc_budget *b, uint64_t now_ns)
{
	const uint64_t each_ns = NS_PER_S / GRPC_BUDGET_PER_S;
	uint64_t n = (now_ns - b->since_ns) / each_ns;

	b->since_ns += n * each_ns;
	b->left = n < GRPC_BUDGET_MAX - b->left ? b->left + (unsigned)n : GRPC_BUDGET_MAX;
}

bool grpc_budget_spend(struct grpc_budget *b, unsigned price, uint64_t now_ns)
{
	if (b->left < price)
		fill(b, now_ns);
	if (b->left < price)
		return false;
	b->left -= price;
	return true;
}

void grpc_budget_earn(struct grpc_budget *b)
{
	b->left = b->left + GRPC_BUDGET_EARNED < GRPC_BUDGET_MAX ? b->left + GRPC_BUDGET_EARNED
								 : GRPC_BUDGET_MAX;
}

unsigned grpc_budget_price(uint8_t type, uint8_t flags, size_t len)
{
	switch (type) {
	case NGHTTP2_HEADERS:
		return 0; /* what becomes of it has a price */
	case NGHTTP2_DATA:
		return len >= MIN_DATA_BYTES || (flags & NGHTTP2_FLAG_END_STREAM) ? 0 : 1;
	case NGHTTP2_RST_STREAM:
		return PRICE_RESET;
	case NGHTTP2_CONTINUATION:
		return PRICE_CONTINUATION;
	default:
		return 1;
	}
}
