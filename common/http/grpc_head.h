/* The headers of a gRPC request, and whether it may go on. Used by grpc_connection.c only. */
#ifndef COMMON_HTTP_GRPC_HEAD_H
#define COMMON_HTTP_GRPC_HEAD_H

#include "common/base.h"
#include "common/err.h"
#include "common/http/grpc_server.h"

/* Longer values of headers that matter are left out. */
#define GRPC_HEAD_VALUE_BYTES 4096u
/* All headers of a call, as SETTINGS_MAX_HEADER_LIST_SIZE counts them: 32 bytes more for each. */
#define GRPC_HEAD_BYTES (4 * GRPC_HEAD_VALUE_BYTES)
#define GRPC_HEAD_COST_BYTES 32u

/* Headers that are kept. */
enum grpc_header {
	GRPC_HEADER_METHOD,
	GRPC_HEADER_PATH,
	GRPC_HEADER_AUTHORITY,
	GRPC_HEADER_TYPE,
	GRPC_HEADER_ENCODING,
	GRPC_HEADER_ORIGIN,
	GRPC_HEADER_API_KEY,
	GRPC_HEADER_AUTHORIZATION,
	GRPC_HEADER_MAX,
};

struct grpc_head {
	char *values[GRPC_HEADER_MAX]; /* NULL if absent */
	bool too_large;                /* together they exceed GRPC_HEAD_BYTES */
};

/* name need not end with '\0'. Unknown ones are ignored. Returns 0 or -ENOMEM. */
int grpc_head_add(struct grpc_head *h, const uint8_t *name, size_t name_len, const uint8_t *value,
		  size_t value_len) MUST_CHECK;
/* Frees all but what says how the message is compressed. */
void grpc_head_release(struct grpc_head *h);
void grpc_head_fini(struct grpc_head *h);

struct grpc_refusal {
	enum grpc_status status;
	unsigned http_status; /* instead; 0: none */
	struct err err;       /* with status: why */
};

/*
 * Returns the method, or NULL with a refusal: the request is no call, its method does not exist, or
 * its client (of http_client_number()) may not call it.
 */
const struct grpc_method *grpc_head_check(const struct grpc_head *h,
					  const struct grpc_server_config *cfg, uint64_t client,
					  struct grpc_refusal *ret);

#endif /* COMMON_HTTP_GRPC_HEAD_H */
