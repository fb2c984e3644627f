/*
 * An OTLP request of profiles → parts of an upload (upload_parts.h). Pure; foreign data.
 *
 * A request is ExportProfilesServiceRequest of opentelemetry-proto 1.11 in protobuf
 * (proto/otlp_profiles.proto). Each of its profiles has one type of values and becomes a part; if
 * its resource has no name, it becomes one part for each name that its samples have
 * (otlp_resource.h).
 * Samples without values count their timestamps. Types are mapped by foreign_types.h, unless the
 * profile says what it is called here (attribute coroot.profile.type), as those of our node agent
 * do.
 *
 * A broken request, or one in which something refers to what does not exist, is invalid as a whole.
 * A profile that cannot be stored, because of its times or its type, or because it is a difference
 * of two, is left out and counted; a request that has no other profiles is invalid, too. Negative
 * values and those beyond 63 bits are losses.
 */
#ifndef CLUSTER_AGENT_OTLP_OTLP_PARTS_H
#define CLUSTER_AGENT_OTLP_OTLP_PARTS_H

#include "cluster-agent/ingest/upload_parts.h"
#include "common/base.h"
#include "common/otlp/otlp_messages.h"

struct otlp_parts_config {
	int64_t now_ns;
	int64_t max_age_ns; /* older profiles are left out */
};

struct otlp_parts_report {
	uint64_t n_profiles; /* in the request */
	uint64_t n_rejected; /* of these, left out */
	/* Why the first of them was, and after ingest also what was left out of others. */
	struct err reason;
};

/*
 * The request's bytes outlive *ret. Returns 0, -EBADMSG or -EFBIG with one line in err, or
 * -ENOMEM. *report is written in every case.
 */
int otlp_parts_decode(struct upload_parts *ret, struct otlp_parts_report *report,
		      struct arena *arena, const struct otlp_parts_config *cfg,
		      struct otlp_bytes request, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_OTLP_OTLP_PARTS_H */
