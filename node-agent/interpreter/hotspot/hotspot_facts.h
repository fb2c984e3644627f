/* A JVM's description of itself → what the walk and the names need. Pure. */
#ifndef NODE_AGENT_INTERPRETER_HOTSPOT_FACTS_H
#define NODE_AGENT_INTERPRETER_HOTSPOT_FACTS_H

#include "node-agent/interpreter/hotspot_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

/*
 * Fills all of *l but its variables, whose addresses in the process are those + bias. Returns 0;
 * -EAGAIN if the library is being loaded; -ENOTSUP if a fact is missing or makes no sense; or an
 * error of interpreter_read().
 */
int hotspot_facts_read(struct hotspot_layout *l, uint64_t bias,
		       const struct interpreter_memory *memory) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_HOTSPOT_FACTS_H */
