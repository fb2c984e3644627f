/* Names of functions that nobody calls: where a stack that has been walked to its end begins. Pure. */
#ifndef NODE_AGENT_PROFILE_STACK_ROOT_H
#define NODE_AGENT_PROFILE_STACK_ROOT_H

#include "common/base.h"

/* What a process or thread starts with, or main, which only the C library's start-up code calls. */
bool stack_root_is(const char *function);

#endif /* NODE_AGENT_PROFILE_STACK_ROOT_H */
