/*
 * The tables have no fixed layout: an index is of two bytes if the largest that could be there
 * fits, else of four. So all row counts are read first, then the size of each table's rows follows
 * from the kinds of its columns, and where a table is from the sizes of those before it.
 *
 * Nothing of a table is kept. System.Private.CoreLib has 38,637 methods in 3 MB of metadata, and a
 * profile asks for some hundreds.
 */
#include "node-agent/dotnet/dotnet_metadata.h"

#include <errno.h>

#define KNOWN_TABLES 0x32u /* those of debug information are from 0x30 on */
#define COLUMNS_MAX 9u
#define ROW_MAX_BYTES 48u
#define STREAMS_MAX 16u
#define STREAM_NAME_BYTES 32u
#define VERSION_MAX_BYTES 255u
#define ROOT_SIGNATURE UINT32_C(0x424a5342) /* "BSJB" */
#define ROWS_MAX UINT32_C(0xffffff)         /* a token has three bytes for one */
#define HEAP_SIZES_EXTRA 0x40u

/* Kinds of columns; INDEX(t) is a row of table t. */
enum column {
	COLUMN_NONE,
	COLUMN_2,
	COLUMN_4,
	COLUMN_STRING,
	COLUMN_GUID,
	COLUMN_BLOB,
	CODED_TYPE_DEF_OR_REF,
	CODED_HAS_CONSTANT,
	CODED_HAS_ATTRIBUTE,
	CODED_HAS_MARSHAL,
	CODED_HAS_SECURITY,
	CODED_MEMBER_PARENT,
	CODED_HAS_SEMANTICS,
	CODED_METHOD_DEF_OR_REF,
	CODED_FORWARDED,
	CODED_IMPLEMENTATION,
	CODED_ATTRIBUTE_TYPE,
	CODED_RESOLUTION_SCOPE,
	CODED_TYPE_OR_METHOD,
	CODED_END,
	COLUMN_INDEX = 0x80,
};

#define INDEX(table) (COLUMN_INDEX + (table))
#define CODED_TABLES_MAX 22u

/* How many low bits say which table, and the tables. */
static const struct {
	uint8_t bits, n;
	uint8_t tables[CODED_TABLES_MAX];
} coded[CODED_END] = {
	[CODED_TYPE_DEF_OR_REF] = {2, 3, {0x02, 0x01, 0x1b}},
	[CODED_HAS_CONSTANT] = {2, 3, {0x04, 0x08, 0x17}},
	[CODED_HAS_ATTRIBUTE] = {5, 22, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00,
					 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23,
					 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b}},
	[CODED_HAS_MARSHAL] = {1, 2, {0x04, 0x08}},
	[CODED_HAS_SECURITY] = {2, 3, {0x02, 0x06, 0x20}},
	[CODED_MEMBER_PARENT] = {3, 5, {0x02, 0x01, 0x1a, 0x06, 0x1b}},
	[CODED_HAS_SEMANTICS] = {1, 2, {0x14, 0x17}},
	[CODED_METHOD_DEF_OR_REF] = {1, 2, {0x06, 0x0a}},
	[CODED_FORWARDED] = {1, 2, {0x04, 0x06}},
	[CODED_IMPLEMENTATION] = {2, 3, {0x26, 0x23, 0x27}},
	[CODED_ATTRIBUTE_TYPE] = {3, 2, {0x06, 0x0a}},
	[CODED_RESOLUTION_SCOPE] = {2, 4, {0x00, 0x1a, 0x23, 0x01}},
	[CODED_TYPE_OR_METHOD] = {1, 2, {0x02, 0x06}},
};

