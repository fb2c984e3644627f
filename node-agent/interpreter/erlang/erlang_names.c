#include "node-agent/interpreter/erlang/erlang_names.h"

#include <errno.h>
#include <linux/types.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/erlang/erlang_offsets.h"

#include "bpf/frame_chain.h"

#define ENTRIES_MAX (UINT64_C(1) << 22) /* of any table here; a search is as many steps as bits */

struct reader {
	const struct erlang_layout *layout;
	uint64_t bias;
	const struct interpreter_memory *memory;
};

static int read_word(const struct reader *k, uint64_t at, uint64_t *ret)
{
	return interpreter_read(k->memory, at, ret, sizeof(*ret));
}

/*
 * Finds the last of n entries of this size whose first word is not above the address. Returns 0, or
 * -ENOENT if there is none.
 */
static int find_entry(const struct reader *k, uint64_t entries, uint64_t n, unsigned bytes,
		      uint64_t address, uint64_t *ret)
{
	uint64_t low = 0, high = n;

	if (n > ENTRIES_MAX)
		return -EBADMSG;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2, word;
		int r = read_word(k, entries + middle * bytes, &word);

		if (r < 0)
			return r;
		if (word > address)
			high = middle;
		else
			low = middle + 1;
	}
	*ret = low - 1;
	return low == 0 ? -ENOENT : 0;
}

/* ---- code ---- */

static int read_code_index(const struct reader *k, uint32_t *ret)
{
	int r = interpreter_read(k->memory, k->bias + k->layout->code_index, ret, sizeof(*ret));

	return r == 0 && *ret >= ERLANG_CODE_INDICES ? -EBADMSG : r;
}

/* Finds the header of the code that the address is in. -ENOENT: it is in no module. */
static int find_module(const struct reader *k, uint64_t address, uint64_t *ret)
{
	uint64_t table[2], range[2], i;
	uint32_t index;
	int r = read_code_index(k, &index);

	if (r == 0)
		r = interpreter_read(k->memory,
				     k->bias + k->layout->ranges +
					     (uint64_t)index * ERLANG_RANGES_BYTES,
				     table, sizeof(table));
	if (r == 0)
		r = find_entry(k, table[0], table[1], ERLANG_RANGE_BYTES, address, &i);
	if (r == 0)
		r = interpreter_read(k->memory, table[0] + i * ERLANG_RANGE_BYTES, range,
				     sizeof(range));
	if (r == 0 && (address < range[0] || address >= range[1]))
		r = -ENOENT;
	if (r == 0)
		*ret = range[0];
	return r;
}

struct function {
	uint64_t module; /* the header of its code */
	uint64_t index;
	uint64_t info;
};

/* Behind the last function is code that others of the module share. */
static int find_function(const struct reader *k, uint64_t address, struct function *ret)
{
	uint64_t n, functions;
	int r = find_module(k, address, &ret->module);

	if (r < 0)
		return r;
	functions = ret->module + k->layout->functions;
	r = read_word(k, ret->module, &n);
	if (r == 0)
		r = n == 0 ? -EBADMSG
			   : find_entry(k, functions, n + 1, sizeof(uint64_t), address,
					&ret->index);
	if (r == 0 && ret->index == n)
		r = -ENOENT;
	if (r == 0)
		r = read_word(k, functions + ret->index * sizeof(uint64_t), &ret->info);
	return r;
}

/* ---- atoms ---- */

