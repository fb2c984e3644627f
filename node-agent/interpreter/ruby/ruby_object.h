/*
 * Objects in the memory of a process of Ruby: strings, arrays, classes and symbols. Every length
 * has a limit. Results are those of interpreter_read(), or -EBADMSG if that is no such object.
 */
#ifndef NODE_AGENT_INTERPRETER_RUBY_OBJECT_H
#define NODE_AGENT_INTERPRETER_RUBY_OBJECT_H

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/ruby_layout.h"

/* The first word of an object: value_type.h, fl_type.h and internal/imemo.h of Ruby. */
#define RUBY_TYPE_MASK 0x1fu
#define RUBY_KIND_MASK 0xf01fu
#define RUBY_KIND_VARIABLE 0x201au /* T_IMEMO, imemo_svar */
#define RUBY_KIND_FUNCTION 0x401au /* imemo_ifunc */
#define RUBY_KIND_METHOD 0x601au   /* imemo_ment */
#define RUBY_KIND_CODE 0x701au     /* imemo_iseq */

#define RUBY_CODE_BODY 16u        /* in an iseq; in a method, its definition */
#define RUBY_BODY_INSTRUCTIONS 8u /* rb_iseq_constant_body.iseq_encoded */

struct ruby_memory {
	const struct interpreter_memory *memory;
	const struct ruby_layout *layout;
	uint64_t bias;
};

static inline int ruby_read_word(const struct ruby_memory *m, uint64_t at, uint64_t *ret)
{
	return interpreter_read(m->memory, at, ret, sizeof(*ret));
}

/* Reads a String as UTF-8 without control characters; what is longer is cut. */
int ruby_string_read(const struct ruby_memory *m, uint64_t object, char *to, size_t cap) MUST_CHECK;

/* Element i of an Array. */
int ruby_array_get(const struct ruby_memory *m, uint64_t object, uint64_t i,
		   uint64_t *ret) MUST_CHECK;

/* The name of an ID. -ENOENT if the table of names is not known. */
int ruby_id_read(const struct ruby_memory *m, uint64_t id, char *to, size_t cap) MUST_CHECK;

/*
 * What stands before the name of a method of this class: "Class#", "Class." if that is a method of
 * the class itself, "" if the class has no name.
 */
int ruby_class_read(const struct ruby_memory *m, uint64_t object, char *to, size_t cap) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_RUBY_OBJECT_H */
