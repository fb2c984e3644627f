/*
 * Class, method, file and line of a frame of a JVM. Pure but for what it reads of the process.
 *
 * Names are as those of recordings (common/jfr/java_names.h), so that both kinds of profile
 * compare.
 */
#ifndef NODE_AGENT_INTERPRETER_HOTSPOT_NAMES_H
#define NODE_AGENT_INTERPRETER_HOTSPOT_NAMES_H

#include "node-agent/interpreter/hotspot_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

/* l is complete. Results as of interpreter_ops.name_frame(). */
int hotspot_name_read(const struct hotspot_layout *l, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_HOTSPOT_NAMES_H */
