/*
 * A recording of JDK Flight Recorder → profiles with types of Java. Pure; foreign data.
 *
 * A broken recording is refused as a whole.
 */
#ifndef CLUSTER_AGENT_PUSH_JFR_RECORDING_H
#define CLUSTER_AGENT_PUSH_JFR_RECORDING_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"
#include "common/pprof/profile.h"

enum jfr_group {
	JFR_GROUP_CPU,
	JFR_GROUP_WALL,
	JFR_GROUP_ALLOC,
	JFR_GROUP_LIVE,
	JFR_GROUP_LOCK,
	JFR_GROUP_MALLOC,
	JFR_GROUPS,
};

/* One for each group of events that the recording has. */
struct jfr_profiles {
	struct profile items[JFR_GROUPS];
	size_t n;
	struct profile_losses losses;
	char note[256]; /* names of types of events that were left out; "" if none was */
};

/*
 * period_ns is what a sample of CPU or wall-clock time stands for if the recording does not say.
 * Time and duration are those of the recording's chunks.
 *
 * Returns 0, -EBADMSG if the recording is broken, -EFBIG if a limit is exceeded (both with one line
 * in err), or -ENOMEM.
 */
int jfr_recording_read(struct jfr_profiles *ret, struct arena *arena, const void *data, size_t len,
		       int64_t period_ns, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_JFR_RECORDING_H */
