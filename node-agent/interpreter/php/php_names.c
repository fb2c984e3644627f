#include "node-agent/interpreter/php/php_names.h"

#include <errno.h>
#include <linux/types.h>

#include "common/text/utf8.h"

#include "bpf/frame_chain.h"

/* zend_function */
#define FUNCTION_TYPE 0u
#define FUNCTION_NAME 8u
#define FUNCTION_SCOPE 16u
#define INTERNAL_FUNCTION 1u
#define USER_FUNCTION 2u
#define EVAL_CODE 4u
#define FUNCTION_BYTES 192u /* up to the line it starts at */
/* zend_class_entry */
#define CLASS_NAME 8u
/* zend_string */
#define STRING_HASH 8u
#define STRING_LENGTH 16u
#define STRING_TEXT 24u
/* zend_op */
#define OPCODE_LINE 24u
#define OPCODE_BYTES 32u

#define LINE_MAX 100000000u

struct function {
	const struct interpreter_memory *memory;
	const struct php_layout *layout;
	uint8_t bytes[FUNCTION_BYTES];
	size_t n_bytes;
};

static uint64_t field(const struct function *f, unsigned offset, size_t size)
{
	uint64_t v = 0;

	if (offset + size <= f->n_bytes)
		memcpy(&v, f->bytes + offset, size);
	return v;
}

static uint64_t word_at(const struct interpreter_memory *m, uint64_t at)
{
	uint64_t word;

	return interpreter_read(m, at, &word, sizeof(word)) < 0 ? 0 : word;
}

/*
 * Compares with what the walk computed (chain_walk.bpf.h). It counts 0 for a string that was not in
 * memory then: after a fork(2) no page of shared memory is, until it is used. Such a frame is left
 * to the next sample, as there are functions of one name in many files, and reading the string here
 * has put it into memory. Functions of extensions have no file.
 */
static bool is_same(const struct function *f, uint32_t check)
{
	uint32_t name = chain_check(word_at(f->memory, field(f, FUNCTION_NAME, 8) + STRING_HASH));
	uint32_t file =
		chain_check(word_at(f->memory, field(f, f->layout->filename, 8) + STRING_HASH));

	return check == (name ^ file) ||
	       (check == name && field(f, FUNCTION_TYPE, 1) == INTERNAL_FUNCTION);
}

/*
 * Reads a zend_string. Some have a 0 in the middle, from where on they say what makes them unique
 * (anonymous classes): they end there.
 */
static int read_string(const struct interpreter_memory *m, uint64_t at, char *to, size_t cap)
{
	uint64_t length;
	size_t len;
	int r;

	*to = '\0';
	if (at == 0)
		return -EBADMSG;
	r = interpreter_read(m, at + STRING_LENGTH, &length, sizeof(length));
	if (r == 0 && length > INT64_MAX)
		r = -EBADMSG;
	if (r < 0)
		return r;
	len = length < cap ? (size_t)length : cap - 1;
	r = interpreter_read(m, at + STRING_TEXT, to, len);
	if (r < 0)
		len = 0;
	to[strnlen(to, len)] = '\0';
	to[utf8_make_printable(to, strlen(to))] = '\0';
	return r;
}

static int read_function_name(const struct function *f, char *to, size_t cap)
{
	uint64_t scope = field(f, FUNCTION_SCOPE, 8), name;
	size_t len = 0;
	int r = 0;

	if (scope != 0) {
		r = interpreter_read(f->memory, scope + CLASS_NAME, &name, sizeof(name));
		if (r == 0)
			r = read_string(f->memory, name, to, cap - sizeof("::"));
		if (r < 0)
			return r;
		len = (size_t)(stpcpy(to + strlen(to), "::") - to);
	}
	return read_string(f->memory, field(f, FUNCTION_NAME, 8), to + len, cap - len);
}

/* Of code outside functions. */
static void name_script(const struct function *f, struct interpreter_name *ret)
{
	const char *slash = strrchr(ret->file, '/');

	if (field(f, FUNCTION_TYPE, 1) == EVAL_CODE)
		snprintf(ret->function, sizeof(ret->function), "eval");
	else
		snprintf(ret->function, sizeof(ret->function), "%.*s",
			 (int)sizeof(ret->function) - 1, slash ? slash + 1 : ret->file);
}

/* Instructions elsewhere are the engine's own: those that throw an exception. */
static void read_lines(const struct function *f, uint64_t at, struct interpreter_name *ret)
{
	uint64_t opcodes = field(f, f->layout->opcodes, 8);
	uint64_t n_bytes = field(f, f->layout->last, 4) * OPCODE_BYTES;
	uint32_t line = 0;

	ret->start_line = (uint32_t)field(f, f->layout->filename + 8, 4);
	if (ret->start_line > LINE_MAX)
		ret->start_line = 0;
	if (at < opcodes || at - opcodes >= n_bytes ||
	    interpreter_read(f->memory, at + OPCODE_LINE, &line, sizeof(line)) < 0 ||
	    line > LINE_MAX)
		line = 0;
	ret->line = line > 0 ? line : ret->start_line;
}

static int read_function(const struct function *f, uint64_t at, struct interpreter_name *ret)
{
	uint64_t type = field(f, FUNCTION_TYPE, 1);
	bool compiled = type == USER_FUNCTION || type == EVAL_CODE;
	int r = 0;

	if (!compiled && type != INTERNAL_FUNCTION)
		return -EBADMSG;
	if (field(f, FUNCTION_NAME, 8) != 0)
		r = read_function_name(f, ret->function, sizeof(ret->function));
	else if (!compiled)
		return -ENODATA;
	if (r < 0 || !compiled)
		return r;
	r = read_string(f->memory, field(f, f->layout->filename, 8), ret->file, sizeof(ret->file));
	if (r < 0)
		return r;
	if (ret->function[0] == '\0')
		name_script(f, ret);
	read_lines(f, at, ret);
	return 0;
}

static int read_checked(struct function *f, const struct interpreter_frame *frame)
{
	int r = interpreter_read(f->memory, frame->code, f->bytes, f->n_bytes);

	return r < 0 ? r : is_same(f, frame->check) ? 0 : -ESTALE;
}

int php_name_read(const struct php_layout *layout, const struct interpreter_memory *memory,
		  const struct interpreter_frame *frame, struct interpreter_name *ret)
{
	struct function f = {.memory = memory, .layout = layout, .n_bytes = layout->filename + 12u};
	int r;

	*ret = (struct interpreter_name){0};
	if (frame->code == 0) /* the engine's own: a generator is resumed */
		return -ENODATA;
	if (f.n_bytes > sizeof(f.bytes))
		return -EBADMSG;
	r = read_checked(&f, frame);
	if (r == 0)
		r = read_function(&f, frame->at, ret);
	return r < 0 ? r : read_checked(&f, frame);
}
