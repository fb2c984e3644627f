#include "node-agent/symbol/gopclntab_line.h"

#include <errno.h>

#define CHUNK_BYTES 256u
#define VALUES_MAX_BYTES (1u << 20) /* of one table of one function */
#define RECORD_MAX_BYTES 48u
#define PCDATA_INL_TREE_INDEX 2u
#define NO_OFFSET UINT32_MAX
#define TREE_INDEX_MAX (1 << 20)

/* Where the fields of a function's record are (struct _func in runtime/runtime2.go). */
struct record_format {
	uint8_t files;    /* offsets of the tables of values: number of the file … */
	uint8_t lines;    /* … and of the line */
	uint8_t n_tables; /* count of further tables of values */
	uint8_t unit;     /* index of the compilation unit's first file; 0: there is none */
	uint8_t n_data;   /* count of pointers to other data */
	uint8_t size_bytes;
	uint8_t inl_tree;        /* which of these pointers is the inline tree */
	uint8_t data_bytes;      /* of such a pointer */
	uint8_t tree_node_bytes; /* and the fields of a node of the tree: */
	uint8_t tree_name;
	uint8_t tree_caller;
};

static const struct record_format formats[] = {
	[GOPCLNTAB_1_2] = {24, 28, 32, 0, 39, 40, 4, 8, 20, 12, 16},
	[GOPCLNTAB_1_16] = {24, 28, 32, 36, 43, 44, 3, 8, 20, 12, 16},
	[GOPCLNTAB_1_18] = {20, 24, 28, 32, 39, 40, 3, 4, 20, 12, 16},
	[GOPCLNTAB_1_20] = {20, 24, 28, 32, 43, 44, 3, 4, 16, 4, 8},
};

/* One function of one table. */
struct lookup {
	const struct gopclntab *table;
	const struct byte_source *src;
	const struct record_format *format;
	struct gopclntab_function function;
	uint8_t record[RECORD_MAX_BYTES];
};

static uint32_t field(const struct lookup *l, size_t offset)
{
	uint32_t v;

	memcpy(&v, l->record + offset, sizeof(v));
	return v;
}

/* ---- values by address ---- */

struct value_reader {
	const struct lookup *l;
	uint64_t offset; /* of what follows the chunk */
	uint64_t end;
	size_t at, len;
	uint8_t chunk[CHUNK_BYTES];
};

static int next_byte(struct value_reader *v, uint8_t *ret)
{
	if (v->at == v->len) {
		uint64_t left = v->end - v->offset;
		size_t len = left < sizeof(v->chunk) ? (size_t)left : sizeof(v->chunk);
		int r = len > 0 ? gopclntab_read(v->l->table, v->l->src, v->offset, v->chunk, len)
				: -ENOENT;

		if (r < 0)
			return r;
		v->offset += len;
		v->len = len;
		v->at = 0;
	}
	*ret = v->chunk[v->at++];
	return 0;
}

static int next_number(struct value_reader *v, uint32_t *ret)
{
	uint32_t n = 0;
	uint8_t byte = 0;
	int r;

	for (unsigned shift = 0; shift < 32; shift += 7) {
		r = next_byte(v, &byte);
		if (r < 0)
			return r;
		n |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = n;
			return 0;
		}
	}
	return -ENOENT;
}

/* The value that the table at this offset has for an address; -1 where it has none. */
static int find_value(const struct lookup *l, uint32_t offset, uint64_t address, int32_t *ret)
{
	uint64_t begin = l->table->values_offset + offset, size = l->table->size_bytes;
	struct value_reader v = {.l = l, .offset = begin};
	uint64_t at = l->function.start;
	uint32_t value = UINT32_MAX; /* -1 */

	*ret = -1;
	if (offset == 0 || begin >= size)
		return 0;
	v.end = size - begin < VALUES_MAX_BYTES ? size : begin + VALUES_MAX_BYTES;
	for (bool first = true;; first = false) {
		uint32_t delta, step;
		int r = next_number(&v, &delta);

		if (r < 0)
			return r;
		if (delta == 0 && !first)
			return 0;
		r = next_number(&v, &step);
		if (r < 0)
			return r;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		at += (uint64_t)step * l->table->quantum;
		if (address < at) {
			*ret = (int32_t)value;
			return 0;
		}
	}
}

/* ---- names and files ---- */

static int read_text(const struct lookup *l, uint64_t offset, char *to)
{
	const struct gopclntab *t = l->table;
	int r;

	if (offset >= t->size_bytes)
		return -ENOENT;
	r = byte_source_read_string(l->src, t->offset + offset, t->offset + t->size_bytes, to,
				    GOPCLNTAB_TEXT_BYTES);
	if (r < 0)
		to[0] = '\0';
	if (r == -ENAMETOOLONG)
		return -ENOENT;
	return r < 0 ? r : 0;
}

