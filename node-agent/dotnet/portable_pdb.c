/*
 * Each method has a blob with its sequence points, ascending by offset: differences to the point
 * before, in numbers of one to four bytes. A hidden one has no place: code that the compiler has
 * made itself, which belongs to the visible point before it. Points of several files are possible
 * (#line, and constructors, which have what initialises the fields of all parts of a type).
 *
 * The name of a file is a list of its parts, each a blob: most files have their folder in common.
 */
#include "node-agent/dotnet/portable_pdb.h"

#include <errno.h>

#include "common/text/utf8.h"

#define POINTS_MAX_BYTES 262144u /* of a method: some 50,000 statements */
#define PARTS_MAX 64u            /* of a name */
#define CHUNK_BYTES 512u
#define LINE_MAX UINT32_C(0x1fffffff)

int portable_pdb_open(struct portable_pdb *ret, const struct byte_source *src,
		      const uint8_t id[PDB_ID_BYTES])
{
	struct portable_pdb pdb;
	uint8_t found[PDB_ID_BYTES];
	uint32_t n = src->size_bytes < UINT32_MAX ? (uint32_t)src->size_bytes : UINT32_MAX;
	int r = dotnet_metadata_open_at(&pdb.metadata, src, 0, n);

	if (r == 0 && pdb.metadata.pdb.size_bytes < sizeof(found))
		r = -EBADMSG;
	if (r == 0)
		r = byte_source_read(src, pdb.metadata.pdb.offset, found, sizeof(found));
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	if (memcmp(found, id, sizeof(found)) != 0)
		return -ESTALE;
	*ret = pdb;
	return 0;
}

/* ---- compressed numbers ---- */

/* After the first error, all that is read is 0. */
struct blob {
	const struct byte_source *src;
	uint64_t at; /* in the source */
	uint64_t end;
	uint64_t chunk_at;
	size_t chunk_bytes;
	int error;
	uint8_t chunk[CHUNK_BYTES];
};

static int open_blob(struct blob *b, const struct portable_pdb *pdb, const struct byte_source *src,
		     uint32_t index)
{
	uint32_t n;
	int r = dotnet_metadata_blob(&pdb->metadata, src, index, &b->at, &n);

	b->src = src;
	b->chunk_bytes = 0;
	b->error = r;
	b->end = r == 0 ? b->at + n : b->at;
	return r;
}

static uint8_t next_byte(struct blob *b)
{
	if (b->error < 0)
		return 0;
	if (b->at >= b->end) {
		b->error = -EBADMSG;
		return 0;
	}
	if (b->chunk_bytes == 0 || b->at - b->chunk_at >= b->chunk_bytes) {
		b->chunk_at = b->at;
		b->chunk_bytes = b->end - b->at < CHUNK_BYTES ? b->end - b->at : CHUNK_BYTES;
		b->error = byte_source_read(b->src, b->at, b->chunk, b->chunk_bytes);
		if (b->error < 0)
			return 0;
	}
	return b->chunk[b->at++ - b->chunk_at];
}

/* Sets *ret_bits to how many bits of a number the form has: 7, 14 or 29. */
static uint32_t next_number(struct blob *b, unsigned *ret_bits)
{
	uint32_t n = next_byte(b);
	unsigned more = !(n & 0x80) ? 0 : !(n & 0x40) ? 1 : 3;

	n &= more == 0 ? 0x7f : more == 1 ? 0x3f : 0x1f;
	for (unsigned i = 0; i < more; i++)
		n = n << 8 | next_byte(b);
	*ret_bits = more == 0 ? 7 : more == 1 ? 14 : 29;
	return b->error < 0 ? 0 : n;
}

static uint32_t next_unsigned(struct blob *b)
{
	unsigned bits;

	return next_number(b, &bits);
}

/* Rotated: the lowest bit is the sign. */
static int32_t next_signed(struct blob *b)
{
	unsigned bits;
	uint32_t n = next_number(b, &bits), half = n >> 1;

	return n & 1 ? (int32_t)half - (int32_t)(UINT32_C(1) << (bits - 1)) : (int32_t)half;
}

/* ---- sequence points ---- */

struct place {
	uint32_t document; /* row; 0: none */
	int64_t line;
};

struct points {
	struct blob blob;
	uint32_t document;
	uint64_t il_offset;
	int64_t line;
	bool any;     /* that has an offset */
	bool visible; /* one that is not hidden */
};

