/*
 * gRPC server for unary methods: nghttp2 on a loop and a thread of its own.
 *
 * A call reaches its handler once its message is complete and within the limits; what is wrong
 * with a request otherwise is answered here. Handlers run on the server's thread and must not
 * block: they respond at once, or keep the call and respond later from any thread, exactly once.
 * Messages are passed on as they came, compressed or not.
 *
 * With max_connections open, a new one takes the place of one without calls: at the address that
 * has most connections, the one that has been so for longest. If all have calls, it takes that of a
 * slow one if one other address has more than half of all, and is refused otherwise. Memory for
 * messages is had in the same way.
 *
 * A connection is closed that sends no request within 10 s of its start, that takes longer for one
 * than 30 s plus 1 s per 16 KiB, that sends less than 64 KiB of one in 30 s, that does not read an
 * answer within 30 s, or that asks for more than grpc_budget.h allows.
 *
 * HTTP/2 with TLS, or without by prior knowledge. Sources: RFC 9113; grpc/doc/PROTOCOL-HTTP2.md.
 */
#ifndef COMMON_HTTP_GRPC_SERVER_H
#define COMMON_HTTP_GRPC_SERVER_H

#include "common/access/access.h"
#include "common/base.h"
#include "common/err.h"
#include "common/telemetry/metrics.h"

struct grpc_call;
struct grpc_server;
struct server_tls;

/* grpc/doc/statuscodes.md */
enum grpc_status {
	GRPC_OK = 0,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_UNAUTHENTICATED = 16,
};

struct grpc_method {
	const char *path; /* "/package.Service/Method"; NULL ends the table; borrowed */
	enum access_scope scope;
	void (*fn)(void *ctx, struct grpc_call *call);
	void *ctx;
};

struct grpc_server_config {
	const char *listen; /* as http_listen() takes it */
	unsigned max_connections;
	size_t max_message_bytes;          /* of one message, as received */
	size_t max_memory_bytes;           /* of all messages that are received or not answered */
	const struct grpc_method *methods; /* borrowed */
	const struct access *access;       /* borrowed; NULL: everybody may call everything */
	struct server_tls *tls;            /* borrowed; NULL: without TLS */
	uint64_t request_ns;               /* for a request, or its answer; 0: 30 s */
};

/* Returns 0, or -EADDRINUSE, -EACCES, -EINVAL (bad address) and the like with a sentence in err. */
int grpc_server_new(struct grpc_server **ret, const struct grpc_server_config *cfg,
		    struct err *err) MUST_CHECK;
/*
 * Waits until every call is answered; other threads must answer those that were kept. The last
 * answers then have 1 s to be sent.
 */
void grpc_server_free(struct grpc_server *s);
DEFINE_CLEANUP(struct grpc_server *, grpc_server_free);
/* Stops accepting connections, and asks clients to leave; calls that have begun continue. */
void grpc_server_quiesce(struct grpc_server *s);
unsigned grpc_server_port(const struct grpc_server *s);
/* Metrics grpc_server_*; the server must outlive ms. */
int grpc_server_register(struct grpc_server *s, struct metrics *ms) MUST_CHECK;

/* The message, borrowed until the answer. */
const void *grpc_call_message(const struct grpc_call *c, size_t *ret_len);
/* How it is compressed, as grpc-encoding says; "" if it is not. */
const char *grpc_call_encoding(const struct grpc_call *c);

/*
 * Answers. text is one line, for a status other than GRPC_OK; message is the answer otherwise. Both
 * are copied. The call must not be used afterwards.
 */
void grpc_respond(struct grpc_call *c, enum grpc_status status, const char *text,
		  const void *message, size_t len);

#endif /* COMMON_HTTP_GRPC_SERVER_H */