static const uint8_t schemas[KNOWN_TABLES][COLUMNS_MAX] = {
	[0x00] = {COLUMN_2, COLUMN_STRING, COLUMN_GUID, COLUMN_GUID, COLUMN_GUID},
	[0x01] = {CODED_RESOLUTION_SCOPE, COLUMN_STRING, COLUMN_STRING},
	[0x02] = {COLUMN_4, COLUMN_STRING, COLUMN_STRING, CODED_TYPE_DEF_OR_REF, INDEX(0x04),
		  INDEX(0x06)},
	[0x03] = {INDEX(0x04)},
	[0x04] = {COLUMN_2, COLUMN_STRING, COLUMN_BLOB},
	[0x05] = {INDEX(0x06)},
	[0x06] = {COLUMN_4, COLUMN_2, COLUMN_2, COLUMN_STRING, COLUMN_BLOB, INDEX(0x08)},
	[0x07] = {INDEX(0x08)},
	[0x08] = {COLUMN_2, COLUMN_2, COLUMN_STRING},
	[0x09] = {INDEX(0x02), CODED_TYPE_DEF_OR_REF},
	[0x0a] = {CODED_MEMBER_PARENT, COLUMN_STRING, COLUMN_BLOB},
	[0x0b] = {COLUMN_2, CODED_HAS_CONSTANT, COLUMN_BLOB},
	[0x0c] = {CODED_HAS_ATTRIBUTE, CODED_ATTRIBUTE_TYPE, COLUMN_BLOB},
	[0x0d] = {CODED_HAS_MARSHAL, COLUMN_BLOB},
	[0x0e] = {COLUMN_2, CODED_HAS_SECURITY, COLUMN_BLOB},
	[0x0f] = {COLUMN_2, COLUMN_4, INDEX(0x02)},
	[0x10] = {COLUMN_4, INDEX(0x04)},
	[0x11] = {COLUMN_BLOB},
	[0x12] = {INDEX(0x02), INDEX(0x14)},
	[0x13] = {INDEX(0x14)},
	[0x14] = {COLUMN_2, COLUMN_STRING, CODED_TYPE_DEF_OR_REF},
	[0x15] = {INDEX(0x02), INDEX(0x17)},
	[0x16] = {INDEX(0x17)},
	[0x17] = {COLUMN_2, COLUMN_STRING, COLUMN_BLOB},
	[0x18] = {COLUMN_2, INDEX(0x06), CODED_HAS_SEMANTICS},
	[0x19] = {INDEX(0x02), CODED_METHOD_DEF_OR_REF, CODED_METHOD_DEF_OR_REF},
	[0x1a] = {COLUMN_STRING},
	[0x1b] = {COLUMN_BLOB},
	[0x1c] = {COLUMN_2, CODED_FORWARDED, COLUMN_STRING, INDEX(0x1a)},
	[0x1d] = {COLUMN_4, INDEX(0x04)},
	[0x1e] = {COLUMN_4, COLUMN_4},
	[0x1f] = {COLUMN_4},
	[0x20] = {COLUMN_4, COLUMN_2, COLUMN_2, COLUMN_2, COLUMN_2, COLUMN_4, COLUMN_BLOB,
		  COLUMN_STRING, COLUMN_STRING},
	[0x21] = {COLUMN_4},
	[0x22] = {COLUMN_4, COLUMN_4, COLUMN_4},
	[0x23] = {COLUMN_2, COLUMN_2, COLUMN_2, COLUMN_2, COLUMN_4, COLUMN_BLOB, COLUMN_STRING,
		  COLUMN_STRING, COLUMN_BLOB},
	[0x24] = {COLUMN_4, INDEX(0x23)},
	[0x25] = {COLUMN_4, COLUMN_4, COLUMN_4, INDEX(0x23)},
	[0x26] = {COLUMN_4, COLUMN_STRING, COLUMN_BLOB},
	[0x27] = {COLUMN_4, COLUMN_4, COLUMN_STRING, COLUMN_STRING, CODED_IMPLEMENTATION},
	[0x28] = {COLUMN_4, COLUMN_4, COLUMN_STRING, CODED_IMPLEMENTATION},
	[0x29] = {INDEX(0x02), INDEX(0x02)},
	[0x2a] = {COLUMN_2, COLUMN_2, CODED_TYPE_OR_METHOD, COLUMN_STRING},
	[0x2b] = {CODED_METHOD_DEF_OR_REF, COLUMN_BLOB},
	[0x2c] = {INDEX(0x2a), CODED_TYPE_DEF_OR_REF},
	[0x30] = {COLUMN_BLOB, COLUMN_GUID, COLUMN_BLOB, COLUMN_GUID},
	[0x31] = {INDEX(0x30), COLUMN_BLOB},
};