/* Reads a record. Returns whether it is a visible point; its place is in *p then. */
static bool next_point(struct points *p)
{
	uint32_t delta = next_unsigned(&p->blob), lines;
	int32_t columns;

	if (delta == 0 && p->any) { /* another file follows */
		p->document = next_unsigned(&p->blob);
		return false;
	}
	p->any = true;
	p->il_offset += delta;
	lines = next_unsigned(&p->blob);
	columns = lines == 0 ? (int32_t)next_unsigned(&p->blob) : next_signed(&p->blob);
	if (lines == 0 && columns == 0)
		return false;
	if (p->visible) {
		p->line += next_signed(&p->blob);
		(void)next_signed(&p->blob);
	} else {
		p->line = next_unsigned(&p->blob);
		(void)next_unsigned(&p->blob);
	}
	p->visible = true;
	return true;
}

/* The place of the last point at the offset or before, or the first one. */
static int find_point(struct points *p, uint32_t il_offset, struct place *ret)
{
	bool found = false;

	while (p->blob.error == 0 && p->blob.at < p->blob.end) {
		bool visible = next_point(p);

		if (p->blob.error < 0 || (found && p->il_offset > il_offset))
			break;
		if (!visible)
			continue;
		if (p->line <= 0 || p->line > LINE_MAX)
			return -EBADMSG;
		*ret = (struct place){p->document, p->line};
		found = true;
	}
	if (p->blob.error < 0)
		return p->blob.error == -ENODATA ? -EBADMSG : p->blob.error;
	return found ? 0 : -ENOENT;
}

/* ---- documents ---- */

static size_t add_part(const struct portable_pdb *pdb, const struct byte_source *src,
		       uint32_t index, char *to, size_t cap)
{
	uint64_t at;
	uint32_t n;

	/* 0: an empty part, of the root or of a drive */
	if (index == 0 || dotnet_metadata_blob(&pdb->metadata, src, index, &at, &n) < 0)
		return 0;
	if (n > cap)
		n = (uint32_t)cap;
	return n > 0 && byte_source_read(src, at, to, n) == 0 ? n : 0;
}

static int read_document(const struct portable_pdb *pdb, const struct byte_source *src,
			 uint32_t row, char *to, size_t cap)
{
	struct blob b;
	uint32_t name;
	size_t len = 0;
	uint8_t separator;
	int r = dotnet_metadata_row(&pdb->metadata, src, DOTNET_DOCUMENT, row, &name, 1);

	if (r == 0)
		r = open_blob(&b, pdb, src, name);
	if (r < 0)
		return r == -ENOENT || r == -ENODATA ? -EBADMSG : r;
	separator = next_byte(&b);
	for (unsigned i = 0; i < PARTS_MAX && b.error == 0 && b.at < b.end && len < cap - 1; i++) {
		uint32_t part = next_unsigned(&b);

		if (i > 0 && separator != 0)
			to[len++] = (char)separator;
		len += add_part(pdb, src, part, to + len, cap - 1 - len);
	}
	if (b.error < 0)
		return b.error;
	to[utf8_make_printable(to, len)] = '\0';
	return to[0] ? 0 : -ENOENT;
}

int portable_pdb_find(const struct portable_pdb *pdb, const struct byte_source *src,
		      uint32_t method, uint32_t il_offset, struct pdb_line *ret)
{
	struct place place = {0, 0};
	uint32_t columns[2];
	struct points p;
	int r = dotnet_metadata_row(&pdb->metadata, src, DOTNET_METHOD_DEBUG, method, columns, 2);

	if (r < 0)
		return r;
	if (columns[1] == 0)
		return -ENOENT;
	p.document = columns[0];
	p.il_offset = 0;
	p.line = 0;
	p.any = p.visible = false;
	r = open_blob(&p.blob, pdb, src, columns[1]);
	if (r == 0 && p.blob.end - p.blob.at > POINTS_MAX_BYTES)
		r = -EBADMSG;
	if (r < 0)
		return r;
	(void)next_unsigned(&p.blob); /* the local variables' signature */
	if (p.document == 0)
		p.document = next_unsigned(&p.blob);
	r = find_point(&p, il_offset, &place);
	if (r == 0)
		r = read_document(pdb, src, place.document, ret->file, sizeof(ret->file));
	if (r == 0)
		ret->line = (uint32_t)place.line;
	return r;
}
