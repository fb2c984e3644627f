/*
 * Parameters of Pyroscope's older GET endpoints, "/pyroscope/render" and "/pyroscope/render-diff".
 * Pure; foreign data.
 */
#ifndef CLUSTER_AGENT_PYROSCOPE_RENDER_PARAMS_H
#define CLUSTER_AGENT_PYROSCOPE_RENDER_PARAMS_H

#include "common/base.h"
#include "common/err.h"

#define RENDER_QUERY_BYTES 4096u
#define RENDER_MAX_TYPE_BYTES 256u

/* "<profile type>{<selector>}", or "{…, __profile_type__=\"<profile type>\"}". */
struct render_query {
	char type_id[RENDER_MAX_TYPE_BYTES];
	const char *selector; /* within the text that was parsed */
};

/* Returns 0, or -EINVAL with a sentence. */
int render_query_parse(struct render_query *ret, const char *text, struct err *err) MUST_CHECK;

/*
 * A time: "now", "now-<number><unit>" with s, m, h, d, w, M (30 days) or y, or a number of seconds,
 * milliseconds, microseconds or nanoseconds since the epoch, as its length says. Returns 0, or
 * -EINVAL. *ret is in ms since the epoch.
 */
int render_time_parse(const char *text, int64_t now_ms, int64_t *ret) MUST_CHECK;

#endif /* CLUSTER_AGENT_PYROSCOPE_RENDER_PARAMS_H */
