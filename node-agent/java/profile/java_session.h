/*
 * One JVM: starts async-profiler in it, collects recordings, takes over what an earlier agent left,
 * and leaves. Does one step at a time, each bounded; when, java_plan.h decides. One thread.
 */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_SESSION_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_SESSION_H

#include "common/base.h"
#include "common/err.h"
#include "common/telemetry/metrics.h"
#include "node-agent/java/attach/jvm_attach.h"
#include "node-agent/java/profile/java_commands.h"
#include "node-agent/java/profile/java_plan.h"
#include "node-agent/java/profile/java_port.h"
#include "node-agent/java/profile/java_recording.h"
#include "node-agent/java/profile/java_stacks.h"

struct java_session {
	struct java_plan plan;
	struct err err; /* why the last attempt failed; "" if it did not */
	bool is_fresh;  /* the plan does not know the age of the process yet */
	/* Something of ours may be in the JVM. */
	bool may_be_ours;
	unsigned skip;                   /* places that do not work: 1 << enum jvm_place_kind */
	bool has_no_allocs;              /* async-profiler cannot sample them in this JVM */
	struct java_recording recording; /* the current one, if the plan is running */
	struct jfr_settings settings;    /* of that recording */
	struct java_totals totals;
	struct jvm_attach attach; /* for the port, as the next */
	bool reopens_socket;
};

/* What a step is done with. Borrowed. */
struct java_step {
	const struct java_port *port;
	const struct java_plan_config *plan;
	const struct jfr_settings *settings; /* of new recordings */
	pid_t agent_pid;
	uint64_t agent_start_time;
	uint64_t now_ns;        /* on clock_monotonic_ns() */
	pid_t pid;              /* of the JVM, for the log */
	struct metric *metrics; /* JAVA_METRICS of them */
	/* Takes the content of p. Results as of runtime_turn_emit(). */
	int (*emit)(void *ctx, enum java_profile kind, struct java_pprof *p);
	void *emit_ctx;
};

void java_session_init(struct java_session *s);
void java_session_fini(struct java_session *s);

/*
 * An attempt to start profiling. Failures are the plan's; returns 0, -ENOMEM, -ESRCH, or an error
 * of emit().
 */
int java_session_start(struct java_session *s, const struct java_step *step) MUST_CHECK;

/* Reads what was recorded since the last time, if profiling runs. Results as above. */
int java_session_collect(struct java_session *s, const struct java_step *step) MUST_CHECK;

/* Replaces a recording that has become too large, and ends one whose disk is nearly full. */
int java_session_watch(struct java_session *s, const struct java_step *step) MUST_CHECK;

/* Stops profiling and removes all files, if there is anything of this agent's. */
int java_session_leave(struct java_session *s, const struct java_step *step) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_SESSION_H */
