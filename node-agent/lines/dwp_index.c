/*
 * A header of four numbers; a hash table of unit ids, by double hashing; as many row numbers; and
 * two tables, of offsets and of lengths, with a row for each unit and a column for each section.
 * The first row of the offsets says which section each column is of.
 */
#include "node-agent/lines/dwp_index.h"

#include <errno.h>

#define HEADER_BYTES 16u
#define COLUMNS_MAX 16u

struct index {
	const uint8_t *data;
	bool is_gnu; /* the form that came before DWARF 5 */
	uint64_t n_columns, n_units, n_slots;
};

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t u64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static int read_header(struct index *x, const uint8_t *data, size_t len)
{
	uint32_t version;

	if (len < HEADER_BYTES)
		return -EBADMSG;
	version = u32_at(data);
	*x = (struct index){.data = data,
			    .is_gnu = version == 2,
			    .n_columns = u32_at(data + 4),
			    .n_units = u32_at(data + 8),
			    .n_slots = u32_at(data + 12)};
	/* in DWARF 5, the version has two bytes and the next two are padding */
	if (version != 2 && (version & 0xffff) != 5)
		return -EBADMSG;
	if (x->n_columns > COLUMNS_MAX || (x->n_slots & (x->n_slots - 1)) != 0)
		return -EBADMSG;
	return HEADER_BYTES + x->n_slots * 12 + (1 + 2 * x->n_units) * x->n_columns * 4 <= len
		       ? 0
		       : -EBADMSG;
}

/* Returns the row of a unit, from 1 on; 0: there is none. */
static uint32_t find_row(const struct index *x, uint64_t unit_id)
{
	const uint8_t *ids = x->data + HEADER_BYTES, *rows = ids + x->n_slots * 8;
	uint64_t mask = x->n_slots - 1, at = unit_id & mask, step = ((unit_id >> 32) & mask) | 1;

	for (uint64_t tries = 0; tries < x->n_slots; tries++) {
		uint32_t row = u32_at(rows + at * 4);

		if (row == 0 || u64_at(ids + at * 8) == unit_id)
			return row;
		at = (at + step) & mask;
	}
	return 0;
}

/* DW_SECT_* of a column; DWP_SECTIONS: of no use here. */
static enum dwp_section section_of(const struct index *x, uint32_t number)
{
	switch (number) {
	case 1:
		return DWP_INFO;
	case 3:
		return DWP_ABBREV;
	case 6:
		return DWP_STR_OFFSETS;
	case 8: /* of GNU, macros */
		return x->is_gnu ? DWP_SECTIONS : DWP_RNGLISTS;
	default:
		return DWP_SECTIONS;
	}
}

int dwp_index_find(const uint8_t *index, size_t len, uint64_t unit_id,
		   struct dwp_part ret[static DWP_SECTIONS])
{
	const uint8_t *offsets, *lengths;
	struct index x;
	uint32_t row;
	int r = read_header(&x, index, len);

	if (r < 0)
		return r;
	row = find_row(&x, unit_id);
	if (row == 0)
		return -ENOENT;
	if (row > x.n_units)
		return -EBADMSG;
	memset(ret, 0, DWP_SECTIONS * sizeof(*ret));
	offsets = index + HEADER_BYTES + x.n_slots * 12;
	lengths = offsets + (1 + x.n_units) * x.n_columns * 4;
	for (uint64_t i = 0; i < x.n_columns; i++) {
		enum dwp_section s = section_of(&x, u32_at(offsets + i * 4));

		if (s == DWP_SECTIONS)
			continue;
		ret[s].offset = u32_at(offsets + (row * x.n_columns + i) * 4);
		ret[s].bytes = u32_at(lengths + ((row - 1) * x.n_columns + i) * 4);
	}
	return ret[DWP_INFO].bytes > 0 && ret[DWP_ABBREV].bytes > 0 ? 0 : -EBADMSG;
}
