/*
 * Body of Pyroscope's POST /ingest → parts of an upload. Pure; foreign data.
 *
 * It is multipart/form-data with "profile" (a pprof), "prev_profile" and "sample_type_config", or
 * with "jfr"; or a pprof, a recording, folded stacks, a file of speedscope, a trie or a tree alone.
 * Each may be gzipped.
 */
#ifndef CLUSTER_AGENT_PUSH_INGEST_BODY_H
#define CLUSTER_AGENT_PUSH_INGEST_BODY_H

#include "cluster-agent/ingest/upload_parts.h"
#include "cluster-agent/push/ingest_params.h"

/* The context of ingest_body_decode(); borrowed. */
struct ingest_request {
	struct ingest_query query;
	const char *content_type; /* NULL without */
	int64_t now_ns;
};

/* An upload_decode_fn. */
upload_decode_fn ingest_body_decode;

#endif /* CLUSTER_AGENT_PUSH_INGEST_BODY_H */