/* *to is "" when the function has no file there. */
static int read_file(const struct lookup *l, uint64_t address, char *to)
{
	uint64_t at = l->table->files_offset;
	uint32_t offset = 0;
	int32_t number;
	int r;

	to[0] = '\0';
	r = find_value(l, field(l, l->format->files), address, &number);
	if (r < 0 || number < 0)
		return r;
	if (l->format->unit != 0)
		at = l->table->units_offset + (uint64_t)field(l, l->format->unit) * sizeof(offset);
	r = gopclntab_read(l->table, l->src, at + (uint64_t)number * sizeof(offset), &offset,
			   sizeof(offset));
	if (r < 0 || offset == NO_OFFSET)
		return r == -ENOENT ? 0 : r;
	r = read_text(l, (l->format->unit ? l->table->files_offset : 0) + offset, to);
	return r == -ENOENT ? 0 : r;
}

/* ---- inlined calls ---- */

/* Address of the function's inline tree; 0: it has none. */
static int find_tree(const struct lookup *l, const struct gopclntab_trees *trees, uint64_t *ret)
{
	const struct record_format *f = l->format;
	uint64_t at = l->function.record_offset + f->size_bytes +
		      (uint64_t)field(l, f->n_tables) * sizeof(uint32_t);
	uint64_t v = 0;
	int r;

	*ret = 0;
	if (l->record[f->n_data] <= f->inl_tree || field(l, f->n_tables) <= PCDATA_INL_TREE_INDEX)
		return 0;
	if (f->data_bytes == sizeof(uint64_t))
		at = (at + 7) & ~UINT64_C(7);
	r = gopclntab_read(l->table, l->src, at + (uint64_t)f->inl_tree * f->data_bytes, &v,
			   f->data_bytes);
	if (r < 0)
		return r;
	if (f->data_bytes == sizeof(uint64_t))
		*ret = v;
	else if (v != NO_OFFSET && trees->gofunc != 0)
		*ret = trees->gofunc + v;
	return 0;
}

/* Index into the tree of what is inlined at the address; -1: nothing. */
static int find_tree_index(const struct lookup *l, uint64_t address, int32_t *ret)
{
	uint32_t offset = 0;
	int r;

	r = gopclntab_read(l->table, l->src,
			   l->function.record_offset + l->format->size_bytes +
				   PCDATA_INL_TREE_INDEX * sizeof(offset),
			   &offset, sizeof(offset));
	return r < 0 ? r : find_value(l, offset, address, ret);
}

/* The name's offset in the table, and ret->caller. */
static int find_inlined(const struct lookup *l, const struct gopclntab_trees *trees,
			uint64_t address, struct gopclntab_line *ret, uint64_t *name_offset)
{
	uint8_t node[20];
	int32_t index = -1, name, caller;
	uint64_t tree;
	int r;

	*name_offset = l->function.name_offset;
	ret->caller = 0;
	r = find_tree(l, trees, &tree);
	if (r == 0 && tree != 0)
		r = find_tree_index(l, address, &index);
	if (r < 0 || index < 0 || index > TREE_INDEX_MAX)
		return r;
	r = byte_source_read(trees->memory, tree + (uint64_t)index * l->format->tree_node_bytes,
			     node, l->format->tree_node_bytes);
	if (r < 0)
		return r;
	memcpy(&name, node + l->format->tree_name, sizeof(name));
	memcpy(&caller, node + l->format->tree_caller, sizeof(caller));
	if (name < 0 || caller < 0 || (uint64_t)caller >= l->function.end - l->function.start)
		return -ENOENT;
	*name_offset = l->table->names_offset + (uint64_t)name;
	ret->caller = l->function.start + (uint64_t)caller;
	return 0;
}

int gopclntab_find_line(const struct gopclntab *t, const struct byte_source *src,
			const struct gopclntab_trees *trees, uint64_t address,
			struct gopclntab_line *ret)
{
	struct lookup l = {.table = t, .src = src, .format = &formats[t->version]};
	uint64_t name_offset;
	int32_t line = -1;
	int r;

	r = gopclntab_find_function(t, src, address, &l.function);
	if (r == 0)
		r = gopclntab_read(t, src, l.function.record_offset, l.record,
				   l.format->size_bytes);
	if (r == 0)
		r = find_inlined(&l, trees, address, ret, &name_offset);
	if (r == 0)
		r = read_text(&l, name_offset, ret->name);
	if (r == 0)
		r = read_file(&l, address, ret->file);
	if (r == 0)
		r = find_value(&l, field(&l, l.format->lines), address, &line);
	if (r < 0)
		return r;
	ret->line = line > 0 ? (uint32_t)line : 0;
	return ret->name[0] ? 0 : -ENOENT;
}
