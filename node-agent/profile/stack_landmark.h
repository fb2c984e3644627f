/*
 * Functions whose names say something about a stack: that it is complete, because nothing
 * calls them, or that it continues on another stack. Pure.
 */
#ifndef NODE_AGENT_PROFILE_STACK_LANDMARK_H
#define NODE_AGENT_PROFILE_STACK_LANDMARK_H

#include "common/base.h"

/* A process or thread starts with this function, or it is main, which only start-up code calls. */
bool stack_is_root(const char *function);

/*
 * This function runs its callee on another stack: parts of Go's runtime (asm_amd64.s,
 * sys_linux_amd64.s, time_linux_amd64.s, and the same for arm64).
 */
bool stack_is_switch(const char *function);

/*
 * Signal handlers return to this function, so its caller has not called it, but was interrupted:
 * C libraries, arm64's vDSO, Go.
 */
bool stack_is_signal_return(const char *function);

#endif /* NODE_AGENT_PROFILE_STACK_LANDMARK_H */
