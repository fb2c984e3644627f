/*
 * Query parameters of Pyroscope's /ingest → service, labels, window and format. Pure; foreign data.
 *
 * "name" is "app{label=value}". "from" and "until" are times since the epoch in seconds,
 * milliseconds, microseconds or nanoseconds, recognised by their size. Parameters that are not
 * known are ignored, as Pyroscope does.
 */
#ifndef CLUSTER_AGENT_PUSH_INGEST_PARAMS_H
#define CLUSTER_AGENT_PUSH_INGEST_PARAMS_H

#include "cluster-agent/push/series_labels.h"
#include "common/base.h"
#include "common/err.h"

enum ingest_format {
	INGEST_FORMAT_NONE, /* not given: by the body; text is folded stacks */
	INGEST_FORMAT_FOLDED,
	INGEST_FORMAT_LINES,
	INGEST_FORMAT_PPROF,
	INGEST_FORMAT_JFR,
};

/* Texts as received, without the percent signs; NULL if absent. */
struct ingest_query {
	const char *name;
	const char *from;
	const char *until;
	const char *format;
	const char *spy_name;
	const char *sample_rate;
	const char *units;
	const char *aggregation_type;
};

struct ingest_params {
	struct series_labels labels;
	int64_t start_ns; /* both 0: not given */
	int64_t end_ns;
	int64_t period_ns; /* of a sample */
	enum ingest_format format;
	/* Of folded stacks: what their values are, for foreign_types.h. */
	const char *type;
	const char *unit;
};

/*
 * Texts of labels are copied into the arena. now_ns is the end of a window of which only the start
 * is given. Returns 0, -EBADMSG with one line in err, -EFBIG if the arena's limit is exceeded, or
 * -ENOMEM.
 */
int ingest_params_parse(struct ingest_params *ret, struct arena *arena,
			const struct ingest_query *q, int64_t now_ns, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_INGEST_PARAMS_H */
