#include "node-agent/interpreter/ruby/ruby_names.h"

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/ruby/ruby_lines.h"
#include "node-agent/interpreter/ruby/ruby_object.h"

#include "bpf/frame_chain.h"

/* rb_iseq_constant_body */
#define BODY_BYTES 96u
#define BODY_SIZE 4u
#define BODY_PATH 64u
#define BODY_BASE_LABEL 72u
#define BODY_LABEL 80u
#define BODY_FIRST_LINE 88u
#define PATH_REAL 1u /* of two, in an array */

/* rb_method_entry_t, in words */
enum method { FLAGS, CLASS, DEFINITION, CALLED, METHOD_WORDS };
/* rb_method_definition_struct */
#define DEFINITION_TYPE_MASK 0xfu
#define DEFINITION_CODE 0u /* VM_METHOD_TYPE_ISEQ */
#define DEFINITION_NAME 32u

#define LINE_MAX 100000000u
#define NAME_BYTES 256u

struct code {
	uint64_t address; /* of its body */
	uint8_t body[BODY_BYTES];
	char label[NAME_BYTES];
	char base[NAME_BYTES];
};

static uint64_t field(const struct code *c, unsigned offset, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, c->body + offset, size);
	return v;
}

/* ---- methods ---- */

/* Reads the class and the name of a method. type: of its definition. */
static int read_method(const struct ruby_memory *m, const uint64_t *method, char *class, char *name,
		       unsigned *type)
{
	uint64_t definition, id;
	int r = ruby_read_word(m, method[DEFINITION], &definition);

	if (r == 0)
		r = ruby_read_word(m, method[DEFINITION] + DEFINITION_NAME, &id);
	if (r == 0)
		r = ruby_class_read(m, method[CLASS], class, NAME_BYTES);
	if (r < 0)
		return r;
	*type = (unsigned)definition & DEFINITION_TYPE_MASK;
	r = ruby_id_read(m, id, name, NAME_BYTES);
	return r == -ENOENT ? 0 : r;
}

static int name_method(const struct ruby_memory *m, const struct interpreter_frame *f,
		       struct interpreter_name *ret)
{
	char class[NAME_BYTES], name[NAME_BYTES];
	uint64_t words[METHOD_WORDS];
	unsigned type;
	int r = interpreter_read(m->memory, f->code, words, sizeof(words));

	if (r < 0)
		return r;
	if (f->check != 0 && f->check != chain_check(words[DEFINITION]))
		return -ESTALE;
	r = read_method(m, words, class, name, &type);
	if (r < 0)
		return r;
	if (!*name)
		return -ENODATA;
	snprintf(ret->function, sizeof(ret->function), "%s%s", class, name);
	return 0;
}

/* ---- code ---- */

/*
 * "block in name" is to be "block in Class#name". A method that was defined by a block has not the
 * name of that. Code that does not belong to a method keeps its label.
 */
static void qualify(const struct ruby_memory *m, const struct interpreter_frame *f,
		    const struct code *c, struct interpreter_name *ret)
{
	size_t label = strlen(c->label), base = strlen(c->base);
	char class[NAME_BYTES], name[NAME_BYTES];
	uint64_t words[METHOD_WORDS];
	unsigned type;

	snprintf(ret->function, sizeof(ret->function), "%s", c->label);
	if (f->at == 0 || base > label || strcmp(c->label + label - base, c->base) != 0 ||
	    interpreter_read(m->memory, f->at, words, sizeof(words)) < 0 ||
	    (words[FLAGS] & RUBY_KIND_MASK) != RUBY_KIND_METHOD ||
	    read_method(m, words, class, name, &type) < 0)
		return;
	if (type == DEFINITION_CODE && *name && strcmp(name, c->base) != 0)
		return; /* of other code */
	if (!*name)
		snprintf(name, sizeof(name), "%s", c->base);
	snprintf(ret->function, sizeof(ret->function), "%.*s%s%s", (int)(label - base), c->label,
		 class, name);
}

static int read_file(const struct ruby_memory *m, uint64_t path, struct interpreter_name *ret)
{
	uint64_t real;

	if (ruby_string_read(m, path, ret->file, sizeof(ret->file)) == 0)
		return 0;
	if (ruby_array_get(m, path, PATH_REAL, &real) == 0 &&
	    ruby_string_read(m, real, ret->file, sizeof(ret->file)) == 0)
		return 0;
	if (ruby_array_get(m, path, 0, &real) < 0)
		return -EBADMSG;
	return ruby_string_read(m, real, ret->file, sizeof(ret->file));
}

static void read_lines(const struct ruby_memory *m, const struct interpreter_frame *f,
		       const struct code *c, struct interpreter_name *ret)
{
	uint32_t index = f->check & (CHAIN_AT_MAX - 1), line = 0;
	uint64_t first = field(c, BODY_FIRST_LINE, m->layout->fixnum_line ? 8 : 4);

	if (m->layout->fixnum_line)
		first >>= 1;
	ret->start_line = first <= LINE_MAX ? (uint32_t)first : 0;
	if (index == 0 || index > field(c, BODY_SIZE, 4) ||
	    ruby_line_read(m, c->address, index, &line) < 0 || line > LINE_MAX)
		line = 0;
	ret->line = line > 0 ? line : ret->start_line;
}

static int name_code(const struct ruby_memory *m, const struct interpreter_frame *f,
		     struct interpreter_name *ret)
{
	struct code c;
	int r = ruby_read_word(m, f->code + RUBY_CODE_BODY, &c.address);

	if (r < 0)
		return r;
	if ((chain_check_at(0, c.address) ^ f->check) >> CHAIN_AT_BITS != 0)
		return -ESTALE;
	r = interpreter_read(m->memory, c.address, c.body, sizeof(c.body));
	if (r == 0)
		r = ruby_string_read(m, field(&c, BODY_LABEL, 8), c.label, sizeof(c.label));
	if (r == 0)
		r = ruby_string_read(m, field(&c, BODY_BASE_LABEL, 8), c.base, sizeof(c.base));
	if (r == 0)
		r = read_file(m, field(&c, BODY_PATH, 8), ret);
	if (r < 0)
		return r;
	qualify(m, f, &c, ret);
	read_lines(m, f, &c, ret);
	return 0;
}

int ruby_name_read(const struct ruby_layout *layout, uint64_t bias,
		   const struct interpreter_memory *memory, const struct interpreter_frame *f,
		   struct interpreter_name *ret)
{
	const struct ruby_memory m = {memory, layout, bias};
	uint64_t flags;
	int r;

	*ret = (struct interpreter_name){0};
	if (f->code == 0)
		return -ENODATA;
	r = ruby_read_word(&m, f->code, &flags);
	if (r < 0)
		return r;
	switch (flags & RUBY_KIND_MASK) {
	case RUBY_KIND_CODE:
		return name_code(&m, f, ret);
	case RUBY_KIND_METHOD:
		return name_method(&m, f, ret);
	case RUBY_KIND_FUNCTION: /* C code that is called as a block */
		return -ENODATA;
	default:
		return -EBADMSG;
	}
}
