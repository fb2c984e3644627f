/*
 * "prev_profile" of Pyroscope's /ingest: a pprof whose counts since the start of the process are
 * subtracted from those of the next one, stack by stack. Pure; foreign data.
 */
#ifndef CLUSTER_AGENT_PUSH_PREVIOUS_PROFILE_H
#define CLUSTER_AGENT_PUSH_PREVIOUS_PROFILE_H

#include "common/base.h"
#include "common/err.h"
#include "common/pprof/profile.h"

/*
 * "sample_type_config" of Pyroscope's /ingest: JSON that says what the types of a pprof are. Pure;
 * foreign data.
 *
 *	{"contentions": {"display-name": "mutex_count", "units": "lock_samples",
 *	                 "cumulative": true}}
 */

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

/*
 * Replaces the samples of p, in its arena, by the differences to prev; types that are not
 * cumulative keep their values. config says which are; if it lists no types, it is what Go counts
 * from the start: alloc_objects, alloc_space, contentions, delay. If a stack has less than before,
 * the process has restarted, and the values stay as they are.
 *
 * Returns 0, -EBADMSG if the types differ or values exceed 63 bits (with one line in err), -EFBIG
 * if the arena's limit is exceeded, or -ENOMEM.
 */
int previous_profile_subtract(struct profile *p, const struct profile *prev,
			      const struct sample_type_config *config, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_PREVIOUS_PROFILE_H */
