/*
 * Where Ruby keeps what the names and lines of its code are read from: vm_core.h, method.h,
 * internal/class.h. The same for all processes that map a file.
 */
#ifndef NODE_AGENT_INTERPRETER_RUBY_LAYOUT_H
#define NODE_AGENT_INTERPRETER_RUBY_LAYOUT_H

#include "common/base.h"

/* Where a class has its name. */
enum ruby_class_names {
	RUBY_CLASS_VARIABLES, /* until 3.1: in a table of variables, behind a pointer */
	RUBY_CLASS_SHAPES,    /* 3.2: in variables, whose places the shape of a class has */
	RUBY_CLASS_FIELDS,    /* 3.3 and 3.4: in fields behind the class itself */
	RUBY_CLASS_BOXED,     /* since 4.0: likewise, in other places */
};

struct ruby_layout {
	uint8_t frame_bytes;  /* of a rb_control_frame_t */
	uint8_t instructions; /* offset of insns_info in a rb_iseq_constant_body */
	uint8_t line_bytes;   /* of an iseq_insn_info_entry */
	uint8_t class_names;  /* enum ruby_class_names */
	uint8_t singleton;    /* the bit of a class that has one object */
	bool fixnum_line;     /* the line that code starts at is an object */
	bool string_length;   /* short strings have their length in a word of its own */
	/* ruby_global_symbols.ids, in the file: names of functions of extensions; 0: not known */
	uint64_t ids;
	/* ruby_current_vm_ptr, likewise: shapes of classes */
	uint64_t machine;
};

#endif /* NODE_AGENT_INTERPRETER_RUBY_LAYOUT_H */
