/*
 * Functions that say something about a stack by their names: where one that has been walked to its
 * end begins, and where it goes on in another place. Pure.
 */
#ifndef NODE_AGENT_PROFILE_STACK_LANDMARK_H
#define NODE_AGENT_PROFILE_STACK_LANDMARK_H

#include "common/base.h"

/* What a process or thread starts with, or main, which only the C library's start-up code calls. */
bool stack_is_root(const char *function);

/* What runs its callee on another stack: parts of Go's runtime (asm_amd64.s, asm_arm64.s). */
bool stack_is_switch(const char *function);

#endif /* NODE_AGENT_PROFILE_STACK_LANDMARK_H */
