/*
 * A pprof of ours, and the labels of its upload → an OTLP request (ExportProfilesServiceRequest,
 * opentelemetry-proto 1.11), gzipped. Pure.
 *
 * Labels become attributes of the resource. Each type of the pprof becomes a profile with the
 * attribute coroot.profile.type, its name here; sample_type has what OpenTelemetry would call it
 * ("go_runtime:heap_inuse_space:bytes" is inuse_space in bytes). Comments become
 * pprof.profile.comment. Files keep their build ids, frames of the kernel and of native code their
 * types. otlp_parts.h of the cluster agent makes the same rows of the request as of the pprof.
 */
#ifndef COMMON_OTLP_OTLP_ENCODE_H
#define COMMON_OTLP_OTLP_ENCODE_H

#include "common/base.h"
#include "common/data/buf.h"

struct otlp_encode_config {
	const char *query; /* labels as upload_url_query() makes them */
	const char *scope; /* name and version of the sender */
	const char *version;
};

/*
 * pprof is gzipped or raw, and may be damaged. Appends to out. Returns 0, -EBADMSG if it is not a
 * pprof, -EFBIG if a limit is exceeded, or -ENOMEM. On failure out is unchanged.
 */
int otlp_encode(const void *pprof, size_t len, const struct otlp_encode_config *cfg,
		struct buf *out) MUST_CHECK;

/*
 * Whether the body of a 2xx answer (ExportProfilesServiceResponse) says that all profiles were
 * stored. What is not such a message counts as yes.
 */
bool otlp_answer_is_success(const void *body, size_t len);

#endif /* COMMON_OTLP_OTLP_ENCODE_H */