static uint32_t get_number(const uint8_t *p, unsigned bytes)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < bytes; i++)
		n |= (uint32_t)p[i] << (8 * i);
	return n;
}

static unsigned column_bytes(const struct dotnet_metadata *md, uint8_t column)
{
	uint32_t most = 0;

	if (column >= COLUMN_INDEX)
		return md->n_rows[column - COLUMN_INDEX] > UINT16_MAX ? 4 : 2;
	switch (column) {
	case COLUMN_2:
		return 2;
	case COLUMN_4:
		return 4;
	case COLUMN_STRING:
		return md->wide_heaps & 1 ? 4 : 2;
	case COLUMN_GUID:
		return md->wide_heaps & 2 ? 4 : 2;
	case COLUMN_BLOB:
		return md->wide_heaps & 4 ? 4 : 2;
	default:
		break;
	}
	for (unsigned i = 0; i < coded[column].n; i++) {
		if (md->n_rows[coded[column].tables[i]] > most)
			most = md->n_rows[coded[column].tables[i]];
	}
	return most >= UINT32_C(1) << (16 - coded[column].bits) ? 4 : 2;
}

/* Where each table is. heap is the stream "#~", of which header bytes are before the tables. */
static int place_tables(struct dotnet_metadata *md, const struct dotnet_heap *heap, uint64_t header)
{
	uint64_t at = header;

	for (unsigned t = 0; t < KNOWN_TABLES; t++) {
		unsigned bytes = 0;

		for (unsigned c = 0; c < COLUMNS_MAX && schemas[t][c] != COLUMN_NONE; c++)
			bytes += column_bytes(md, schemas[t][c]);
		md->row_bytes[t] = (uint8_t)bytes;
		md->table_offset[t] = heap->offset + at;
		at += (uint64_t)bytes * md->n_rows[t];
	}
	return at <= heap->size_bytes ? 0 : -EBADMSG;
}

static int read_tables(struct dotnet_metadata *md, const struct byte_source *src,
		       const struct dotnet_heap *heap)
{
	uint8_t head[24], raw[4 * DOTNET_TABLES];
	uint64_t present;
	unsigned n = 0;
	int r;

	if (heap->size_bytes < sizeof(head))
		return -EBADMSG;
	r = byte_source_read(src, heap->offset, head, sizeof(head));
	if (r < 0)
		return r;
	md->wide_heaps = head[6] & 7;
	present = get_number(head + 8, 4) | (uint64_t)get_number(head + 12, 4) << 32;
	n = (unsigned)__builtin_popcountll(present);
	if (heap->size_bytes < sizeof(head) + 4 * (uint64_t)n)
		return -EBADMSG;
	r = byte_source_read(src, heap->offset + sizeof(head), raw, 4 * (size_t)n);
	if (r < 0)
		return r;
	for (unsigned t = 0, i = 0; t < DOTNET_TABLES; t++) {
		if (!(present >> t & 1))
			continue;
		md->n_rows[t] = get_number(raw + 4 * (size_t)i++, 4);
		if (md->n_rows[t] > ROWS_MAX)
			return -EBADMSG;
	}
	return place_tables(md, heap,
			    sizeof(head) + 4 * (uint64_t)n + (head[6] & HEAP_SIZES_EXTRA ? 4 : 0));
}

/* Reads the header of a stream at *offset and moves that behind it. */
static int read_stream(const struct byte_source *src, uint64_t *offset, uint64_t end,
		       struct dotnet_heap *ret, char name[STREAM_NAME_BYTES + 1])
{
	uint8_t raw[8];
	int r = *offset + sizeof(raw) > end ? -EBADMSG
					    : byte_source_read(src, *offset, raw, sizeof(raw));

