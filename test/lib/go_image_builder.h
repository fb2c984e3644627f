/*
 * Builds memory as of a Go program: a pclntab in any of the four formats, inline trees and
 * module data of any release. Addresses are offsets (plus base). There are three functions of
 * 0x100, 0x80 and 0x170 bytes; the first has calls inlined into it:
 *
 *     from  up to   name              file         line
 *     0     0x10    (the function)    /src/a.go    10
 *     0x10  0x20    main.middle       /src/b.go    20   called at 0x08
 *     0x20  0x40    main.inner        /src/b.go    25   called at 0x18
 *     0x40  0x100   (the function)    /src/a.go    30
 */
#ifndef TEST_LIB_GO_IMAGE_BUILDER_H
#define TEST_LIB_GO_IMAGE_BUILDER_H

#include <assert.h>

#include "node-agent/go/pclntab/go_module.h"

#define GO_IMAGE_BYTES 0x20000u
#define GO_IMAGE_TABLE 0x1000u
#define GO_IMAGE_TABLE_BYTES 0xa00u
#define GO_IMAGE_TREE 0x3000u /* of the first function */
#define GO_IMAGE_GOFUNC 0x2f00u
#define GO_IMAGE_MODULE 0x4000u
#define GO_IMAGE_DATA 0x5000u /* four ranges of 0x1000 bytes */
#define GO_IMAGE_TEXT 0xa000u
#define GO_IMAGE_TEXT_BYTES 0x2f0u
#define GO_IMAGE_FUNCTIONS 3u

/* Within the table. */
#define GO_IMAGE_RECORDS 0x200u /* of functions, this many bytes each: */
#define GO_IMAGE_RECORD_BYTES 0x60u
#define GO_IMAGE_NAMES 0x400u
#define GO_IMAGE_UNITS 0x700u
#define GO_IMAGE_FILES 0x740u
#define GO_IMAGE_VALUES 0x800u /* of the first function: files, lines, inlined calls; 0x20 each */

static const uint32_t go_image_starts[GO_IMAGE_FUNCTIONS + 1] = {0, 0x100, 0x180, 0x2f0};

struct go_image_builder {
	_Alignas(8) uint8_t data[GO_IMAGE_BYTES];
	struct byte_source memory;
	const char *names[GO_IMAGE_FUNCTIONS];
	uint64_t base; /* address of data */
};

static inline void go_image_put(struct go_image_builder *b, uint64_t address, uint64_t v,
				size_t len)
{
	assert(address + len <= sizeof(b->data));
	memcpy(b->data + address, &v, len);
}

static inline void go_image_put_table(struct go_image_builder *b, size_t at, uint64_t v, size_t len)
{
	assert(at + len <= GO_IMAGE_TABLE_BYTES);
	go_image_put(b, GO_IMAGE_TABLE + at, v, len);
}

/* As many at the beginning of a list: pairs of a value (one byte, zigzag) and bytes of code. */
static inline void go_image_put_values(struct go_image_builder *b, size_t at, const int (*steps)[2],
				       size_t n)
{
	int value = -1;

	for (size_t i = 0; i < n; i++) {
		int delta = steps[i][0] - value;

		go_image_put_table(b, at++, (uint64_t)(delta < 0 ? -2 * delta - 1 : 2 * delta), 1);
		/* a varint of two bytes, although one would do */
		go_image_put_table(b, at++, (uint64_t)(steps[i][1] & 0x7f) | 0x80, 1);
		go_image_put_table(b, at++, (uint64_t)(steps[i][1] >> 7), 1);
		value = steps[i][0];
	}
	go_image_put_table(b, at, 0, 1);
}

static inline uint32_t go_image_put_text(struct go_image_builder *b, size_t *at, const char *text)
{
	size_t start = *at;

	for (size_t i = 0; i <= strlen(text); i++)
		go_image_put_table(b, (*at)++, (uint8_t)text[i], 1);
	return (uint32_t)start;
}

/* Offsets of fields of a function's record: name, files, lines, n_tables, unit, n_data, size. */
static const uint8_t go_image_record_fields[4][7] = {
	[GOPCLNTAB_1_2] = {8, 24, 28, 32, 0, 39, 40},
	[GOPCLNTAB_1_16] = {8, 24, 28, 32, 36, 43, 44},
	[GOPCLNTAB_1_18] = {4, 20, 24, 28, 32, 39, 40},
	[GOPCLNTAB_1_20] = {4, 20, 24, 28, 32, 43, 44},
};

