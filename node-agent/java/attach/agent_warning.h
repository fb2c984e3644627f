/*
 * Keeps a JVM from writing to its standard error that an agent was loaded.
 *
 * JDK 21 and later warn unless EnableDynamicAgentLoading was given on the command line.
 * async-profiler marks the flag as given when it is loaded, but only if it has its default. If it
 * was set by JAVA_TOOL_OPTIONS or a file of flags, this does the same from outside, before the
 * library is loaded: it sets the one bit of the JVM's memory that says so. Nothing else reads that
 * bit. The JVM never changes that word once it is up, and its own tables say where the word and
 * which bit it is (jvm_flags.h).
 */
#ifndef NODE_AGENT_JAVA_ATTACH_AGENT_WARNING_H
#define NODE_AGENT_JAVA_ATTACH_AGENT_WARNING_H

#include "common/base.h"
#include "node-agent/java/attach/jvm_target.h"
#include "node-agent/java/vm/jvm_reader.h"

/*
 * t is the process of o, and f are its flags; nothing is done unless f->agent_loading_warns.
 * Returns 0; -ESRCH if the process has exited or called execve(2); or another -errno with why set.
 */
int agent_warning_prevent(struct jvm_opened *o, const struct jvm_target *t,
			  const struct jvm_flags *f, struct jvm_failure *why) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_ATTACH_AGENT_WARNING_H */