	if (r < 0)
		return r;
	*ret = (struct dotnet_heap){get_number(raw, 4), get_number(raw + 4, 4)};
	r = byte_source_read_string(src, *offset + sizeof(raw), end, name, STREAM_NAME_BYTES + 1);
	if (r < 0)
		return r == -ENAMETOOLONG ? -EBADMSG : r;
	*offset += sizeof(raw) + ((uint64_t)r / 4 + 1) * 4;
	return 0;
}

static int open_streams(struct dotnet_metadata *md, const struct byte_source *src, uint64_t start,
			uint64_t at, uint32_t size_bytes, unsigned n)
{
	struct dotnet_heap tables = {0, 0};

	for (unsigned i = 0; i < n; i++) {
		char name[STREAM_NAME_BYTES + 1];
		struct dotnet_heap h = {0, 0};
		int r = read_stream(src, &at, start + size_bytes, &h, name);

		if (r < 0)
			return r;
		if (h.offset > size_bytes || h.size_bytes > size_bytes - h.offset)
			return -EBADMSG;
		h.offset += start;
		if (strcmp(name, "#~") == 0)
			tables = h;
		else if (strcmp(name, "#Strings") == 0)
			md->strings = h;
		else if (strcmp(name, "#Blob") == 0)
			md->blobs = h;
		else if (strcmp(name, "#GUID") == 0)
			md->guids = h;
		else if (strcmp(name, "#Pdb") == 0)
			md->pdb = h;
	}
	return tables.size_bytes == 0 ? -ENOENT : read_tables(md, src, &tables);
}

int dotnet_metadata_open_at(struct dotnet_metadata *ret, const struct byte_source *src,
			    uint64_t offset, uint32_t size_bytes)
{
	struct dotnet_metadata md;
	uint8_t head[16], counts[4];
	uint32_t version_bytes;
	int r;

	memset(&md, 0, sizeof(md));
	if (size_bytes < sizeof(head) || offset > UINT64_MAX - size_bytes)
		return -EBADMSG;
	r = byte_source_read(src, offset, head, sizeof(head));
	if (r < 0)
		return r;
	version_bytes = get_number(head + 12, 4);
	if (get_number(head, 4) != ROOT_SIGNATURE || version_bytes > VERSION_MAX_BYTES)
		return -EBADMSG;
	version_bytes = (version_bytes + 3) & ~UINT32_C(3);
	if (size_bytes < sizeof(head) + version_bytes + sizeof(counts))
		return -EBADMSG;
	r = byte_source_read(src, offset + sizeof(head) + version_bytes, counts, sizeof(counts));
	if (r < 0)
		return r;
	if (get_number(counts + 2, 2) > STREAMS_MAX)
		return -EBADMSG;
	r = open_streams(&md, src, offset, offset + sizeof(head) + version_bytes + sizeof(counts),
			 size_bytes, get_number(counts + 2, 2));
	if (r < 0)
		return r;
	*ret = md;
	return 0;
}

int dotnet_metadata_open(struct dotnet_metadata *ret, const struct pe_image *pe,
			 const struct byte_source *src)
{
	uint64_t offset;

	if (pe->metadata.rva == 0)
		return -ENOENT;
	if (pe_image_offset(pe, pe->metadata.rva, pe->metadata.size_bytes, &offset) < 0)
		return -EBADMSG;
	return dotnet_metadata_open_at(ret, src, offset, pe->metadata.size_bytes);
}

int dotnet_metadata_row(const struct dotnet_metadata *md, const struct byte_source *src,
			enum dotnet_table table, uint32_t row, uint32_t *columns, unsigned n)
{
	uint8_t raw[ROW_MAX_BYTES];
	unsigned at = 0;
	int r;

	if ((unsigned)table >= KNOWN_TABLES || row == 0 || row > md->n_rows[table])
		return -ENOENT;
	r = byte_source_read(src,
			     md->table_offset[table] + (uint64_t)(row - 1) * md->row_bytes[table],
			     raw, md->row_bytes[table]);
	if (r < 0)
		return r;
	for (unsigned c = 0; c < n; c++) {
		uint8_t kind = c < COLUMNS_MAX ? schemas[table][c] : COLUMN_NONE;
		unsigned bytes = kind == COLUMN_NONE ? 0 : column_bytes(md, kind);

		columns[c] = get_number(raw + at, bytes);
		at += bytes;
	}
	return 0;
}