static inline void go_image_put_record(struct go_image_builder *b, enum gopclntab_version v,
				       size_t at, uint32_t name, bool has_lines)
{
	const uint8_t *f = go_image_record_fields[v];
	bool old = v < GOPCLNTAB_1_18;
	size_t values = v == GOPCLNTAB_1_2 ? GO_IMAGE_VALUES : 0x10; /* offset 0 is none */
	size_t tree = v == GOPCLNTAB_1_2 ? 4 : 3, data = at + f[6] + 3 * 4u;

	go_image_put_table(b, at + f[0], name, 4);
	if (!has_lines)
		return;
	go_image_put_table(b, at + f[1], values, 4);
	go_image_put_table(b, at + f[2], values + 0x20, 4);
	go_image_put_table(b, at + f[3], 3, 4);
	go_image_put_table(b, at + f[5], tree + 1, 1);
	go_image_put_table(b, at + f[6] + 2 * 4u, values + 0x40, 4);
	if (old)
		data = (data + 7) & ~(size_t)7;
	for (size_t i = 0; i < tree; i++)
		go_image_put_table(b, data + i * (old ? 8 : 4), old ? 0 : UINT32_MAX, old ? 8 : 4);
	go_image_put_table(b, data + tree * (old ? 8 : 4),
			   old ? b->base + GO_IMAGE_TREE : GO_IMAGE_TREE - GO_IMAGE_GOFUNC,
			   old ? 8 : 4);
}

static inline void go_image_put_tree(struct go_image_builder *b, enum gopclntab_version v, size_t i,
				     uint32_t name, uint32_t caller)
{
	size_t bytes = v == GOPCLNTAB_1_20 ? 16 : 20;
	uint64_t node = GO_IMAGE_TREE + i * bytes;

	go_image_put(b, node + (v == GOPCLNTAB_1_20 ? 4 : 12), name, 4);
	go_image_put(b, node + (v == GOPCLNTAB_1_20 ? 8 : 16), caller, 4);
}

/* Of the first function, as the table above says. */
static inline void go_image_put_lines(struct go_image_builder *b, enum gopclntab_version v)
{
	/* before 1.16 files count from 1: the first word is their number */
	int first = v == GOPCLNTAB_1_2 ? 1 : 0;
	const int files[][2] = {{first, 0x10}, {first + 1, 0x30}, {first, 0xc0}};
	const int lines[][2] = {{10, 0x10}, {20, 0x10}, {25, 0x20}, {30, 0xc0}};
	const int calls[][2] = {{-1, 0x10}, {0, 0x10}, {1, 0x20}, {-1, 0xc0}};
	size_t values = v == GOPCLNTAB_1_2 ? GO_IMAGE_VALUES : GO_IMAGE_VALUES + 0x10;

	go_image_put_values(b, values, files, ARRAY_SIZE(files));
	go_image_put_values(b, values + 0x20, lines, ARRAY_SIZE(lines));
	go_image_put_values(b, values + 0x40, calls, ARRAY_SIZE(calls));
}

static inline void go_image_put_files(struct go_image_builder *b, enum gopclntab_version v)
{
	bool old = v == GOPCLNTAB_1_2;
	size_t texts = GO_IMAGE_FILES + (old ? 0x20 : 0), at = texts;
	size_t numbers = old ? GO_IMAGE_FILES + 4 : GO_IMAGE_UNITS;
	size_t base = old ? 0 : GO_IMAGE_FILES;

	if (old)
		go_image_put_table(b, GO_IMAGE_FILES, 2, 4);
	go_image_put_table(b, numbers, go_image_put_text(b, &at, "/src/a.go") - base, 4);
	go_image_put_table(b, numbers + 4, go_image_put_text(b, &at, "/src/b.go") - base, 4);
}

static inline void go_image_put_header(struct go_image_builder *b, enum gopclntab_version v,
				       size_t functions)
{
	static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	const size_t offsets[] = {GO_IMAGE_NAMES, GO_IMAGE_UNITS, GO_IMAGE_FILES, GO_IMAGE_VALUES,
				  functions};

	go_image_put_table(b, 0, magics[v], 4);
	go_image_put_table(b, 6, 1, 1);
	go_image_put_table(b, 7, 8, 1);
	go_image_put_table(b, 8, GO_IMAGE_FUNCTIONS, 8);
	for (size_t i = 0; v != GOPCLNTAB_1_2 && i < ARRAY_SIZE(offsets); i++)
		go_image_put_table(b, (v == GOPCLNTAB_1_16 ? 24 : 32) + i * 8, offsets[i], 8);
	if (v >= GOPCLNTAB_1_18)
		go_image_put_table(b, 24, b->base + GO_IMAGE_TEXT, 8);
}

static inline void go_image_put_pclntab(struct go_image_builder *b, enum gopclntab_version v)
{
	size_t field = v >= GOPCLNTAB_1_18 ? 4 : 8, functions = v == GOPCLNTAB_1_2 ? 16 : 0x100;
	size_t base = v == GOPCLNTAB_1_2 ? 0 : functions, at = GO_IMAGE_NAMES + 1;
	uint64_t text = field == 8 ? b->base + GO_IMAGE_TEXT : 0;
	size_t names_base = v == GOPCLNTAB_1_2 ? 0 : GO_IMAGE_NAMES;
	uint32_t inner, middle;

	go_image_put_header(b, v, functions);
	for (size_t i = 0; i <= GO_IMAGE_FUNCTIONS; i++)
		go_image_put_table(b, functions + i * 2 * field, text + go_image_starts[i], field);
	if (v == GOPCLNTAB_1_2) /* behind the functions and the end of the last */
		go_image_put_table(b, functions + (GO_IMAGE_FUNCTIONS * 2 + 1) * 8, GO_IMAGE_FILES,
				   4);
	for (size_t i = 0; i < GO_IMAGE_FUNCTIONS; i++) {
		size_t record = GO_IMAGE_RECORDS + i * GO_IMAGE_RECORD_BYTES;
		uint32_t name = go_image_put_text(b, &at, b->names[i]);

		go_image_put_table(b, functions + (i * 2 + 1) * field, record - base, field);
		go_image_put_table(b, record, text + go_image_starts[i], field);
		go_image_put_record(b, v, record, name - (uint32_t)names_base, i == 0);
	}
	middle = go_image_put_text(b, &at, "main.middle") - (uint32_t)names_base;
	inner = go_image_put_text(b, &at, "main.inner") - (uint32_t)names_base;
	go_image_put_tree(b, v, 0, middle, 0x08);
	go_image_put_tree(b, v, 1, inner, 0x18);
	go_image_put_files(b, v);
	go_image_put_lines(b, v);
}

