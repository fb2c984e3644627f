/*
 * A jitdump whole and in small pieces: both must give the same names, which must be printable, and
 * moves and lines must stay within what is kept.
 */
#include <assert.h>

#include "node-agent/jit/jit_dump.h"
#include "node-agent/symbol/dump_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dump_names *read_dump(const char *data, size_t len, size_t step)
{
	CLEANUP(dump_names_freep) struct dump_names *d = NULL;
	size_t n;

	if (dump_names_new(&d, 0) < 0)
		return NULL;
	for (size_t i = 0; i < len; i += n) {
		n = (size_t)dump_names_skip(d, len - i);
		if (n > 0)
			continue;
		n = len - i < step ? len - i : step;
		if (dump_names_add(d, data + i, n) < 0)
			return NULL;
	}
	return TAKE_PTR(d);
}

static void compare(struct dump_names *a, struct dump_names *b, uint64_t address)
{
	struct perf_map_name x, y;
	int r = dump_names_find(a, address, &x);

	assert(r == dump_names_find(b, address, &y));
	if (r < 0)
		return;
	assert(strcmp(x.function, y.function) == 0 && strcmp(x.file, y.file) == 0);
	assert(x.line == y.line && x.at_line == y.at_line);
	assert(x.function[0] != '\0' && strlen(x.function) < sizeof(x.function));
	assert(x.file[0] != '\0' && strlen(x.file) < sizeof(x.file));
	assert(!strpbrk(x.file, " \n\t") && !strpbrk(x.function, "\n\t"));
}

struct addresses {
	struct dump_names *a, *b;
};

static int on_code(void *ctx, const struct jit_dump_code *c)
{
	const struct addresses *of = ctx;
	struct jit_dump_lines lines = c->lines;
	struct jit_dump_line l;
	volatile char sum = 0;

	compare(of->a, of->b, c->address);
	compare(of->a, of->b, c->address + c->size_bytes / 2);
	while (jit_dump_next_line(&lines, &l)) {
		for (size_t i = 0; i < l.file_len; i++)
			sum = (char)(sum + l.file[i]);
		compare(of->a, of->b, l.address);
	}
	for (size_t i = 0; i < c->eh_frame_len; i++)
		sum = (char)(sum + c->eh_frame[i]);
	return 0;
}

static int on_move(void *ctx, const struct jit_dump_move *m)
{
	const struct addresses *of = ctx;

	compare(of->a, of->b, m->to);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(dump_names_freep)
	struct dump_names *a = read_dump((const char *)data, size, size + 1);
	CLEANUP(dump_names_freep) struct dump_names *b = read_dump((const char *)data, size, 7);
	CLEANUP(jit_dump_freep) struct jit_dump *d = NULL;
	struct addresses of = {a, b};
	const struct jit_dump_sink sink = {on_code, on_move, &of};

	if (!a || !b || jit_dump_new(&d, &sink) < 0)
		return 0;
	assert(dump_names_is_broken(a) == dump_names_is_broken(b));
	assert(jit_dump_add(d, (const char *)data, size) == 0);
	return 0;
}
