/*
 * Functions are kept in the order in which they were written, as the last one wins. Before the
 * first lookup after new text they are turned into disjoint pieces in the order of addresses: a
 * sweep over all starts, with a heap of the functions that are open there, the newest on top.
 * Functions that own no piece any more are forgotten. That costs a few milliseconds for 30,000
 * functions, once per profile in which the program has compiled something.
 */
#include "node-agent/symbol/perf_map.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/data/heap_sort.h"

#define MIN_BYTES ((size_t)64 * 1024)

struct function {
	uint64_t start;
	uint64_t end; /* exclusive */
	uint32_t name;
	uint32_t name_len;
};

/* A range that one function has. */
struct piece {
	uint64_t start;
	uint64_t end;
	uint32_t function;
};

struct perf_map {
	size_t max_bytes;
	struct function *functions; /* as written */
	uint32_t n_functions, max_functions;
	char *names;
	size_t n_name_bytes, max_name_bytes;
	struct piece *pieces; /* ascending, disjoint */
	size_t n_pieces;
	bool is_sorted; /* pieces are those of functions */
	bool is_cut;
	bool is_skipping; /* the rest of the line is ignored */
	size_t line_len;
	size_t added_len; /* of the line, as much as has been added without its newline */
	char line[PERF_MAP_LINE_BYTES];
};

int perf_map_new(struct perf_map **ret, size_t max_bytes)
{
	struct perf_map *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->max_bytes = max_bytes > MIN_BYTES ? max_bytes : MIN_BYTES;
	*ret = m;
	return 0;
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	free(m->functions);
	free(m->names);
	free(m->pieces);
	free(m);
}

size_t perf_map_bytes(const struct perf_map *m)
{
	return sizeof(*m) + m->max_functions * sizeof(*m->functions) + m->max_name_bytes +
	       m->n_pieces * sizeof(*m->pieces);
}

bool perf_map_is_cut(const struct perf_map *m)
{
	return m->is_cut;
}

/* ---- pieces ---- */

struct start {
	uint64_t address;
	uint32_t function;
};

static int by_address(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

/* Functions that are open where the sweep is: a heap, the newest on top. */
struct open {
	uint32_t *functions;
	size_t n;
};

static void open_push(struct open *o, uint32_t function)
{
	size_t at = o->n++;

	while (at > 0 && o->functions[(at - 1) / 2] < function) {
		o->functions[at] = o->functions[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	o->functions[at] = function;
}

static void open_pop(struct open *o)
{
	uint32_t last = o->functions[--o->n];
	size_t at = 0;

	for (size_t child = 1; child < o->n; child = 2 * at + 1) {
		if (child + 1 < o->n && o->functions[child + 1] > o->functions[child])
			child++;
		if (o->functions[child] <= last)
			break;
		o->functions[at] = o->functions[child];
		at = child;
	}
	o->functions[at] = last;
}

static void add_piece(struct perf_map *m, uint64_t start, uint64_t end, uint32_t function)
{
	struct piece *last = m->n_pieces > 0 ? &m->pieces[m->n_pieces - 1] : NULL;

	if (last && last->function == function && last->end == start)
		last->end = end;
	else
		m->pieces[m->n_pieces++] = (struct piece){start, end, function};
}

/* Each step ends where a function starts or ends, so there are at most twice as many pieces. */
static void sweep(struct perf_map *m, const struct start *starts, struct open *o)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < m->n_functions || o->n > 0;) {
		uint64_t next = i < m->n_functions ? starts[i].address : UINT64_MAX, end;

		if (o->n > 0 && m->functions[o->functions[0]].end <= at) {
			open_pop(o);
			continue;
		}
		if (o->n == 0)
			at = next;
		if (next <= at && i < m->n_functions) {
			open_push(o, starts[i++].function);
			continue;
		}
		end = m->functions[o->functions[0]].end;
		end = end < next ? end : next;
		add_piece(m, at, end, o->functions[0]);
		at = end;
	}
}

static int make_pieces(struct perf_map *m)
{
	AUTO_FREE struct start *starts = calloc(m->n_functions + 1, sizeof(*starts));
	AUTO_FREE uint32_t *open = calloc(m->n_functions + 1, sizeof(*open));
	struct piece *exact;

	free(m->pieces);
	m->n_pieces = 0;
	m->pieces = calloc(2 * (size_t)m->n_functions + 1, sizeof(*m->pieces));
	if (!starts || !open || !m->pieces)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_functions; i++)
		starts[i] = (struct start){m->functions[i].start, i};
	heap_sort(starts, m->n_functions, sizeof(*starts), by_address);
	sweep(m, starts, &(struct open){.functions = open});
	exact = realloc(m->pieces, (m->n_pieces + 1) * sizeof(*exact));
	if (exact)
		m->pieces = exact;
	return 0;
}

