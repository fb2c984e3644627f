/*
 * All three formats describe the bytecode from its start on, each entry relative to the one before
 * it. None has an index, so a table is read from its start.
 */
#include "node-agent/interpreter/python/python_lines.h"

#define NO_LINE (-128) /* PYTHON_LINES_RANGES: the instructions of an entry have no line */

/* PYTHON_LINES_LOCATIONS: kinds of entries. Those below have columns of their own and no line. */
#define KIND_ONE_LINE 10u /* to 12: so many lines further */
#define KIND_NO_COLUMNS 13u
#define KIND_LONG 14u
#define KIND_NONE 15u
#define ENTRY_START 0x80u

/* Lines may count backwards, and those of a hostile table to anywhere. */
static uint32_t line_from(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Each entry: bytes until a line begins, lines from the last one to it. */
static uint32_t line_of_lnotab(const uint8_t *t, size_t len, int64_t line, uint64_t offset)
{
	uint64_t at = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		at += t[i];
		if (at > offset)
			break;
		line += (int8_t)t[i + 1];
	}
	return line_from(line);
}

/* Each entry: bytes, lines from the last entry to this one. */
static uint32_t line_of_ranges(const uint8_t *t, size_t len, int64_t line, uint64_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		int8_t delta = (int8_t)t[i + 1];

		end += t[i];
		if (delta != NO_LINE)
			line += delta;
		if (offset < end)
			return delta == NO_LINE ? 0 : line_from(line);
	}
	return 0;
}

/* A signed number of six bits a byte, the lowest first; the lowest bit of all is the sign. */
static int64_t signed_number(const uint8_t *t, size_t len, size_t at)
{
	uint64_t v = 0;

	for (unsigned shift = 0; at < len && shift < 36; at++, shift += 6) {
		v |= (uint64_t)(t[at] & 0x3f) << shift;
		if (!(t[at] & 0x40))
			break;
	}
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

static uint32_t line_of_locations(const uint8_t *t, size_t len, int64_t line, uint64_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i < len;) {
		unsigned kind = t[i] >> 3 & 15;

		end += ((t[i] & 7u) + 1) * 2;
		if (kind == KIND_NO_COLUMNS || kind == KIND_LONG)
			line += signed_number(t, len, i + 1);
		else if (kind >= KIND_ONE_LINE && kind < KIND_NO_COLUMNS)
			line += kind - KIND_ONE_LINE;
		if (offset < end)
			return kind == KIND_NONE ? 0 : line_from(line);
		i++;
		while (i < len && !(t[i] & ENTRY_START))
			i++;
	}
	return 0;
}

uint32_t python_line_of(enum python_line_format format, const uint8_t *table, size_t len,
			uint32_t first_line, uint32_t offset_bytes)
{
	switch (format) {
	case PYTHON_LINES_LNOTAB:
		return line_of_lnotab(table, len, first_line, offset_bytes);
	case PYTHON_LINES_RANGES:
		return line_of_ranges(table, len, first_line, offset_bytes);
	case PYTHON_LINES_LOCATIONS:
		return line_of_locations(table, len, first_line, offset_bytes);
	}
	return 0;
}
