/* One HTTP/2 connection of a gRPC server, and its calls. Server's thread only. */
#ifndef COMMON_HTTP_GRPC_CONNECTION_H
#define COMMON_HTTP_GRPC_CONNECTION_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/http/grpc_frame.h"
#include "common/http/grpc_head.h"
#include "common/http/grpc_server.h"
#include "common/system/loop.h"

struct grpc_connection;

struct grpc_call {
	struct grpc_call *prev, *next;   /* of its connection */
	struct grpc_call *next_answered; /* under the server's lock */
	struct grpc_connection *conn;    /* NULL once the client has left */
	struct grpc_host *host;
	int32_t stream;
	struct grpc_head head;
	const struct grpc_method *method;
	struct buf body;
	size_t charged;      /* to grpc_host.memory_bytes */
	uint64_t since_ns;   /* monotonic: of the request, then of its answer */
	size_t progress_len; /* of the body at progress_ns; grpc_connection_is_late()'s */
	uint64_t progress_ns;
	bool complete;   /* the request is */
	bool dispatched; /* the handler has it, or had */
	bool answered;
	struct grpc_frame frame;
	/* the answer */
	enum grpc_status status;
	unsigned http_status; /* instead; 0: none */
	struct buf text;
	struct buf message; /* with its head */
	size_t n_sent;
};

/* Why a connection ends, if that is the client's fault. */
enum grpc_end {
	GRPC_END_INVALID,   /* it does not speak HTTP/2, or not rightly */
	GRPC_END_EXCESSIVE, /* it asks for more than grpc_budget.h allows, or has huge headers */
};

/* What a connection needs of its server. */
struct grpc_host {
	const struct grpc_server_config *cfg;
	struct loop *loop;
	size_t memory_bytes; /* of all bodies */
	/* a call is complete */
	void (*dispatch)(void *ctx, struct grpc_call *c);
	/* the connection has ended: free it, but not within this call */
	void (*ended)(void *ctx, struct grpc_connection *c);
	/* a request is refused before its handler sees it */
	void (*refused)(void *ctx, enum grpc_status status);
	/* counts why the connection ends */
	void (*gave_up)(void *ctx, enum grpc_end why);
	/* releases memory of bodies of a connection other than c; false if there is none */
	bool (*make_memory)(void *ctx, const struct grpc_connection *c);
	void *ctx;
};

/* Takes fd on success. client is of http_client_number(). Returns 0, -ENOMEM, -EMFILE and so on. */
int grpc_connection_new(struct grpc_connection **ret, struct grpc_host *host, int fd,
			uint64_t client) MUST_CHECK;
/* Calls whose handler has them continue without it. */
void grpc_connection_free(struct grpc_connection *c);

/* Sends the answer of a call that has a connection. The call is freed once it is sent. */
void grpc_connection_answer(struct grpc_call *call);
void grpc_call_free(struct grpc_call *call);

/* Asks the client to begin no more calls. */
void grpc_connection_goaway(struct grpc_connection *c);
/* Since when it has had no call; 0: it has one. */
uint64_t grpc_connection_idle_since_ns(const struct grpc_connection *c);
/* Since when its client owes us part of a request, or has an answer to read; 0: it does not. */
uint64_t grpc_connection_waits_since_ns(const struct grpc_connection *c);
/* What has arrived of messages that are incomplete. */
size_t grpc_connection_incomplete_bytes(const struct grpc_connection *c);
/*
 * Whether it takes too long for a request or to read an answer, or has never sent a request. To be
 * called every second.
 */
bool grpc_connection_is_late(struct grpc_connection *c, uint64_t now_ns);
/* Whether it has calls, or bytes that are not sent. */
bool grpc_connection_is_busy(const struct grpc_connection *c);
bool grpc_connection_has_ended(const struct grpc_connection *c);

#endif /* COMMON_HTTP_GRPC_CONNECTION_H */
