/* A Method of HotSpot: its name, and the lines of its bytecodes. Pure. */
#ifndef NODE_AGENT_INTERPRETER_HOTSPOT_METHOD_H
#define NODE_AGENT_INTERPRETER_HOTSPOT_METHOD_H

#include "node-agent/interpreter/hotspot_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

struct hotspot_method {
	uint64_t constant; /* address of its ConstMethod, which has its bytecodes */
	uint64_t pool;
	uint32_t code_bytes;
	uint32_t all_bytes; /* of the ConstMethod with what is behind it */
	uint16_t name;      /* index in the pool */
	bool has_lines;
};

/* Returns 0, -EBADMSG if that is no Method, or an error of interpreter_read(). */
int hotspot_method_read(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			uint64_t method, struct hotspot_method *ret) MUST_CHECK;

/* Fills function and file. Results likewise. */
int hotspot_method_name(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			const struct hotspot_method *m, struct interpreter_name *ret) MUST_CHECK;

/* Fills the lines, of a bytecode by its index; of one that is none, that of the method. */
void hotspot_method_line(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			 const struct hotspot_method *m, int64_t bytecode,
			 struct interpreter_name *ret);

#endif /* NODE_AGENT_INTERPRETER_HOTSPOT_METHOD_H */
