/*
 * Body of POST /v1/profiles, a pprof → the one part of the upload. Types of other tools become
 * ours. Pure; foreign data.
 */
#ifndef CLUSTER_AGENT_PUSH_PPROF_UPLOAD_H
#define CLUSTER_AGENT_PUSH_PPROF_UPLOAD_H

#include "cluster-agent/ingest/upload_parts.h"

/* The context of pprof_upload_decode(); borrowed. */
struct pprof_upload {
	struct row_text service;
	struct row_text host;
	const struct row_label *labels;
	size_t n_labels;
	int64_t now_ns;
};

/* An upload_decode_fn. */
upload_decode_fn pprof_upload_decode;

#endif /* CLUSTER_AGENT_PUSH_PPROF_UPLOAD_H */
