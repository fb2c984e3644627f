#include "node-agent/symbol/perf_map.h"

#include <errno.h>

#include "node-agent/symbol/jit_functions.h"

struct perf_map {
	struct jit_functions *functions;
	bool is_skipping; /* the rest of the line is ignored */
	size_t line_len;
	size_t added_len; /* of the line, as much as has been added without its newline */
	char line[PERF_MAP_LINE_BYTES];
};

int perf_map_new(struct perf_map **ret, size_t max_bytes)
{
	CLEANUP(perf_map_freep) struct perf_map *m = calloc(1, sizeof(*m));

	if (!m || jit_functions_new(&m->functions, max_bytes) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(m);
	return 0;
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	jit_functions_free(m->functions);
	free(m);
}

size_t perf_map_bytes(const struct perf_map *m)
{
	return sizeof(*m) + jit_functions_bytes(m->functions);
}

bool perf_map_is_cut(const struct perf_map *m)
{
	return jit_functions_is_cut(m->functions);
}

/* Reads a hexadecimal number and the blanks behind it. Returns what follows, or NULL. */
static const char *read_hex(const char *at, const char *end, uint64_t *ret)
{
	const char *first;
	uint64_t n = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	for (first = at; at < end && *at != ' ' && *at != '\t'; at++) {
		char c = *at;
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
							: 16;

		if (digit > 15 || n >> 60 != 0)
			return NULL;
		n = n << 4 | digit;
	}
	if (at == first || at == end)
		return NULL;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	*ret = n;
	return at;
}

static int add_line(struct perf_map *m)
{
	const char *end = m->line + m->line_len, *at;
	uint64_t start, size;

	at = read_hex(m->line, end, &start);
	if (at)
		at = read_hex(at, end, &size);
	while (at && at < end && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (!at || at == end)
		return 0;
	return jit_functions_add(m->functions,
				 &(struct jit_function){.start = start,
							.size_bytes = size,
							.name = at,
							.name_len = (size_t)(end - at)});
}

void perf_map_skip_line(struct perf_map *m)
{
	m->line_len = m->added_len = 0;
	m->is_skipping = true;
}

int perf_map_add(struct perf_map *m, const char *text, size_t len)
{
	const char *end = text + len;
	int first = 0;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ?: end;
		size_t room = sizeof(m->line) - m->line_len, n = (size_t)(stop - text);

		n = m->is_skipping ? 0 : n < room ? n : room;
		memcpy(m->line + m->line_len, text, n);
		m->line_len += n;
		text = stop + 1;
		if (!newline)
			break;
		if (!m->is_skipping) {
			int r = add_line(m);

			first = first ?: r;
		}
		m->line_len = m->added_len = 0;
		m->is_skipping = false;
	}
	return first;
}

int perf_map_add_rest(struct perf_map *m)
{
	int r = m->line_len > m->added_len ? add_line(m) : 0;

	if (r == 0)
		m->added_len = m->line_len;
	return r;
}

int perf_map_find(struct perf_map *m, uint64_t address, const char **ret_name, size_t *ret_len)
{
	struct jit_function f;
	int r = jit_functions_find(m->functions, address, &f);

	if (r == 0) {
		*ret_name = f.name;
		*ret_len = f.name_len;
	}
	return r;
}