/* Cuts what is longer. Returns the length, or an error. */
static int read_atom(const struct reader *k, uint64_t atom, char *to, size_t cap)
{
	uint64_t i = atom >> ERLANG_ATOM_SHIFT, at, text;
	uint16_t length;
	size_t len;
	int r;

	*to = '\0';
	if ((atom & ERLANG_ATOM_MASK) != ERLANG_ATOM || i >= ERLANG_ATOMS_MAX)
		return -EBADMSG;
	r = read_word(k, k->bias + k->layout->atoms + ERLANG_ATOMS_PIECES, &at);
	if (r == 0)
		r = read_word(k, at + (i >> ERLANG_ATOMS_PIECE_SHIFT) * sizeof(at), &at);
	if (r == 0)
		r = read_word(k, at + i % (1u << ERLANG_ATOMS_PIECE_SHIFT) * sizeof(at), &at);
	if (r == 0)
		r = interpreter_read(k->memory, at + ERLANG_ATOM_LENGTH, &length, sizeof(length));
	if (r == 0)
		r = read_word(k, at + ERLANG_ATOM_TEXT, &text);
	if (r == 0 && length > ERLANG_ATOM_BYTES_MAX)
		r = -EBADMSG;
	if (r < 0)
		return r;
	len = length < cap ? length : cap - 1;
	r = interpreter_read(k->memory, text, to, len);
	if (r < 0)
		len = 0;
	len = utf8_make_printable(to, len);
	to[len] = '\0';
	return r < 0 ? r : (int)len;
}

/* ---- names ---- */

#define MODULE_BYTES 240u
#define ARITY_BYTES 8u /* "/255" */

static int read_name(const struct reader *k, const struct function *f, struct interpreter_name *ret)
{
	size_t cap = sizeof(ret->function), len;
	uint64_t mfa[3];
	int r = interpreter_read(k->memory, f->info + ERLANG_FUNCTION_MODULE, mfa, sizeof(mfa));

	_Static_assert(ERLANG_FUNCTION_NAME == ERLANG_FUNCTION_MODULE + 8 &&
			       ERLANG_FUNCTION_ARITY == ERLANG_FUNCTION_NAME + 8,
		       "three words");
	if (r == 0 && mfa[2] > UINT8_MAX)
		r = -EBADMSG;
	if (r == 0)
		r = read_atom(k, mfa[0], ret->function, MODULE_BYTES);
	if (r < 0)
		return r;
	len = (size_t)r;
	ret->function[len++] = ':';
	r = read_atom(k, mfa[1], ret->function + len, cap - ARITY_BYTES - len);
	if (r < 0) {
		ret->function[0] = '\0';
		return r;
	}
	len += (size_t)r;
	snprintf(ret->function + len, cap - len, "/%u", (unsigned)mfa[2]);
	return 0;
}

/* The place of an address in a function, as in its table. 0: none is known. */
static int read_place(const struct reader *k, const struct function *f, uint64_t lines,
		      uint64_t address, uint32_t *ret)
{
	uint64_t first, bounds[2], places, i = 0;
	uint32_t bytes;
	uint16_t half;
	int r = read_word(k, lines + ERLANG_LINES_FUNCTIONS, &first);

	*ret = 0;
	if (r == 0)
		r = interpreter_read(k->memory,
				     lines + ERLANG_LINES_FUNCTIONS + f->index * sizeof(uint64_t),
				     bounds, sizeof(bounds));
	if (r == 0)
		r = read_word(k, lines + ERLANG_LINES_PLACES, &places);
	if (r == 0)
		r = interpreter_read(k->memory, lines + ERLANG_LINES_PLACE_BYTES, &bytes,
				     sizeof(bytes));
	if (r == 0 && (bounds[1] < bounds[0] || bounds[0] < first))
		r = -EBADMSG;
	if (r == 0)
		r = find_entry(k, bounds[0], (bounds[1] - bounds[0]) / sizeof(uint64_t),
			       sizeof(uint64_t), address, &i);
	if (r < 0)
		return r;
	i += (bounds[0] - first) / sizeof(uint64_t);
	if (bytes == sizeof(*ret))
		return interpreter_read(k->memory, places + i * bytes, ret, sizeof(*ret));
	r = interpreter_read(k->memory, places + i * sizeof(half), &half, sizeof(half));
	if (r == 0)
		*ret = half;
	return r;
}

#define CELLS 32u /* that are read at once: those of a text mostly follow each other */

struct cells {
	uint64_t at;
	size_t n;
	uint64_t words[2 * CELLS];
};

