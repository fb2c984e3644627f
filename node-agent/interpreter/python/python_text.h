/*
 * Objects of CPython in the memory of a process: strings as UTF-8, and bytes. Whatever their
 * lengths say, a call takes two reads of limited size.
 */
#ifndef NODE_AGENT_INTERPRETER_PYTHON_PYTHON_TEXT_H
#define NODE_AGENT_INTERPRETER_PYTHON_PYTHON_TEXT_H

#include "common/base.h"
#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/python_layout.h"

/* The objects of one process. Borrowed. */
struct python_memory {
	const struct python_layout *layout;
	uint64_t bias; /* to be added to addresses of the layout */
	const struct interpreter_memory *memory;
};

/*
 * Whether the object at `at` has this type, whose address is in the layout; by its name if it is
 * another address, as an executable may have a copy of a library's variable. Returns 0, -EBADMSG if
 * it has not, or an error of interpreter_read().
 */
int python_type_check(const struct python_memory *m, uint64_t at, uint64_t type_vaddr,
		      const char *type_name) MUST_CHECK;

/*
 * Reads a str. What is longer than cap - 1 bytes of UTF-8 is cut, behind a whole character; control
 * characters and what is no character become '?'. Returns 0, -EBADMSG if there is no str, or an
 * error of interpreter_read().
 */
int python_str_read(const struct python_memory *m, uint64_t at, char *to, size_t cap) MUST_CHECK;

/*
 * Reads a bytes object, of a larger one the first cap bytes. Returns how many were read, or as
 * above.
 */
int python_bytes_read(const struct python_memory *m, uint64_t at, uint8_t *to,
		      size_t cap) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PYTHON_PYTHON_TEXT_H */
