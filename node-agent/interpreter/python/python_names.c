#include "node-agent/interpreter/python/python_names.h"

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/python/python_lines.h"
#include "node-agent/interpreter/python/python_tasks.h"
#include "node-agent/interpreter/python/python_text.h"

#include "bpf/frame_chain.h"

#define CODE_BYTES 512u /* of a code object, in front of its bytecode */
#define COPIES_MAX 64u  /* copies of the bytecode among which that of a frame is looked for */

/* The start of a code object, and what it is read with. */
struct code {
	const struct python_memory *m;
	uint64_t at;
	uint8_t head[CODE_BYTES];
	size_t n_bytes;
};

static uint64_t field(const struct code *c, unsigned offset, size_t size)
{
	uint64_t v = 0;

	if (offset + size <= c->n_bytes)
		memcpy(&v, c->head + offset, size);
	return v;
}

static unsigned larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static size_t bytes_of_code(const struct python_layout *l)
{
	unsigned end = larger(l->code_name, l->code_qualname);

	end = larger(end, larger(l->code_filename, l->code_firstlineno));
	end = larger(end, larger(l->code_lines, l->code_check));
	return larger(end, larger(l->code_copies, l->object_type)) + sizeof(uint64_t);
}

static int check(const struct code *c, uint32_t expected)
{
	uint64_t word;
	int r;

	if (expected == 0)
		return 0;
	r = interpreter_read(c->m->memory, c->at + c->m->layout->code_check, &word, sizeof(word));
	return r < 0 ? r : chain_check(word) == expected ? 0 : -ESTALE;
}

/*
 * Free-threaded CPython gives a thread a copy of the bytecode that it changes. Finds the one that
 * has the instruction: {size, copies[size]}, of which the first is the code object's own.
 */
static uint64_t copy_with(const struct code *c, uint64_t at, uint64_t n_bytes)
{
	uint64_t table = field(c, c->m->layout->code_copies, 8), copies[COPIES_MAX], n;

	if (table == 0 || interpreter_read(c->m->memory, table, &n, sizeof(n)) < 0)
		return 0;
	if (n > COPIES_MAX)
		n = COPIES_MAX;
	if (n == 0 ||
	    interpreter_read(c->m->memory, table + 8, copies, (size_t)n * sizeof(copies[0])) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (at >= copies[i] && at - copies[i] < n_bytes)
			return copies[i];
	}
	return 0;
}

/* Offset of the instruction in bytes. Returns false if the function has not begun. */
static bool find_offset(const struct code *c, uint64_t at, uint32_t *ret)
{
	const struct python_layout *l = c->m->layout;
	uint64_t start = c->at + l->code_bytecode;
	uint64_t n_bytes = field(c, l->code_units, 8) * 2;

	if (l->index_bytes > 0) {
		*ret = (uint32_t)at * l->index_bytes;
		return (int32_t)(uint32_t)at >= 0 && (uint32_t)at <= INT32_MAX / 2;
	}
	if (at - start >= n_bytes && l->code_copies > 0)
		start = copy_with(c, at, n_bytes);
	*ret = (uint32_t)(at - start);
	return start > 0 && at >= start && at - start < n_bytes && at - start <= INT32_MAX;
}

static int read_line(const struct code *c, uint64_t at, struct interpreter_name *ret)
{
	AUTO_FREE uint8_t *table = NULL;
	uint32_t offset;
	int n;

	ret->start_line = (uint32_t)field(c, c->m->layout->code_firstlineno, 4);
	if (ret->start_line > INT32_MAX)
		ret->start_line = 0;
	ret->line = ret->start_line;
	if (!find_offset(c, at, &offset))
		return 0;
	table = malloc(PYTHON_LINES_TABLE_MAX);
	if (!table)
		return -ENOMEM;
	n = python_bytes_read(c->m, field(c, c->m->layout->code_lines, 8), table,
			      PYTHON_LINES_TABLE_MAX);
	if (n < 0)
		return n == -ENOMEM || n == -ESRCH ? n : 0;
	ret->line = python_line_of((enum python_line_format)c->m->layout->line_format, table,
				   (size_t)n, ret->start_line, offset);
	return 0;
}

/*
 * CPython puts code of its own under a constructor that it has inlined; it has the constructor's
 * name for a file, and tracebacks do not show it.
 */
static bool is_made_by_interpreter(const struct code *c)
{
	const struct python_layout *l = c->m->layout;

	return l->code_qualname > 0 && field(c, l->code_filename, 8) == field(c, l->code_name, 8);
}

int python_name_read(const struct python_layout *layout, uint64_t bias,
		     const struct interpreter_memory *memory, const struct interpreter_frame *f,
		     struct interpreter_name *ret)
{
	const struct python_memory m = {layout, bias, memory};
	struct code c = {.m = &m, .at = f->code, .n_bytes = bytes_of_code(layout)};
	unsigned name = layout->code_qualname > 0 ? layout->code_qualname : layout->code_name;
	int r;

	*ret = (struct interpreter_name){0};
	if (layout->minor >= PYTHON_MINOR_TASKS && f->at > 0 && f->at < CHAIN_AT_TASKS_END)
		return python_task_name_read(&m, f, ret);
	if (c.n_bytes > sizeof(c.head) || f->code == 0)
		return -EBADMSG;
	r = interpreter_read(memory, f->code, c.head, c.n_bytes);
	if (r == 0 && f->check != 0 && chain_check(field(&c, layout->code_check, 8)) != f->check)
		r = -ESTALE;
	if (r == 0 && field(&c, layout->object_type, 8) != bias + layout->code_type)
		r = python_type_check(&m, f->code, layout->code_type, "code");
	if (r == 0 && is_made_by_interpreter(&c))
		r = -ENODATA;
	if (r == 0)
		r = python_str_read(&m, field(&c, name, 8), ret->function, sizeof(ret->function));
	if (r == 0)
		r = python_str_read(&m, field(&c, layout->code_filename, 8), ret->file,
				    sizeof(ret->file));
	if (r == 0)
		r = read_line(&c, f->at, ret);
	return r < 0 ? r : check(&c, f->check);
}
