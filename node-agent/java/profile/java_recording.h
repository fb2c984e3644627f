/*
 * Recordings of async-profiler in a JVM's private directory: their names, and which of their chunks
 * are complete. Pure.
 *
 * A name says whose recording it is and how much of it was uploaded:
 *
 *   rec-<pid of the agent>-<its start time>-<number>-<uploaded chunks>.jfr
 *
 * An agent renames a recording after each upload. The JVM writes to a descriptor and does not
 * notice. So an agent that follows one that was killed uploads the rest once, and a second agent
 * on the node sees that the first one still lives and leaves the JVM alone.
 */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_RECORDING_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_RECORDING_H

#include <sys/types.h>

#include "common/base.h"
#include "common/jfr/jfr_stacks.h"

#define JAVA_RECORDING_NAME_BYTES 80u
#define JAVA_RECORDING_CHUNKS_MAX 65536u

struct java_recording {
	pid_t agent_pid;
	uint64_t agent_start_time; /* clock ticks since boot */
	uint32_t number;           /* counted by the agent, per JVM */
	uint32_t n_uploaded;       /* chunks, from the first one on */
};

void java_recording_name(const struct java_recording *r, char ret[JAVA_RECORDING_NAME_BYTES]);

/* Returns whether it is the name of a recording. */
bool java_recording_parse(const char *name, struct java_recording *ret);

/* The complete chunks of a recording after those that were uploaded. */
struct java_chunks {
	uint32_t n;      /* all complete chunks, uploaded ones included */
	uint64_t from;   /* offset of the first one that was not uploaded */
	uint64_t to;     /* offset past the last complete one */
	bool is_growing; /* another chunk follows, which the JVM has not finished */
};

/*
 * Returns 0, -EBADMSG if it is not a recording, -E2BIG if it has too many chunks, or an error of
 * the source. *ret is set in any case to what was understood.
 */
int java_recording_chunks(const struct jfr_source *source, uint32_t n_uploaded,
			  struct java_chunks *ret) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_RECORDING_H */
