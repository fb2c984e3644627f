/* Reads a recording from its file and makes profiles of it. */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_READ_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_READ_H

#include "common/base.h"
#include "common/jfr/jfr_stacks.h"
#include "node-agent/java/profile/java_recording.h"
#include "node-agent/java/profile/java_stacks.h"

struct java_reading {
	uint32_t n_uploaded;           /* chunks to leave out, from the first one on */
	struct jfr_settings *settings; /* borrowed; those known so far */

	/* set by java_read() */
	struct java_chunks chunks;
	struct jfr_result result;
	struct java_totals totals;
	uint64_t n_lost; /* events whose stacks did not fit into a profile */
	bool is_broken;  /* the recording could not be read to the end of its last chunk */
};

/*
 * Calls emit for each kind of profile that has a sample, which takes the content of p. Returns 0,
 * -ENOMEM, -ENOBUFS if a profile is too large, or an error of emit. A recording that is broken is
 * no error: what could be read of it is emitted.
 */
int java_read(int fd, struct java_reading *reading,
	      int (*emit)(void *ctx, enum java_profile kind, struct java_pprof *p),
	      void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_READ_H */
