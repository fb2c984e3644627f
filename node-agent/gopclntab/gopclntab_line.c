#include "node-agent/gopclntab/gopclntab_line.h"

#include <errno.h>

#include "common/text/utf8.h"
#include "node-agent/gopclntab/gopclntab_record.h"

#define PCDATA_INL_TREE_INDEX 2u
#define NO_OFFSET UINT32_MAX
#define TREE_INDEX_MAX (1 << 20)

/* ---- names and files ---- */

static int read_text(const struct gopclntab_record *l, uint64_t offset, char *to)
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

/* Stores "" if the function has no file at this address. */
static int read_file(const struct gopclntab_record *l, uint64_t address, char *to)
{
	uint64_t at = l->table->files_offset;
	uint32_t offset = 0;
	int32_t number;
	int r;

	to[0] = '\0';
	r = gopclntab_record_value(l, gopclntab_record_field(l, l->format->files), address,
				   &number);
	if (r < 0 || number < 0)
		return r;
	if (l->format->unit != 0)
		at = l->table->units_offset +
		     (uint64_t)gopclntab_record_field(l, l->format->unit) * sizeof(offset);
	r = gopclntab_read(l->table, l->src, at + (uint64_t)number * sizeof(offset), &offset,
			   sizeof(offset));
	if (r < 0 || offset == NO_OFFSET)
		return r == -ENOENT ? 0 : r;
	r = read_text(l, (l->format->unit ? l->table->files_offset : 0) + offset, to);
	return r == -ENOENT ? 0 : r;
}

/* ---- inlined calls ---- */

/* Stores the address of the function's inline tree; 0: it has none. */
static int find_tree(const struct gopclntab_record *l, const struct gopclntab_trees *trees,
		     uint64_t *ret)
{
	const struct gopclntab_format *f = l->format;
	uint64_t at = l->function.record_offset + f->size_bytes +
		      (uint64_t)gopclntab_record_field(l, f->n_tables) * sizeof(uint32_t);
	uint64_t v = 0;
	int r;

	*ret = 0;
	if (l->bytes[f->n_data] <= f->inl_tree ||
	    gopclntab_record_field(l, f->n_tables) <= PCDATA_INL_TREE_INDEX)
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

/* Stores the index, in the tree, of the call that is inlined at the address; -1: none is. */
static int find_tree_index(const struct gopclntab_record *l, uint64_t address, int32_t *ret)
{
	uint32_t offset = 0;
	int r;

	r = gopclntab_read(l->table, l->src,
			   l->function.record_offset + l->format->size_bytes +
				   PCDATA_INL_TREE_INDEX * sizeof(offset),
			   &offset, sizeof(offset));
	return r < 0 ? r : gopclntab_record_value(l, offset, address, ret);
}

/* The line at an offset of the record or a node of the tree; 0: the format has none there. */
static uint32_t start_line_at(const uint8_t *bytes, uint8_t offset)
{
	int32_t line = 0;

	if (offset != 0)
		memcpy(&line, bytes + offset, sizeof(line));
	return line > 0 ? (uint32_t)line : 0;
}

/* Finds the innermost function: its name's offset in the table, and all of ret but texts, line. */
static int find_inlined(const struct gopclntab_record *l, const struct gopclntab_trees *trees,
			uint64_t address, struct gopclntab_line *ret, uint64_t *name_offset)
{
	uint8_t node[20];
	int32_t index = -1, name, caller;
	uint64_t tree;
	int r;

	*name_offset = l->function.name_offset;
	ret->caller = 0;
	ret->id = l->bytes[l->format->id];
	ret->start_line = start_line_at(l->bytes, l->format->start_line);
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
	ret->id = node[l->format->tree_id];
	ret->start_line = start_line_at(node, l->format->tree_start_line);
	return 0;
}

int gopclntab_line_of_record(const struct gopclntab_record *r, const struct gopclntab_trees *trees,
			     uint64_t address, struct gopclntab_line *ret)
{
	uint64_t name_offset;
	int32_t line = -1;
	int e = find_inlined(r, trees, address, ret, &name_offset);

	if (e == 0)
		e = read_text(r, name_offset, ret->name);
	if (e == 0)
		e = read_file(r, address, ret->file);
	if (e == 0)
		e = gopclntab_record_value(r, gopclntab_record_field(r, r->format->lines), address,
					   &line);
	if (e < 0)
		return e;
	ret->line = line > 0 ? (uint32_t)line : 0;
	return ret->name[0] ? 0 : -ENOENT;
}

int gopclntab_find_line(const struct gopclntab *t, const struct byte_source *src,
			const struct gopclntab_trees *trees, uint64_t address,
			struct gopclntab_line *ret)
{
	struct gopclntab_record l;
	int r = gopclntab_record_find(&l, t, src, address);

	return r == 0 ? gopclntab_line_of_record(&l, trees, address, ret) : r;
}

void gopclntab_line_clean(struct gopclntab_line *line)
{
	line->name[utf8_make_printable(line->name, strlen(line->name))] = '\0';
	line->file[utf8_make_printable(line->file, strlen(line->file))] = '\0';
	for (char *p = line->file; *p; p++) {
		if (*p == ' ')
			*p = '_';
	}
}
