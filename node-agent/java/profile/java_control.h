/*
 * Gives commands to the async-profiler in a JVM, and says what came of them. The private directory
 * of the port is open.
 */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_CONTROL_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_CONTROL_H

#include "common/base.h"
#include "node-agent/java/profile/java_commands.h"
#include "node-agent/java/profile/java_port.h"

/*
 * Returns 0 if Agent_OnAttach was called, with its result in ret_code; -ENOEXEC if the JVM cannot
 * load the library; or another -errno with why.
 */
int java_control_send(const struct java_port *port, const char *options, int *ret_code,
		      struct jvm_failure *why) MUST_CHECK;

/*
 * Starts a recording. If one runs already, it is nobody's any more and is ended first. Returns as
 * above; if async-profiler refuses, why has what it said. -EINVAL and -E2BIG: as
 * java_command_start(). *start is changed.
 */
int java_control_start(const struct java_port *port, struct java_start *start, int *ret_code,
		       struct jvm_failure *why) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_CONTROL_H */