/* Words of struct moduledata in which releases differ, taken from DWARF. */
struct go_image_release {
	unsigned minor;
	enum gopclntab_version table;
	size_t min_pc;
	size_t gofunc;
	size_t next;
};

/* clang-format off */
static const struct go_image_release go_image_releases[] = {
	{13, GOPCLNTAB_1_2, 10, 0, 56},   {14, GOPCLNTAB_1_2, 10, 0, 56},
	{15, GOPCLNTAB_1_2, 10, 0, 56},   {16, GOPCLNTAB_1_16, 20, 0, 66},
	{17, GOPCLNTAB_1_16, 20, 0, 66},  {18, GOPCLNTAB_1_18, 20, 38, 68},
	{19, GOPCLNTAB_1_18, 20, 38, 68}, {20, GOPCLNTAB_1_20, 20, 40, 70},
	{21, GOPCLNTAB_1_20, 20, 40, 73}, {22, GOPCLNTAB_1_20, 20, 40, 73},
	{23, GOPCLNTAB_1_20, 20, 40, 72}, {24, GOPCLNTAB_1_20, 20, 40, 72},
	{25, GOPCLNTAB_1_20, 20, 40, 72}, {26, GOPCLNTAB_1_20, 20, 40, 73},
	{27, GOPCLNTAB_1_20, 20, 43, 70},
};
/* clang-format on */

static inline const struct go_image_release *go_image_release_of(unsigned minor)
{
	assert(minor >= 13 && minor - 13 < ARRAY_SIZE(go_image_releases));
	return &go_image_releases[minor - 13];
}

static inline void go_image_put_word(struct go_image_builder *b, uint64_t address, size_t word,
				     uint64_t v)
{
	go_image_put(b, address + word * 8, v, 8);
}

/* The module data at this address; next is that of a plugin. */
static inline void go_image_put_module(struct go_image_builder *b, unsigned minor, uint64_t address,
				       uint64_t next)
{
	const struct go_image_release *r = go_image_release_of(minor);
	uint64_t first = b->base + GO_IMAGE_TEXT, end = first + GO_IMAGE_TEXT_BYTES;
	const uint64_t text[] = {first, end, first, end};

	go_image_put_word(b, address, 0, b->base + GO_IMAGE_TABLE);
	if (r->table == GOPCLNTAB_1_2) {
		go_image_put_word(b, address, 1, GO_IMAGE_TABLE_BYTES);
	} else {
		go_image_put_word(b, address, 13, b->base + GO_IMAGE_TABLE + 0x100);
		go_image_put_word(b, address, 14, GO_IMAGE_TABLE_BYTES - 0x100);
	}
	for (size_t i = 0; i < 8; i++) /* four ranges, one behind the other */
		go_image_put_word(b, address, r->min_pc + 4 + i,
				  b->base + GO_IMAGE_DATA + (i + 1) / 2 * 0x1000);
	if (r->gofunc)
		go_image_put_word(b, address, r->gofunc, b->base + GO_IMAGE_GOFUNC);
	go_image_put_word(b, address, r->next, next);
	/* last, as it makes the module valid */
	for (size_t i = 0; i < ARRAY_SIZE(text); i++)
		go_image_put_word(b, address, r->min_pc + i, text[i]);
}

/* All but the module data. names are those of the functions. */
static inline void go_image_build_tables(struct go_image_builder *b, unsigned minor, uint64_t base,
					 const char *const names[static GO_IMAGE_FUNCTIONS])
{
	memset(b, 0, sizeof(*b));
	memcpy(b->names, names, sizeof(b->names));
	b->base = base;
	go_image_put_pclntab(b, go_image_release_of(minor)->table);
	byte_source_from_memory(&b->memory, b->data, sizeof(b->data));
}

static inline void go_image_build(struct go_image_builder *b, unsigned minor,
				  const char *const names[static GO_IMAGE_FUNCTIONS])
{
	go_image_build_tables(b, minor, 0, names);
	go_image_put_module(b, minor, GO_IMAGE_MODULE, 0);
}

#endif /* TEST_LIB_GO_IMAGE_BUILDER_H */
