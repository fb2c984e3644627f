#include "common/http/grpc_answer.h"

static nghttp2_nv header(const char *name, const char *value)
{
	/* nghttp2's members are not const */
	/* NOLINTBEGIN(performance-no-int-to-ptr) */
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
			    .value = (uint8_t *)(uintptr_t)value,
			    .namelen = strlen(name),
			    .valuelen = strlen(value)};
	/* NOLINTEND(performance-no-int-to-ptr) */
}

/* Returns the number of trailers; digits is their storage. */
static size_t make_trailers(const struct grpc_call *call, nghttp2_nv nv[static 2],
			    char digits[static 12])
{
	size_t n = 0;

	snprintf(digits, 12, "%d", (int)call->status);
	nv[n++] = header("grpc-status", digits);
	if (call->text.len > 0)
		nv[n++] = header("grpc-message", call->text.data);
	return n;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are nghttp2's */
static ssize_t next_piece(nghttp2_session *session, int32_t stream, uint8_t *out, size_t len,
			  uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct grpc_call *call = source->ptr;
	size_t left = call->message.len - call->n_sent;
	nghttp2_nv trailers[2];
	char digits[12];
	size_t n;

	(void)ctx;
	if (len > left)
		len = left;
	memcpy(out, call->message.data + call->n_sent, len);
	call->n_sent += len;
	if (call->n_sent < call->message.len)
		return (ssize_t)len;
	*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	n = make_trailers(call, trailers, digits);
	return nghttp2_submit_trailer(session, stream, trailers, n) == 0
		       ? (ssize_t)len
		       : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

void grpc_answer_submit(nghttp2_session *session, struct grpc_call *call)
{
	nghttp2_data_provider data = {.source = {.ptr = call}, .read_callback = next_piece};
	bool has_message = call->status == GRPC_OK && call->http_status == 0;
	char status[12], digits[12];
	nghttp2_nv nv[5];
	size_t n = 0;
	int r;

	snprintf(status, sizeof(status), "%u", call->http_status ? call->http_status : 200);
	nv[n++] = header(":status", status);
	if (call->http_status == 0) {
		nv[n++] = header("content-type", "application/grpc");
		nv[n++] = header("grpc-accept-encoding", "identity,gzip,zstd");
		if (!has_message)
			n += make_trailers(call, nv + n, digits);
	}
	r = nghttp2_submit_response(session, call->stream, nv, n, has_message ? &data : NULL);
	if (r < 0)
		(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream,
						NGHTTP2_INTERNAL_ERROR);
}