/* Keeps the functions that own a piece, from number `first` on, and gives them new numbers. */
static int forget_others(struct perf_map *m, uint32_t first)
{
	AUTO_FREE uint32_t *numbers = calloc(m->n_functions + 1, sizeof(*numbers));
	uint32_t n = 0;
	size_t n_bytes = 0, n_pieces = 0;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_pieces; i++)
		numbers[m->pieces[i].function] = 1;
	for (uint32_t i = 0; i < m->n_functions; i++) {
		struct function f = m->functions[i];

		if (i < first || numbers[i] == 0) {
			numbers[i] = UINT32_MAX;
			continue;
		}
		memmove(m->names + n_bytes, m->names + f.name, f.name_len);
		f.name = (uint32_t)n_bytes;
		n_bytes += f.name_len;
		numbers[i] = n;
		m->functions[n++] = f;
	}
	for (size_t i = 0; i < m->n_pieces; i++) {
		struct piece p = m->pieces[i];

		p.function = numbers[p.function];
		if (p.function != UINT32_MAX)
			m->pieces[n_pieces++] = p;
	}
	m->n_functions = n;
	m->n_name_bytes = n_bytes;
	m->n_pieces = n_pieces;
	return 0;
}

static int sort(struct perf_map *m)
{
	int r = m->is_sorted ? 0 : make_pieces(m);

	if (r == 0 && !m->is_sorted)
		r = forget_others(m, 0);
	m->is_sorted = r == 0;
	if (r < 0)
		m->n_pieces = 0;
	return r;
}

/* ---- memory ---- */

/* With all the pieces that n functions may have. */
static size_t bytes_of(size_t n_functions, size_t n_name_bytes)
{
	return n_functions * (sizeof(struct function) + 2 * sizeof(struct piece)) + n_name_bytes;
}

static bool has_room(const struct perf_map *m, size_t name_len)
{
	return bytes_of(m->n_functions + 1, m->n_name_bytes + name_len) <= m->max_bytes;
}

/*
 * Forgets functions that were overwritten, and if that is little, the older half of the others. A
 * map that is full is not sorted again for each line: half of it is free afterwards.
 */
static int make_room(struct perf_map *m)
{
	int r = sort(m);

	if (r < 0 || bytes_of(m->n_functions, m->n_name_bytes) <= m->max_bytes / 2)
		return r;
	m->is_cut = true;
	return forget_others(m, m->n_functions / 2);
}

static int reserve(struct perf_map *m, size_t name_len)
{
	if (ARRAY_RESERVE(m->functions, m->max_functions, m->n_functions + 1) < 0)
		return -ENOMEM;
	if (m->n_name_bytes + name_len > m->max_name_bytes) {
		size_t max = 2 * m->max_name_bytes + name_len + 4096;
		char *bigger = realloc(m->names, max);

		if (!bigger)
			return -ENOMEM;
		m->names = bigger;
		m->max_name_bytes = max;
	}
	return 0;
}

static int add_function(struct perf_map *m, struct function f, const char *name)
{
	int r = has_room(m, f.name_len) ? 0 : make_room(m);

	if (r == 0)
		r = reserve(m, f.name_len);
	if (r < 0)
		return r;
	f.name = (uint32_t)m->n_name_bytes;
	memcpy(m->names + f.name, name, f.name_len);
	m->n_name_bytes += f.name_len;
	m->functions[m->n_functions++] = f;
	m->is_sorted = false;
	return 0;
}

/* ---- text ---- */

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
	if (!at || at == end || size == 0 || size > PERF_MAP_FUNCTION_BYTES ||
	    start > UINT64_MAX - size)
		return 0;
	return add_function(
		m, (struct function){start, start + size, .name_len = (uint32_t)(end - at)}, at);
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

/* ---- lookup ---- */

int perf_map_find(struct perf_map *m, uint64_t address, const char **ret_name, size_t *ret_len)
{
	size_t low = 0, high;
	int r = sort(m);

	if (r < 0)
		return r;
	for (high = m->n_pieces; low < high;) {
		size_t middle = low + (high - low) / 2;
		const struct piece *p = &m->pieces[middle];

		if (address < p->start) {
			high = middle;
		} else if (address >= p->end) {
			low = middle + 1;
		} else {
			const struct function *f = &m->functions[p->function];

			*ret_name = m->names + f->name;
			*ret_len = f->name_len;
			return 0;
		}
	}
	return -ENOENT;
}
