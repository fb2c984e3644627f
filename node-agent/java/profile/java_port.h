/*
 * What a session does to its JVM: the seam between the steps of profiling (java_session.h) and the
 * JVM itself (java_jvm_port.h), so that every fault can be tested without a JVM.
 *
 * Functions return 0 or -errno; -ESRCH always means that the process has exited or executes
 * something else. Where there is a struct jvm_failure, it says which state the JVM is in because
 * of another error.
 */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_PORT_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_PORT_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/java/attach/attach_protocol.h"
#include "node-agent/java/attach/jvm_place.h"
#include "node-agent/java/attach/jvm_target.h"

struct java_port_ops {
	/* Whether the JVM may be attached to. -EAGAIN: not yet, because it is starting. */
	int (*check)(void *ctx, struct jvm_failure *why);

	/* The part of it about profilers of others. -EPERM: there is one. */
	int (*check_profilers)(void *ctx, struct jvm_failure *why);

	/* Opens the private directory that is there. -ENOENT: there is none. */
	int (*find)(void *ctx, struct jvm_failure *why);
	/* The same, and makes directory and library if they are missing. skip: as jvm_place.h. */
	int (*prepare)(void *ctx, unsigned skip, struct jvm_failure *why);

	/* ---- with an open directory ---- */

	const char *(*dir)(void *ctx); /* as the JVM sees it */
	enum jvm_place_kind (*kind)(void *ctx);
	/*
	 * Has the JVM call Agent_OnAttach with these options. -EINPROGRESS: the JVM was asked to
	 * listen and does not yet, call again later; -ETIMEDOUT: it did not answer, but may still
	 * do what it was told.
	 */
	int (*command)(void *ctx, const char *options, struct attach_answer *ret,
		       struct jvm_failure *why);
	/* As jvm_place.h. */
	int (*each_file)(void *ctx, int (*fn)(void *fn_ctx, const char *name, uint64_t size),
			 void *fn_ctx);
	int (*open_file)(void *ctx, const char *name);
	int (*rename_file)(void *ctx, const char *from, const char *to);
	int (*unlink_file)(void *ctx, const char *name);
	/* Removes the directory with all files, and closes it. */
	int (*remove)(void *ctx);
	void (*close)(void *ctx); /* files stay; also allowed if none is open */

	/* Whether the process with this pid and start time still runs. */
	bool (*is_alive)(void *ctx, pid_t pid, uint64_t start_time);
};

struct java_port {
	const struct java_port_ops *ops;
	void *ctx;
};

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_PORT_H */
