/*
 * Whether SIGQUIT may be sent to a HotSpot JVM, which is how a JVM is asked to listen for an
 * attach request.
 *
 * SIGQUIT ends a process that does not catch it, and does what somebody else thought of in one
 * that has another handler. A JVM installs its handler late in its start, after it has made the
 * thread "Signal Dispatcher", and never with -Xrs. So the signal must be caught, some thread must
 * not block it, and that thread must exist. Old updates of JDK 8 do not name their threads: there,
 * the VM's performance data say that its start is complete (hsperfdata.is_initialized).
 */
#ifndef NODE_AGENT_JAVA_VM_JVM_READINESS_H
#define NODE_AGENT_JAVA_VM_JVM_READINESS_H

#include "common/base.h"

#define JVM_READINESS_TASKS_MAX 1024u /* threads that are looked at; the VM's are among the first */

enum jvm_readiness {
	JVM_READY,
	JVM_STARTING,       /* SIGQUIT is not caught, or the dispatcher does not exist (yet) */
	JVM_SIGNAL_BLOCKED, /* by all threads that were read */
	JVM_STOPPED,        /* by a signal or a debugger: it would not answer */
	JVM_EXITING,
	JVM_READINESS_MAX,
};

/*
 * Checks the process whose /proc/<pid> is proc_fd. is_initialized: it is known otherwise that the
 * JVM's start is complete, so that the thread's name does not matter. Returns an enum
 * jvm_readiness, -ESRCH if the process has exited, or another -errno. A copy of a JVM that has
 * not executed anything since fork(2) has one thread, none of them the dispatcher: JVM_STARTING,
 * unless is_initialized; refuse it before (program_target_is_copy()).
 */
int jvm_readiness_check(int proc_fd, bool is_initialized) MUST_CHECK;

/* A word for log lines. */
const char *jvm_readiness_name(enum jvm_readiness r);

#endif /* NODE_AGENT_JAVA_VM_JVM_READINESS_H */
