/*
 * The pclntab is what a Go program prints stack traces from, so it is there even in a stripped
 * file, and it is complete. It is made for that program, however, not for readers of the file:
 * its format changes with releases, and since 1.26 it does not say where its own addresses
 * begin.
 *
 * A name that is wrong by one function is worse than none. Hence nothing is assumed that the
 * file does not confirm (see gopclntab_place.c): the table's ranges must lie in executable
 * segments, a text start is taken from the module data only if the fields around it agree with the
 * table, and from .text only if the functions fill it exactly. Any doubt is -ENOENT, and ELF
 * symbols are tried instead.
 *
 * Nothing is kept but a few offsets. A lookup is a binary search by some twenty reads of 4 or
 * 8 bytes, and what it finds is cached by the caller. The same code reads the table in the
 * memory of a process, which is why everything goes through a byte_source.
 */
#include "node-agent/gopclntab/gopclntab.h"

#include <errno.h>

#include "node-agent/gopclntab/gopclntab_parse.h"

#define MAGIC_1_2 0xfffffffbu
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define POINTER_BYTES UINT64_C(8)
#define SCAN_STEP_BYTES 65536u

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool parse_magic(const uint8_t *header, enum gopclntab_version *ret)
{
	if (header[4] != 0 || header[5] != 0 || header[7] != POINTER_BYTES ||
	    (header[6] != 1 && header[6] != 2 && header[6] != 4))
		return false;
	switch (u32_at(header)) {
	case MAGIC_1_2:
		*ret = GOPCLNTAB_1_2;
		return true;
	case MAGIC_1_16:
		*ret = GOPCLNTAB_1_16;
		return true;
	case MAGIC_1_18:
		*ret = GOPCLNTAB_1_18;
		return true;
	case MAGIC_1_20:
		*ret = GOPCLNTAB_1_20;
		return true;
	default:
		return false;
	}
}

/* Bytes of one number in the table of functions, which are pairs: address, offset. */
static uint64_t field_bytes(const struct gopclntab *t)
{
	return t->version >= GOPCLNTAB_1_18 ? 4 : POINTER_BYTES;
}

int gopclntab_read(const struct gopclntab *t, const struct byte_source *src, uint64_t offset,
		   void *to, size_t len)
{
	if (offset > t->size_bytes || len > t->size_bytes - offset)
		return -ENOENT;
	return byte_source_read(src, t->offset + offset, to, len);
}

static int read_number(const struct gopclntab *t, const struct byte_source *src, uint64_t offset,
		       uint64_t *ret)
{
	uint64_t v = 0; /* the low bytes come first */
	int r;

	r = gopclntab_read(t, src, offset, &v, field_bytes(t));
	if (r < 0)
		return r;
	*ret = v;
	return 0;
}

/* Reads the address of function i; for i == n_functions the end of the last one. */
static int read_start(const struct gopclntab *t, const struct byte_source *src, uint64_t i,
		      uint64_t *ret)
{
	int r;

	r = read_number(t, src, t->functions_offset + i * 2 * field_bytes(t), ret);
	if (r == 0)
		*ret += t->text_start;
	return r;
}

/* Before 1.16 file names have a table of offsets of their own, after the functions. */
static int parse_files(struct gopclntab *t, const struct byte_source *src)
{
	uint32_t offset;
	int r;

	/* pairs, and the end of the last function */
	r = gopclntab_read(t, src, t->functions_offset + (t->n_functions * 2 + 1) * POINTER_BYTES,
			   &offset, sizeof(offset));
	if (r == 0)
		t->files_offset = offset;
	return r;
}

/* Parses the header after its first eight bytes: which fields there are depends on the version. */
static int parse_header(struct gopclntab *t, const struct byte_source *src)
{
	bool has_text = t->version >= GOPCLNTAB_1_18;
	/* functions, files, [text start,] names, units, file names, values, function table */
	size_t n = t->version == GOPCLNTAB_1_2 ? 1 : has_text ? 8 : 7;
	uint64_t words[8] = {0};
	int r;

	r = gopclntab_read(t, src, GOPCLNTAB_HEADER_BYTES, words, n * sizeof(*words));
	if (r < 0)
		return r;
	t->n_functions = words[0];
	if (has_text)
		t->text_start = words[GOPCLNTAB_HEADER_WORD_TEXT];
	if (t->version == GOPCLNTAB_1_2) {
		t->functions_offset = GOPCLNTAB_HEADER_BYTES + POINTER_BYTES;
	} else {
		const uint64_t *tables = words + 2 + has_text;

		t->names_offset = tables[0];
		t->units_offset = tables[1];
		t->files_offset = tables[2];
		t->values_offset = tables[3];
		t->functions_offset = tables[4];
	}
	if (t->names_offset >= t->size_bytes || t->functions_offset >= t->size_bytes ||
	    t->units_offset >= t->size_bytes || t->files_offset >= t->size_bytes ||
	    t->values_offset >= t->size_bytes)
		return -ENOENT;
	if (t->n_functions == 0 ||
	    t->n_functions > (t->size_bytes - t->functions_offset) / (2 * field_bytes(t)))
		return -ENOENT;
	return t->version == GOPCLNTAB_1_2 ? parse_files(t, src) : 0;
}

