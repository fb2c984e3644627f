/* The answer of a gRPC call as frames of HTTP/2. Used by grpc_connection.c only. */
#ifndef COMMON_HTTP_GRPC_ANSWER_H
#define COMMON_HTTP_GRPC_ANSWER_H

#include <nghttp2/nghttp2.h>

#include "common/base.h"
#include "common/http/grpc_connection.h"

/* The call must live until its stream is closed. If it cannot be answered, it is reset. */
void grpc_answer_submit(nghttp2_session *session, struct grpc_call *call);

#endif /* COMMON_HTTP_GRPC_ANSWER_H */
