/*
 * "sample_type_config" of Pyroscope's /ingest: JSON that says what the types of a pprof are. Pure;
 * foreign data.
 *
 *	{"contentions": {"display-name": "mutex_count", "units": "lock_samples",
 *	                 "cumulative": true}}
 */
#ifndef CLUSTER_AGENT_PUSH_SAMPLE_TYPE_CONFIG_H
#define CLUSTER_AGENT_PUSH_SAMPLE_TYPE_CONFIG_H

#include "common/base.h"
#include "common/err.h"

#define SAMPLE_TYPES_MAX 64u
#define SAMPLE_TYPE_CONFIG_MAX_BYTES ((size_t)64 * 1024)
#define SAMPLE_TYPE_NAME_BYTES 64u /* with the NUL */

struct sample_type {
	char name[SAMPLE_TYPE_NAME_BYTES];
	bool cumulative; /* counts from the start of the process: "prev_profile" is subtracted */
};

struct sample_type_config {
	struct sample_type types[SAMPLE_TYPES_MAX];
	size_t n;
	/*
	 * "mutex" or "block" if a display name begins with that, else "": tells Go's profiles of
	 * contention apart (foreign_types.h).
	 */
	const char *metric;
};

/* Returns 0, or -EBADMSG if it is not such an object (with one line in err), or -ENOMEM. */
int sample_type_config_parse(struct sample_type_config *ret, const char *json, size_t len,
			     struct err *err) MUST_CHECK;

/* Whether the type is listed as cumulative. */
bool sample_type_is_cumulative(const struct sample_type_config *c, const char *name, size_t len);

#endif /* CLUSTER_AGENT_PUSH_SAMPLE_TYPE_CONFIG_H */
