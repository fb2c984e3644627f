/*
 * Functions are kept in the order in which they were written, as the last one wins. Before the
 * first lookup after new ones they are turned into disjoint pieces in the order of addresses: a
 * sweep over all starts, with a heap of the functions that are open there, the newest on top.
 * Functions that own no piece any more are forgotten. That costs a few milliseconds for 30,000
 * functions, once per profile in which the program has compiled something.
 */
#include "node-agent/symbol/jit_functions.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/data/heap_sort.h"

#define MIN_BYTES ((size_t)64 * 1024)

/* Its texts are its name and what is kept beside it. */
struct function {
	uint64_t start;
	uint32_t size_bytes;
	uint32_t texts;
	uint32_t name_len;
	uint32_t extra_len;
};

static uint64_t end_of(const struct function *f)
{
	return f->start + f->size_bytes;
}

/* A range that one function has. */
struct piece {
	uint64_t start;
	uint64_t end;
	uint32_t function;
};

struct jit_functions {
	size_t max_bytes;
	struct function *functions; /* as written */
	uint32_t n_functions, max_functions;
	char *texts;
	size_t n_text_bytes, max_text_bytes;
	struct piece *pieces; /* ascending, disjoint */
	size_t n_pieces;
	bool is_sorted; /* pieces are those of functions */
	bool is_cut;
};

int jit_functions_new(struct jit_functions **ret, size_t max_bytes)
{
	struct jit_functions *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->max_bytes = max_bytes > MIN_BYTES ? max_bytes : MIN_BYTES;
	*ret = m;
	return 0;
}

void jit_functions_free(struct jit_functions *m)
{
	if (!m)
		return;
	free(m->functions);
	free(m->texts);
	free(m->pieces);
	free(m);
}

size_t jit_functions_bytes(const struct jit_functions *m)
{
	return sizeof(*m) + m->max_functions * sizeof(*m->functions) + m->max_text_bytes +
	       m->n_pieces * sizeof(*m->pieces);
}

bool jit_functions_is_cut(const struct jit_functions *m)
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

static void add_piece(struct jit_functions *m, uint64_t start, uint64_t end, uint32_t function)
{
	struct piece *last = m->n_pieces > 0 ? &m->pieces[m->n_pieces - 1] : NULL;

	if (last && last->function == function && last->end == start)
		last->end = end;
	else
		m->pieces[m->n_pieces++] = (struct piece){start, end, function};
}

/* Each step ends where a function starts or ends, so there are at most twice as many pieces. */
static void sweep(struct jit_functions *m, const struct start *starts, struct open *o)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < m->n_functions || o->n > 0;) {
		uint64_t next = i < m->n_functions ? starts[i].address : UINT64_MAX, end;

		if (o->n > 0 && end_of(&m->functions[o->functions[0]]) <= at) {
			open_pop(o);
			continue;
		}
		if (o->n == 0)
			at = next;
		if (next <= at && i < m->n_functions) {
			open_push(o, starts[i++].function);
			continue;
		}
		end = end_of(&m->functions[o->functions[0]]);
		end = end < next ? end : next;
		add_piece(m, at, end, o->functions[0]);
		at = end;
	}
}

static int make_pieces(struct jit_functions *m)
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

static size_t text_bytes(const struct function *f)
{
	return (size_t)f->name_len + f->extra_len;
}

/* Keeps the functions that own a piece, from number `first` on, and gives them new numbers. */
static int forget_others(struct jit_functions *m, uint32_t first)
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
		memmove(m->texts + n_bytes, m->texts + f.texts, text_bytes(&f));
		f.texts = (uint32_t)n_bytes;
		n_bytes += text_bytes(&f);
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
	m->n_text_bytes = n_bytes;
	m->n_pieces = n_pieces;
	return 0;
}

static int sort(struct jit_functions *m)
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
static size_t bytes_of(size_t n_functions, size_t n_text_bytes)
{
	return n_functions * (sizeof(struct function) + 2 * sizeof(struct piece)) + n_text_bytes;
}

static bool has_room(const struct jit_functions *m, size_t len)
{
	return bytes_of(m->n_functions + 1, m->n_text_bytes + len) <= m->max_bytes;
}

/*
 * Forgets functions that were overwritten, and if that is little, the older half of the others. A
 * map that is full is not sorted again for each line: half of it is free afterwards.
 */
static int make_room(struct jit_functions *m)
{
	int r = sort(m);

	if (r < 0 || bytes_of(m->n_functions, m->n_text_bytes) <= m->max_bytes / 2)
		return r;
	m->is_cut = true;
	return forget_others(m, m->n_functions / 2);
}

static int reserve(struct jit_functions *m, size_t len)
{
	if (ARRAY_RESERVE(m->functions, m->max_functions, m->n_functions + 1) < 0)
		return -ENOMEM;
	if (m->n_text_bytes + len > m->max_text_bytes) {
		size_t max = 2 * m->max_text_bytes + len + 4096;
		char *bigger = realloc(m->texts, max);

		if (!bigger)
			return -ENOMEM;
		m->texts = bigger;
		m->max_text_bytes = max;
	}
	return 0;
}

int jit_functions_add(struct jit_functions *m, const struct jit_function *function)
{
	struct function f = {
		.start = function->start,
		.size_bytes = (uint32_t)function->size_bytes,
		.name_len = (uint32_t)function->name_len,
		.extra_len = (uint32_t)function->extra_len,
	};
	size_t len = function->name_len + function->extra_len;
	int r = 0;

	if (function->size_bytes == 0 || function->size_bytes > JIT_FUNCTION_BYTES ||
	    function->start > UINT64_MAX - function->size_bytes || len > JIT_FUNCTION_TEXT_BYTES)
		return 0;
	if (!has_room(m, len))
		r = make_room(m);
	if (r == 0)
		r = reserve(m, len);
	if (r < 0)
		return r;
	f.texts = (uint32_t)m->n_text_bytes;
	memcpy(m->texts + f.texts, function->name, f.name_len);
	if (f.extra_len > 0)
		memcpy(m->texts + f.texts + f.name_len, function->extra, f.extra_len);
	m->n_text_bytes += len;
	m->functions[m->n_functions++] = f;
	m->is_sorted = false;
	return 0;
}

/* ---- lookup ---- */

static struct jit_function function_of(const struct jit_functions *m, const struct function *f)
{
	return (struct jit_function){
		.start = f->start,
		.size_bytes = f->size_bytes,
		.name = m->texts + f->texts,
		.name_len = f->name_len,
		.extra = m->texts + f->texts + f->name_len,
		.extra_len = f->extra_len,
	};
}

int jit_functions_find(struct jit_functions *m, uint64_t address, struct jit_function *ret)
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
			*ret = function_of(m, &m->functions[p->function]);
			return 0;
		}
	}
	return -ENOENT;
}

bool jit_functions_find_newest(const struct jit_functions *m,
			       bool (*is_it)(void *ctx, const struct jit_function *f), void *ctx,
			       uint32_t *steps, struct jit_function *ret)
{
	for (uint32_t i = m->n_functions; i > 0 && *steps > 0; (*steps)--) {
		*ret = function_of(m, &m->functions[--i]);
		if (is_it(ctx, ret))
			return true;
	}
	return false;
}
