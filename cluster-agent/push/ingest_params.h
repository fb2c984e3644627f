/*
 * Query parameters of Pyroscope's /ingest → service, labels, window and format. Pure; foreign data.
 *
 * "name" is "app{label=value}"; of formats that have no types, "app.wall" and other endings that
 * Pyroscope knows say what values are. "from" and "until" are times since the epoch in seconds,
 * milliseconds, microseconds or nanoseconds, recognised by their size, RFC 3339, "20261128" or
 * relative to now: "now", "now-1h". As Pyroscope does, parameters that cannot be understood are as
 * if they were absent, but the note says so; those that are not known are ignored.
 */
#ifndef CLUSTER_AGENT_PUSH_INGEST_PARAMS_H
#define CLUSTER_AGENT_PUSH_INGEST_PARAMS_H

#include "cluster-agent/push/folded_frames.h"
#include "cluster-agent/push/series_labels.h"
#include "common/base.h"
#include "common/err.h"

enum ingest_format {
	INGEST_FORMAT_NONE, /* not given; the body decides, and plain text is folded stacks */
	INGEST_FORMAT_FOLDED,
	INGEST_FORMAT_LINES,
	INGEST_FORMAT_PPROF,
	INGEST_FORMAT_JFR,
	INGEST_FORMAT_SPEEDSCOPE,
	INGEST_FORMAT_TRIE,
	INGEST_FORMAT_TREE,
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
	/* What values are of formats that do not say it. */
	struct folded_unit unit;
	bool has_unit;
	const char *metric; /* as in struct foreign_hints; NULL without */
	char note[256];     /* what was not understood, for people; "" if all was */
};

/*
 * Texts of labels are copied into the arena. now_ns is the end of a window of which only the start
 * is given. Returns 0, -EBADMSG with one line in err, -EFBIG if the arena's limit is exceeded, or
 * -ENOMEM.
 */
int ingest_params_parse(struct ingest_params *ret, struct arena *arena,
			const struct ingest_query *q, int64_t now_ns, struct err *err) MUST_CHECK;

/*
 * For formats that do not say what their values are: takes the ending off the name, which becomes
 * the unit. Returns 0, -EFBIG or -ENOMEM.
 */
int ingest_params_split_name(struct ingest_params *p) MUST_CHECK;

/* Appends to the note, after "; " if it is not empty. */
void ingest_params_note(struct ingest_params *p, const char *format, ...) PRINTF_LIKE(2, 3);

#endif /* CLUSTER_AGENT_PUSH_INGEST_PARAMS_H */