/* Reads the first and the last address; without the start of the text if that is still unknown. */
static int parse_range(struct gopclntab *t, const struct byte_source *src)
{
	int r;

	r = read_start(t, src, 0, &t->first);
	if (r == 0)
		r = read_start(t, src, t->n_functions, &t->end);
	if (r < 0)
		return r;
	return t->first < t->end ? 0 : -ENOENT;
}

bool gopclntab_is_header(const uint8_t *bytes)
{
	enum gopclntab_version version;

	return parse_magic(bytes, &version);
}

/* Parses everything but the range. */
static int parse_table(struct gopclntab *t, const struct byte_source *src)
{
	uint8_t header[GOPCLNTAB_HEADER_BYTES];
	int r;

	r = gopclntab_read(t, src, 0, header, sizeof(header));
	if (r < 0)
		return r;
	if (!parse_magic(header, &t->version))
		return -ENOENT;
	t->quantum = header[6];
	return parse_header(t, src);
}

int gopclntab_parse(struct gopclntab *t, const struct byte_source *src)
{
	int r = parse_table(t, src);

	return r == 0 ? parse_range(t, src) : r;
}

int gopclntab_open_at(struct gopclntab *ret, const struct byte_source *src, uint64_t offset,
		      uint64_t size_bytes, uint64_t text_start)
{
	struct gopclntab t = {.offset = offset, .vaddr = offset, .size_bytes = size_bytes};
	int r;

	r = parse_table(&t, src);
	if (r < 0)
		return r;
	t.text_start = t.version >= GOPCLNTAB_1_18 ? text_start : 0;
	r = parse_range(&t, src);
	if (r == 0)
		*ret = t;
	return r;
}

/* Index of the last function that starts at or before vaddr. */
static int find_function(const struct gopclntab *t, const struct byte_source *src, uint64_t vaddr,
			 uint64_t *ret)
{
	uint64_t lo = 0, hi = t->n_functions;

	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2, start;
		int r;

		r = read_start(t, src, mid, &start);
		if (r < 0)
			return r;
		if (start <= vaddr)
			lo = mid;
		else
			hi = mid;
	}
	*ret = lo;
	return 0;
}

/* Reads function i and the head of its record. */
static int read_function(const struct gopclntab *t, const struct byte_source *src, uint64_t i,
			 struct gopclntab_function *ret)
{
	uint64_t base = t->version == GOPCLNTAB_1_2 ? 0 : t->functions_offset;
	struct gopclntab_function f;
	uint64_t record = 0;
	int32_t name;
	int r;

	r = read_start(t, src, i, &f.start);
	if (r == 0)
		r = read_start(t, src, i + 1, &f.end);
	if (r == 0)
		r = read_number(t, src, t->functions_offset + (i * 2 + 1) * field_bytes(t),
				&record);
	if (r < 0)
		return r;
	if (record > t->size_bytes)
		return -ENOENT;
	/* the record: its address, then the offset of its name */
	f.record_offset = base + record;
	r = gopclntab_read(t, src, f.record_offset + field_bytes(t), &name, sizeof(name));
	if (r < 0)
		return r;
	if (name < 0 || (name == 0 && t->version == GOPCLNTAB_1_2) ||
	    (uint64_t)name >= t->size_bytes - t->names_offset)
		return -ENOENT;
	f.name_offset = t->names_offset + (uint64_t)name;
	*ret = f;
	return 0;
}

int gopclntab_find_function(const struct gopclntab *t, const struct byte_source *src,
			    uint64_t vaddr, struct gopclntab_function *ret)
{
	uint64_t i = 0;
	int r;

	if (!gopclntab_covers(t, vaddr))
		return -ENOENT;
	r = find_function(t, src, vaddr, &i);
	return r == 0 ? read_function(t, src, i, ret) : r;
}

static int read_name(const struct gopclntab *t, const struct byte_source *src, uint64_t offset,
		     char *name, size_t cap)
{
	int r = byte_source_read_string(src, t->offset + offset, t->offset + t->size_bytes, name,
					cap);

	if (r < 0)
		return r == -ENAMETOOLONG ? -ENOENT : r;
	return r > 0 ? 0 : -ENOENT;
}

int gopclntab_find(const struct gopclntab *t, const struct byte_source *src, uint64_t vaddr,
		   char *name, size_t cap)
{
	struct gopclntab_function f;
	int r;

	r = gopclntab_find_function(t, src, vaddr, &f);
	return r == 0 ? read_name(t, src, f.name_offset, name, cap) : r;
}

