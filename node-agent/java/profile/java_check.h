/*
 * Whether a JVM may be attached to, as far as can be told without touching it: its flags, its
 * signal handler, and profilers of others.
 */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_CHECK_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_CHECK_H

#include "common/base.h"
#include "node-agent/java/attach/jvm_target.h"
#include "node-agent/java/vm/jvm_reader.h"

/*
 * Returns 0, -EAGAIN if the JVM is still starting, or with why if it is stopped, -ESRCH if it has
 * exited, or another -errno with why.
 */
int java_check(struct jvm_opened *o, struct jvm_flags *ret_flags,
	       struct jvm_failure *why) MUST_CHECK;

/* The part of it that can change while the JVM runs: may SIGQUIT be sent? Results as above. */
int java_check_signal(struct jvm_opened *o, struct jvm_failure *why) MUST_CHECK;

/* Likewise: has somebody loaded another profiler? Returns 0, -EPERM with why, or -errno. */
int java_check_profilers(const struct jvm_opened *o, struct jvm_failure *why) MUST_CHECK;

/* Pure. Returns 0, or -EPERM with why. */
int java_check_flags(const struct jvm_flags *flags, struct jvm_failure *why) MUST_CHECK;

/* Whether a mapped file is a copy of our library: by the name of its directory. */
bool java_check_is_ours(const char *path, size_t len);

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_CHECK_H */
