/*
 * Body of Pyroscope's POST /push.v1.PusherService/Push → parts of an upload. Pure; foreign data.
 *
 *	PushRequest { series = 1 [ { labels = 1 [ { name = 1, value = 2 } ],
 *	                             samples = 2 [ { raw_profile = 1, ID = 2 } ] } ] }
 *
 * as protobuf or as protobuf's JSON (raw_profile in base64). A raw profile is a pprof.
 * Source: grafana/pyroscope, api/push/v1/push.proto.
 */
#ifndef CLUSTER_AGENT_PUSH_PUSH_REQUEST_H
#define CLUSTER_AGENT_PUSH_PUSH_REQUEST_H

#include "cluster-agent/ingest/upload_parts.h"

enum push_codec {
	PUSH_PROTOBUF,
	PUSH_JSON,
};

/* The context of push_request_decode(). */
struct push_request {
	enum push_codec codec;
	int64_t now_ns;
};

/* An upload_decode_fn. The body may be gzipped. */
upload_decode_fn push_request_decode;

#endif /* CLUSTER_AGENT_PUSH_PUSH_REQUEST_H */