/* A piece of the table, for small reads that move forward. */
struct piece {
	uint64_t *left_bytes; /* may still be read, by all pieces together */
	uint64_t offset;
	size_t len;
	uint8_t bytes[SCAN_STEP_BYTES];
};

static int read_piece(struct piece *p, const struct gopclntab *t, const struct byte_source *src,
		      uint64_t offset, size_t want)
{
	int r;

	if (offset >= p->offset && offset - p->offset + want <= p->len)
		return 0;
	if (offset > t->size_bytes || want > t->size_bytes - offset)
		return -ENOENT;
	p->len = t->size_bytes - offset < sizeof(p->bytes) ? (size_t)(t->size_bytes - offset)
							   : sizeof(p->bytes);
	p->offset = offset;
	if (*p->left_bytes < p->len)
		return -EFBIG;
	*p->left_bytes -= p->len;
	r = gopclntab_read(t, src, offset, p->bytes, p->len);
	if (r < 0)
		p->len = 0;
	return r;
}

int gopclntab_visit(const struct gopclntab *t, const struct byte_source *src, size_t record_bytes,
		    gopclntab_visit_fn *fn, void *ctx)
{
	uint64_t base = t->version == GOPCLNTAB_1_2 ? 0 : t->functions_offset;
	AUTO_FREE struct piece *pairs = calloc(2, sizeof(*pairs));
	uint64_t left_bytes = GOPCLNTAB_NAMED_MAX_BYTES;
	size_t field = (size_t)field_bytes(t);
	struct piece *records;
	int r = 0;

	if (!pairs)
		return -ENOMEM;
	records = &pairs[1];
	pairs->left_bytes = records->left_bytes = &left_bytes;
	for (uint64_t i = 0; r == 0 && i < t->n_functions; i++) {
		uint64_t at = t->functions_offset + (i * 2 + 1) * field, record = 0;

		r = read_piece(pairs, t, src, at, field);
		if (r < 0)
			return r;
		memcpy(&record, pairs->bytes + (at - pairs->offset), field);
		if (record > t->size_bytes)
			continue;
		record += base;
		r = read_piece(records, t, src, record, record_bytes);
		if (r == 0)
			r = fn(ctx, i, records->bytes + (record - records->offset));
		else if (r == -ENOENT)
			r = 0;
	}
	return r;
}

int gopclntab_function_at(const struct gopclntab *t, const struct byte_source *src, uint64_t index,
			  struct gopclntab_function *ret)
{
	return index < t->n_functions ? read_function(t, src, index, ret) : -ENOENT;
}

/* The function whose name is at this offset. */
struct by_name {
	const struct gopclntab *table;
	uint64_t name_offset;
	uint64_t index;
};

static int is_named(void *ctx, uint64_t index, const uint8_t *record)
{
	struct by_name *b = ctx;

	if (b->table->names_offset + u32_at(record + field_bytes(b->table)) != b->name_offset)
		return 0;
	b->index = index;
	return 1;
}

int gopclntab_find_named(const struct gopclntab *t, const struct byte_source *src, const char *name,
			 struct gopclntab_function *ret)
{
	AUTO_FREE uint8_t *chunk = malloc(SCAN_STEP_BYTES);
	uint64_t names_end = t->version == GOPCLNTAB_1_2 ? t->size_bytes : t->units_offset;
	size_t want = strlen(name) + 2; /* with the NULs around it: a whole name */
	uint64_t at = t->names_offset, name_offset = 0;
	struct by_name sought = {.table = t};
	char key[256];
	int r;

	if (!chunk)
		return -ENOMEM;
	if (want > sizeof(key))
		return -ENOENT;
	memset(key, 0, sizeof(key));
	memcpy(key + 1, name, want - 2);
	if (names_end > at && names_end - at > GOPCLNTAB_NAMED_MAX_BYTES)
		return -EFBIG;
	while (name_offset == 0 && at < names_end && names_end - at >= want) {
		uint64_t left = names_end - at;
		size_t len = left < SCAN_STEP_BYTES ? (size_t)left : SCAN_STEP_BYTES;
		const uint8_t *hit;

		r = gopclntab_read(t, src, at, chunk, len);
		if (r < 0)
			return r;
		hit = memmem(chunk, len, key, want);
		if (hit)
			name_offset = at + (uint64_t)(hit - chunk) + 1;
		at += len - (len < SCAN_STEP_BYTES ? 0 : want);
	}
	if (name_offset == 0)
		return -ENOENT;
	sought.name_offset = name_offset;
	r = gopclntab_visit(t, src, (size_t)field_bytes(t) + sizeof(uint32_t), is_named, &sought);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	return read_function(t, src, sought.index, ret);
}
