/*
 * Where V8 keeps what names and lines are read from: offsets in bytes in its objects, from the
 * debug symbols that it has for this ("v8dbg_…") and by its release. The same for all processes
 * that map a file.
 */
#ifndef NODE_AGENT_INTERPRETER_V8_LAYOUT_H
#define NODE_AGENT_INTERPRETER_V8_LAYOUT_H

#include "common/base.h"

struct v8_layout {
	uint16_t release; /* 100 * major + minor: 1306 is Node.js 24 */
	/* types of objects: numbers in their maps */
	uint16_t string_mask; /* a type without these bits is a string */
	uint16_t type_function;
	uint16_t type_stream; /* of the object that has the instructions */
	uint16_t type_code;   /* the same object before V8 11 */
	uint16_t type_sfi;
	uint16_t type_script;
	uint16_t type_scope;
	uint16_t type_array;
	uint16_t type_bytecode;
	uint16_t type_trampoline; /* InterpreterData: has the bytecode */
	/* SharedFunctionInfo */
	uint8_t sfi_data;
	uint8_t sfi_name;
	uint8_t sfi_script;
	/* ScopeInfo: its first word behind the map (or the length), and the index of its names */
	uint8_t scope_words;
	uint8_t scope_names;
	bool scope_has_receiver; /* where `this` is comes in front of the function's name */
	bool scope_has_table;    /* long lists of names are elsewhere */
	/* BytecodeArray */
	uint8_t bytecode_data;
	uint8_t bytecode_positions;
	/* Code, and the object with its instructions, which is the same before V8 11 */
	uint8_t stream_start; /* its instructions */
	uint8_t stream_code;  /* 0: it is the same object */
	uint8_t code_start;
	uint8_t code_size;
	uint8_t code_flags;
	uint8_t code_data; /* deoptimization data, or the bytecode */
	uint8_t code_positions;
	bool table_from_entry;  /* tables of positions begin at -1, the entry of the function */
	bool table_of_quarters; /* the steps in code are in the upper 62 bits of their numbers */
	uint8_t kind_shift;
	uint8_t kind_mask;
	uint8_t kind_baseline; /* what is above is optimised; 0xff: there is none */
	uint8_t kind_regexp;
	/* DeoptimizationData: indexes */
	uint8_t deopt_literals;
	uint8_t deopt_sfi;
	uint8_t deopt_inlining;
	uint8_t wrapper_sfi; /* in what may be there instead; 0: nothing may */
	/* Bytecodes::kBytecodeSizes: rows of so many bytecodes; 0: not known */
	uint16_t n_bytecodes;
	uint64_t bytecode_sizes; /* in the file */
};

#endif /* NODE_AGENT_INTERPRETER_V8_LAYOUT_H */
