#include "cluster-agent/otlp/otlp_grpc.h"

#include <errno.h>

#include "cluster-agent/otlp/otlp_upload.h"
#include "common/http/grpc_server.h"
#include "common/limits.h"

#define METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
/* A collector has one; what is not used costs some 50 KiB. */
#define MAX_CONNECTIONS 512u
#define MAX_ANSWER_BYTES 4096u

struct otlp_grpc {
	struct otlp_handler_config cfg;
	struct grpc_method methods[2];
	struct grpc_server *server;
};

/* One call while ingest works on it. */
struct request {
	struct otlp_grpc *grpc;
	struct grpc_call *call;
	struct otlp_upload upload;
};

static void request_free(struct request *r)
{
	otlp_upload_fini(&r->upload);
	free(r);
}
DEFINE_CLEANUP(struct request *, request_free);

static void refuse(struct otlp_grpc *g, struct grpc_call *call, enum upload_result result,
		   const char *reason)
{
	static const enum grpc_status by_result[UPLOAD_RESULT_MAX] = {
		[UPLOAD_BAD_PARAMS] = GRPC_INVALID_ARGUMENT,
		[UPLOAD_BAD_PROFILE] = GRPC_INVALID_ARGUMENT,
		[UPLOAD_TOO_LARGE] = GRPC_RESOURCE_EXHAUSTED,
		[UPLOAD_BUSY] = GRPC_UNAVAILABLE,
		[UPLOAD_LOG_FULL] = GRPC_UNAVAILABLE,
		[UPLOAD_DISK_FULL] = GRPC_UNAVAILABLE,
		[UPLOAD_FAILED] = GRPC_UNAVAILABLE,
	};

	upload_result_note(g->cfg.counters, NULL, result, "", reason);
	grpc_respond(call, by_result[result], reason, NULL, 0);
}

static void upload_done(void *ctx, enum ingest_outcome outcome, const char *reason)
{
	CLEANUP(request_freep) struct request *r = ctx;
	enum upload_result result = upload_result_of(outcome);
	CLEANUP(buf_fini) struct buf answer = {0};

	if (result != UPLOAD_STORED) {
		refuse(r->grpc, r->call, result, reason);
		return;
	}
	upload_result_note(r->grpc->cfg.counters, NULL, result, "", reason);
	buf_init(&answer, MAX_ANSWER_BYTES);
	/* without memory, an empty answer: success without the number of rejected profiles */
	if (otlp_answer_write(&r->upload.report, false, &answer) < 0)
		buf_truncate(&answer, 0);
	grpc_respond(r->call, GRPC_OK, "", answer.data, answer.len);
}

static void export(void *ctx, struct grpc_call *call)
{
	struct otlp_grpc *g = ctx;
	CLEANUP(request_freep) struct request *r = calloc(1, sizeof(*r));

	if (!r) {
		refuse(g, call, UPLOAD_FAILED, "out of memory");
		return;
	}
	otlp_upload_init(&r->upload);
	if (!body_encoding_find(&r->upload.encoding, grpc_call_encoding(call))) {
		refuse(g, call, UPLOAD_BAD_PARAMS, "grpc-encoding must be " BODY_ENCODINGS);
		return;
	}
	r->grpc = g;
	r->call = call;
	r->upload.body = grpc_call_message(call, &r->upload.len);
	r->upload.max_age_ns = (int64_t)g->cfg.profiles_ttl_ns;
	r->upload.done = upload_done;
	r->upload.ctx = r;
	if (otlp_upload_submit(&r->upload, g->cfg.ingest) < 0) {
		refuse(g, call, UPLOAD_BUSY, "too many profiles are waiting");
		return;
	}
	/* upload_done() frees it, or already has */
	TAKE_PTR(r);
}

int otlp_grpc_new(struct otlp_grpc **ret, const struct otlp_grpc_config *cfg, struct err *err)
{
	CLEANUP(otlp_grpc_freep) struct otlp_grpc *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->cfg = cfg->handler;
	g->methods[0] = (struct grpc_method){METHOD, ACCESS_WRITE, export, g};
	r = grpc_server_new(&g->server,
			    &(struct grpc_server_config){
				    .listen = cfg->listen,
				    .max_connections = MAX_CONNECTIONS,
				    .max_message_bytes = LIMIT_UPLOAD_BYTES,
				    .max_memory_bytes = LIMIT_UPLOADS_MEMORY_BYTES,
				    .methods = g->methods,
				    .access = cfg->access,
				    .tls = cfg->tls,
			    },
			    err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(g);
	return 0;
}

void otlp_grpc_free(struct otlp_grpc *g)
{
	if (!g)
		return;
	grpc_server_free(g->server);
	free(g);
}

void otlp_grpc_quiesce(struct otlp_grpc *g)
{
	grpc_server_quiesce(g->server);
}

int otlp_grpc_register(struct otlp_grpc *g, struct metrics *ms)
{
	return grpc_server_register(g->server, ms);
}

unsigned otlp_grpc_port(const struct otlp_grpc *g)
{
	return grpc_server_port(g->server);
}
