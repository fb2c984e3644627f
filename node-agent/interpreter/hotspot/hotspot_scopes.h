/*
 * Which methods a place in compiled code belongs to: the method that was compiled, and those that
 * were inlined into it there, by the debug information of the code. Pure.
 */
#ifndef NODE_AGENT_INTERPRETER_HOTSPOT_SCOPES_H
#define NODE_AGENT_INTERPRETER_HOTSPOT_SCOPES_H

#include "node-agent/interpreter/hotspot_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

#define HOTSPOT_SCOPES_MAX 63u /* of one place; HotSpot inlines fewer */

struct hotspot_scope {
	uint64_t method;  /* address */
	int32_t bytecode; /* index; below 0: at the entry of the method */
};

struct hotspot_scopes {
	uint32_t n; /* at least 1, innermost first */
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX];
};

/*
 * Of an address in the nmethod, which is believed to be one. Where nothing is said of the address,
 * it is only known that the nmethod's own method is executed. Returns 0 or an error of
 * interpreter_read().
 */
int hotspot_scopes_read(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			uint64_t nmethod, uint64_t address, struct hotspot_scopes *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_HOTSPOT_SCOPES_H */