/* Sets the two words of the cell at this address. */
static int read_cell(const struct reader *k, struct cells *c, uint64_t at, uint64_t ret[2])
{
	uint64_t offset = at - c->at;
	int r = 0;

	if (offset % sizeof(at) != 0 || c->n == 0 || offset > (c->n - 1) * 2 * sizeof(at)) {
		c->at = at;
		c->n = CELLS;
		offset = 0;
		r = interpreter_read(k->memory, at, c->words, sizeof(c->words));
		if (r < 0) { /* where memory ends behind it */
			c->n = 1;
			r = interpreter_read(k->memory, at, c->words, 2 * sizeof(at));
		}
		if (r < 0)
			c->n = 0;
	}
	memcpy(ret, &c->words[offset / sizeof(at)], 2 * sizeof(at));
	return r;
}

/* A text is a list of characters. */
static int read_text(const struct reader *k, uint64_t list, char *to, size_t cap)
{
	struct cells cells = {0};
	uint64_t cell[2];
	size_t len = 0;
	int r = 0;

	for (size_t i = 0; i < cap && (list & ERLANG_TAG_MASK) == ERLANG_LIST; i++) {
		r = read_cell(k, &cells, list & ~ERLANG_TAG_MASK, cell);
		if (r == 0 && (cell[0] & ERLANG_SMALL_MASK) != ERLANG_SMALL)
			r = -EBADMSG;
		if (r < 0 || !utf8_put(to, cap, &len, (uint32_t)(cell[0] >> ERLANG_SMALL_SHIFT)))
			break;
		list = cell[1];
	}
	to[r < 0 ? 0 : len] = '\0';
	return r;
}

static int read_file(const struct reader *k, uint64_t lines, uint32_t number,
		     struct interpreter_name *ret)
{
	uint64_t files, text;
	int r = read_word(k, lines + ERLANG_LINES_FILES, &files);

	if (r == 0)
		r = read_word(k, files + number * sizeof(text), &text);
	return r < 0 ? r : read_text(k, text, ret->file, sizeof(ret->file));
}

/* Without it a name is a name. */
static void read_line(const struct reader *k, const struct function *f, uint64_t address,
		      struct interpreter_name *ret)
{
	uint64_t lines;
	uint32_t place = 0;

	if (read_word(k, f->module + ERLANG_CODE_LINES, &lines) < 0 || lines == 0 ||
	    read_place(k, f, lines, address, &place) < 0 || place == 0)
		return;
	if (read_file(k, lines, place >> ERLANG_PLACE_FILE_SHIFT, ret) < 0)
		ret->file[0] = '\0';
	else
		ret->line = place & ((1u << ERLANG_PLACE_FILE_SHIFT) - 1);
}

/* ---- frames ---- */

static bool has_code(const struct reader *k, const struct interpreter_frame *f)
{
	uint64_t word;

	return read_word(k, f->code, &word) == 0 && chain_check(word) == f->check;
}

/*
 * Tables are replaced as a whole when modules are loaded, and the old ones are used again two times
 * later: what was read counts if the index is still the same.
 */
int erlang_name_read(const struct erlang_layout *layout, uint64_t bias,
		     const struct interpreter_memory *memory, const struct interpreter_frame *frame,
		     struct interpreter_name *ret)
{
	const struct reader k = {layout, bias, memory};
	struct function f;
	uint32_t before, after;
	int r = read_code_index(&k, &before), error;

	*ret = (struct interpreter_name){0};
	if (r < 0)
		return r;
	r = find_function(&k, frame->at, &f);
	error = read_code_index(&k, &after);
	if (error < 0)
		return error;
	if (before != after || !has_code(&k, frame))
		return -ESTALE;
	if (r < 0)
		return r == -ENOENT ? -ENODATA : r;
	r = read_name(&k, &f, ret);
	if (r == 0)
		read_line(&k, &f, frame->at, ret);
	return r;
}
