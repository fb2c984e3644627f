/* HotSpot, the JVM of OpenJDK: JDK 8 and later, on x86-64. */
#ifndef NODE_AGENT_INTERPRETER_HOTSPOT_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_HOTSPOT_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops hotspot_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_HOTSPOT_INTERPRETER_H */