int dotnet_metadata_string(const struct dotnet_metadata *md, const struct byte_source *src,
			   uint32_t index, char *to, size_t cap)
{
	size_t n;
	int r;

	if (cap == 0 || index >= md->strings.size_bytes)
		return -EBADMSG;
	n = md->strings.size_bytes - index;
	if (n > cap - 1)
		n = cap - 1;
	r = byte_source_read(src, md->strings.offset + index, to, n);
	if (r < 0)
		return r;
	to[n] = '\0';
	return (int)strlen(to);
}

int dotnet_metadata_blob(const struct dotnet_metadata *md, const struct byte_source *src,
			 uint32_t index, uint64_t *ret_offset, uint32_t *ret_bytes)
{
	uint8_t raw[4] = {0};
	uint32_t left, n, bytes;
	int r;

	if (index >= md->blobs.size_bytes)
		return -EBADMSG;
	left = md->blobs.size_bytes - index;
	r = byte_source_read(src, md->blobs.offset + index, raw,
			     left < sizeof(raw) ? left : sizeof(raw));
	if (r < 0)
		return r;
	n = !(raw[0] & 0x80) ? 1 : !(raw[0] & 0x40) ? 2 : 4;
	bytes = n == 1   ? raw[0]
		: n == 2 ? (uint32_t)(raw[0] & 0x3f) << 8 | raw[1]
			 : (uint32_t)(raw[0] & 0x1f) << 24 | (uint32_t)raw[1] << 16 |
				   (uint32_t)raw[2] << 8 | raw[3];
	if (left < n || bytes > left - n)
		return -EBADMSG;
	*ret_offset = md->blobs.offset + index + n;
	*ret_bytes = bytes;
	return 0;
}

int dotnet_metadata_type_of_method(const struct dotnet_metadata *md, const struct byte_source *src,
				   uint32_t method, uint32_t *ret)
{
	uint32_t low = 0, high = md->n_rows[DOTNET_TYPE_DEF]; /* row low has it or one before */

	if (method == 0 || method > md->n_rows[DOTNET_METHOD_DEF])
		return -ENOENT;
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2, columns[6];
		int r = dotnet_metadata_row(md, src, DOTNET_TYPE_DEF, middle, columns, 6);

		if (r < 0)
			return r;
		if (columns[5] <= method)
			low = middle;
		else
			high = middle - 1;
	}
	*ret = low;
	return low > 0 ? 0 : -ENOENT;
}

int dotnet_metadata_find(const struct dotnet_metadata *md, const struct byte_source *src,
			 enum dotnet_table table, unsigned column, uint32_t value, uint32_t *ret)
{
	uint32_t low = 1, high = (unsigned)table < KNOWN_TABLES ? md->n_rows[table] + 1 : 1;
	uint32_t columns[COLUMNS_MAX];
	int r;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		r = dotnet_metadata_row(md, src, table, middle, columns, column + 1);
		if (r < 0)
			return r;
		if (columns[column] < value)
			low = middle + 1;
		else
			high = middle;
	}
	r = dotnet_metadata_row(md, src, table, low, columns, column + 1);
	if (r < 0)
		return r;
	if (columns[column] != value)
		return -ENOENT;
	*ret = low;
	return 0;
}

int dotnet_metadata_enclosing(const struct dotnet_metadata *md, const struct byte_source *src,
			      uint32_t type, uint32_t *ret)
{
	uint32_t row, columns[2];
	int r = dotnet_metadata_find(md, src, DOTNET_NESTED_CLASS, 0, type, &row);

	if (r == 0)
		r = dotnet_metadata_row(md, src, DOTNET_NESTED_CLASS, row, columns, 2);
	if (r == 0)
		*ret = columns[1];
	return r;
}
