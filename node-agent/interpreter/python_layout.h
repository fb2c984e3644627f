/*
 * Where CPython keeps what the names and lines of its code objects are read from. The same for all
 * processes that map a file; found in the file (python_release.h).
 */
#ifndef NODE_AGENT_INTERPRETER_PYTHON_LAYOUT_H
#define NODE_AGENT_INTERPRETER_PYTHON_LAYOUT_H

#include "common/base.h"

/* How a release says which line an instruction belongs to. */
enum python_line_format {
	PYTHON_LINES_LNOTAB,    /* until 3.9: Objects/lnotab_notes.txt of that release */
	PYTHON_LINES_RANGES,    /* 3.10: the same file */
	PYTHON_LINES_LOCATIONS, /* since 3.11: InternalDocs/code_objects.md */
};

/* Offsets in bytes from the start of an object. */
struct python_layout {
	uint8_t minor;       /* 12: release 3.12 */
	uint8_t line_format; /* enum python_line_format */
	/*
	 * What the frame has of the instruction is an index in units of so many bytes; 0: an
	 * address.
	 */
	uint8_t index_bytes;
	uint8_t str_kind_shift; /* of PyASCIIObject.state */
	uint16_t object_type;   /* PyObject.ob_type */
	uint16_t type_name;     /* PyTypeObject.tp_name */
	uint16_t code_name;
	uint16_t code_qualname; /* 0: the release has none */
	uint16_t code_filename;
	uint16_t code_firstlineno;
	uint16_t code_lines;    /* the table, a bytes object */
	uint16_t code_bytecode; /* co_code_adaptive; 0: index_bytes is not */
	uint16_t code_units;  /* ob_size: number of code units of two bytes, if there is bytecode */
	uint16_t code_copies; /* co_tlbc: a thread has a copy of the bytecode; 0: it has not */
	uint16_t code_check;  /* a word that changes if another object is there */
	uint16_t str_length;
	uint16_t str_state;
	uint16_t str_ascii;   /* text of an ASCII string */
	uint16_t str_compact; /* of another one; or a pointer to it, if that is not compact */
	uint16_t bytes_size;
	uint16_t bytes_data;
	/* Addresses in the file. */
	uint64_t code_type; /* PyCode_Type */
	uint64_t str_type;
	uint64_t bytes_type;
};

#endif /* NODE_AGENT_INTERPRETER_PYTHON_LAYOUT_H */
