/*
 * Any bytes as a pprof that is to be sent as OTLP: what is made of it is a request that protobuf-c
 * reads and that our own receiver takes, unless its values or times cannot be stored.
 */
#include <errno.h>

#include "cluster-agent/otlp/otlp_parts.h"
#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/otlp/otlp_encode.h"
#include "proto/otlp_profiles.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check_request(const struct buf *request)
{
	const struct otlp_parts_config cfg = {.now_ns = INT64_MAX / 2, .max_age_ns = INT64_MAX / 2};
	CLEANUP(arena_fini) struct arena arena;
	struct otlp_parts_report report;
	struct upload_parts parts;
	struct err err = {""};
	ProtobufCMessage *m;

	m = protobuf_c_message_unpack(&otlp__export_profiles_service_request__descriptor, NULL,
				      request->len, (const uint8_t *)request->data);
	require(m != NULL);
	protobuf_c_message_free_unpacked(m, NULL);
	arena_init(&arena, 64 * MIB);
	/* it may be too large or have only values that are rejected, but is never invalid */
	if (otlp_parts_decode(&parts, &report, &arena, &cfg,
			      (struct otlp_bytes){(const uint8_t *)request->data, request->len},
			      &err) == -EBADMSG)
		require(report.n_rejected > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct otlp_encode_config cfg = {
		.query = "service.name=a%20b&host.name=h&x", .scope = "s", .version = "1"};
	CLEANUP(buf_fini) struct buf packed;
	CLEANUP(buf_fini) struct buf request;
	int r;

	buf_init(&packed, 64 * MIB);
	buf_init(&request, 64 * MIB);
	r = otlp_encode(data, size, &cfg, &packed);
	require(r == 0 || r == -EBADMSG || r == -EFBIG || r == -ENOMEM);
	if (r < 0) {
		require(packed.len == 0);
		return 0;
	}
	r = gzip_inflate(packed.data, packed.len, &request);
	require(r == 0 || r == -EFBIG);
	if (r == 0)
		check_request(&request);
	return 0;
}
