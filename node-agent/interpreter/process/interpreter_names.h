/*
 * Names of the frames of interpreters, read from the memory of their processes as soon as a frame
 * is seen for the first time: a process may have exited when its profile is made.
 *
 * A thread of its own reads them, as the memory of a process may be a file whose file system does
 * not answer. What it has read is kept until the profile of the interval is made.
 */
#ifndef NODE_AGENT_INTERPRETER_PROCESS_INTERPRETER_NAMES_H
#define NODE_AGENT_INTERPRETER_PROCESS_INTERPRETER_NAMES_H

#include <linux/types.h>

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/process/process_snapshot.h"

#include "bpf/frame_chain.h"

struct interpreter_names;

struct interpreter_names_config {
	const char *proc_root; /* NULL: "/proc"; borrowed, outlives it */
	uint32_t max_names;    /* 0: 65536 */
	size_t max_text_bytes; /* 0: 2 MiB */
	uint64_t hang_ns;      /* a thread that hangs for so long is left alone; 0: 10 s */
	uint64_t
		hung_pause_ns; /* until its process is tried again, from when it goes on; 0: 60 s */
};

/* Starts the thread. Returns 0, -ENOMEM or another -errno. */
int interpreter_names_new(struct interpreter_names **ret,
			  const struct interpreter_names_config *cfg) MUST_CHECK;
/*
 * Stops the thread: takes a second at most, then it is left alone. Whoever has a reference may
 * still find what was read. NULL is allowed.
 */
void interpreter_names_free(struct interpreter_names *n);
DEFINE_CLEANUP(struct interpreter_names *, interpreter_names_free);

/* For another thread, which may be left alone as well. Any thread; NULL is allowed. */
struct interpreter_names *interpreter_names_ref(struct interpreter_names *n);
void interpreter_names_unref(struct interpreter_names *n);

/*
 * A sample of this process has these frames: what is not known of them will be read. One thread
 * calls this.
 */
void interpreter_names_see(struct interpreter_names *n, struct process_snapshot *s,
			   const struct chain_entry *chain, size_t n_chain, uint32_t chain_state);

/* What a sample that follows has names in: it may be gone when they are read. The same thread. */
void interpreter_names_keep(struct interpreter_names *n, const struct code_event *e);

/*
 * Waits until what was seen so far is read: while something is read every timeout_ns, but no longer
 * than five times that. Any thread.
 */
void interpreter_names_wait(struct interpreter_names *n, uint64_t timeout_ns);

/*
 * Stores the name of a frame. Returns 0; -ENODATA if the interpreter has made the frame for itself;
 * -EINPROGRESS if it has not been read yet, which is counted, or there was no room to keep it; or
 * why it could not be read. Any thread.
 */
int interpreter_names_find(struct interpreter_names *n, const struct process_snapshot *s,
			   const struct interpreter_frame *f, struct interpreter_name *ret);

/* Profiles of an interval are made: what they did not need may be forgotten. Any thread. */
void interpreter_names_end_cycle(struct interpreter_names *n);

/* As metrics_register(). */
int interpreter_names_register_metrics(struct interpreter_names *n, struct metrics *ms) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PROCESS_INTERPRETER_NAMES_H */
