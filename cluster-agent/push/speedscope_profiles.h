/*
 * A file of speedscope → profiles: py-spy, pyinstrument, .NET, rbspy and many others write it.
 * Pure; foreign data.
 *
 * A file has several profiles, such as one for each thread. Those with the same kind of unit are
 * added up to one: times, in nanoseconds; bytes; and "none", which counts samples. Profiles are
 * lists of stacks with weights ("sampled"), or calls and returns with times ("evented"), of which
 * each stack gets the time during which it was the current one.
 *
 * What refers to something that does not exist or is out of order is left out, and counted in the
 * losses of a profile.
 *
 * Source: https://www.speedscope.app/file-format-schema.json
 */
#ifndef CLUSTER_AGENT_PUSH_SPEEDSCOPE_PROFILES_H
#define CLUSTER_AGENT_PUSH_SPEEDSCOPE_PROFILES_H

#include "cluster-agent/push/folded_frames.h"
#include "common/base.h"

enum speedscope_kind {
	SPEEDSCOPE_TIME,
	SPEEDSCOPE_SAMPLES,
	SPEEDSCOPE_BYTES,
	SPEEDSCOPE_KINDS,
};

struct speedscope_profiles {
	struct profile items[SPEEDSCOPE_KINDS];
	size_t n;
};

/* Whether text looks like such a file. */
bool speedscope_detect(const char *text, size_t len);

/*
 * unit: what samples, and if its unit fits times and bytes, are. Returns 0, -EBADMSG if it is not
 * such a file or has no profile that can be read, -EFBIG if a limit is exceeded (both with one line
 * in err), or -ENOMEM.
 */
int speedscope_profiles_read(struct speedscope_profiles *ret, struct arena *arena, const char *text,
			     size_t len, const struct folded_unit *unit,
			     struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_SPEEDSCOPE_PROFILES_H */
