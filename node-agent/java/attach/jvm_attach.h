/*
 * Has a HotSpot JVM load a library: wakes its attach listener and gives it one command.
 *
 * A JVM starts its attach listener when it receives SIGQUIT while a file .attach_pid<nspid> exists.
 * Without that file SIGQUIT makes it print a thread dump, and a program that is not a JVM dies of
 * it. So the signal is sent once per attempt, only if the caller's check and our own (caught, not
 * stopped, not frozen, not pending) allow it, and the file stays until the JVM has seen it or
 * JVM_ATTACH_GIVE_UP_NS have passed. A listener that runs already is used without a signal.
 *
 * All waiting is bounded by the limits given. A file system of the JVM that never answers can
 * block all the same: the thread is then abandoned as runtime_ops.h says. The calling thread
 * acts as the JVM's user while it touches the JVM's files: as_user.h.
 */
#ifndef NODE_AGENT_JAVA_ATTACH_JVM_ATTACH_H
#define NODE_AGENT_JAVA_ATTACH_JVM_ATTACH_H

#include "common/base.h"
#include "node-agent/java/attach/attach_protocol.h"
#include "node-agent/java/attach/attach_trigger.h"
#include "node-agent/java/attach/jvm_target.h"

#define JVM_ATTACH_GIVE_UP_NS UINT64_C(60000000000) /* after the signal; long safepoints exist */

/* How far the attach listener of one JVM is. Zeroed at first; kept between turns. */
struct jvm_attach {
	bool has_listened;     /* the listener ran at some time */
	bool waiting;          /* the signal was sent, and the file is there */
	uint64_t signalled_ns; /* on clock_monotonic_ns() */
	struct attach_trigger trigger;
};

struct jvm_attach_limits {
	/*
	 * The JVM opens its socket again if that was removed: JDK 14 and later. Others would print
	 * a thread dump when they get the signal a second time.
	 */
	bool reopens_socket;
	/*
	 * A process that is stopped or frozen gets no command: -EAGAIN. Otherwise it gets the
	 * command when it continues, and nobody waits for the answer: -ETIMEDOUT.
	 */
	bool must_run;
	uint64_t listen_ns; /* one call waits that long for the listener to start */
	uint64_t answer_ns; /* and that long for the answer to a command */
	/* Polled while waiting; true ends the wait with -ECANCELED. May be NULL. */
	bool (*cancelled)(void *ctx);
	/*
	 * Whether SIGQUIT may be sent, asked right before it is: 0, or -errno with why. Must not be
	 * NULL.
	 */
	int (*may_signal)(void *ctx, const struct jvm_target *t, struct jvm_failure *why);
	void *ctx;
};

/*
 * Ensures that the attach listener runs. Returns 0, or
 *   -EINPROGRESS  it was asked to start and has not yet (JAVA_STATE_UNRESPONSIVE): call again in a
 *                 later turn, with the same `a`; no other signal is sent meanwhile
 *   -ETIMEDOUT    it did not start within JVM_ATTACH_GIVE_UP_NS (JAVA_STATE_UNRESPONSIVE)
 *   -EAGAIN       the process is stopped or frozen; no signal was sent (JAVA_STATE_UNRESPONSIVE)
 *   -ENOTCONN     its listener runs without a socket: see reopens_socket
 *   -ESRCH        the process has ended
 *   -EPERM        not permitted; the sentence names the capability (JAVA_STATE_NO_PERMISSION)
 *   -ECANCELED    cancelled() said so
 *   what may_signal() returned, or another -errno
 * Except for -EINPROGRESS, no file is left behind.
 */
int jvm_attach_listen(struct jvm_attach *a, const struct jvm_target *t,
		      const struct jvm_attach_limits *limits, struct jvm_failure *why) MUST_CHECK;

/* Removes the file if one is there. To be called whenever `a` is not needed any more. */
void jvm_attach_forget(struct jvm_attach *a);

/*
 * Loads the library, or calls it again if it is loaded already, with these options. The listener
 * must run. Returns 0 if the JVM answered, also if the answer is an error: see ret->outcome; or
 *   -ENOTCONN     there is no listener: call jvm_attach_listen()
 *   -ETIMEDOUT    no answer in time; the command may still be executed later
 *   -E2BIG        path or options are too long
 *   -ESRCH, -EPERM, -ECANCELED or another -errno, as above
 */
int jvm_attach_load(const struct jvm_target *t, const char *library, const char *options,
		    const struct jvm_attach_limits *limits, struct attach_answer *ret,
		    struct jvm_failure *why) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_ATTACH_JVM_ATTACH_H */
