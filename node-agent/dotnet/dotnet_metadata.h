/*
 * What an assembly of .NET says of its types and methods: the tables of the stream "#~". Nothing is
 * kept but where they are (1 KiB): rows are read when they are asked for. Pure; all bytes are
 * hostile.
 *
 * Source: ECMA-335 II.22 to II.24; for portable PDBs, docs/design/specs/PortablePdb-Metadata.md of
 * dotnet/runtime.
 */
#ifndef NODE_AGENT_DOTNET_DOTNET_METADATA_H
#define NODE_AGENT_DOTNET_DOTNET_METADATA_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "node-agent/dotnet/pe_image.h"

#define DOTNET_TABLES 64u

/* Numbers of tables; a token has it in its highest byte and the row, from 1 on, below. */
enum dotnet_table {
	DOTNET_MODULE = 0x00,
	DOTNET_TYPE_REF = 0x01,
	DOTNET_TYPE_DEF = 0x02,
	DOTNET_METHOD_DEF = 0x06,
	DOTNET_MEMBER_REF = 0x0a,
	DOTNET_MODULE_REF = 0x1a,
	DOTNET_TYPE_SPEC = 0x1b,
	DOTNET_ASSEMBLY = 0x20,
	DOTNET_ASSEMBLY_REF = 0x23,
	DOTNET_NESTED_CLASS = 0x29,
	DOTNET_GENERIC_PARAM = 0x2a,
	DOTNET_METHOD_SPEC = 0x2b,
	DOTNET_DOCUMENT = 0x30, /* of portable PDBs */
	DOTNET_METHOD_DEBUG = 0x31,
};

#define DOTNET_TOKEN(table, row) ((uint32_t)(table) << 24 | (row))

struct dotnet_heap {
	uint64_t offset; /* in the source */
	uint32_t size_bytes;
};

struct dotnet_metadata {
	struct dotnet_heap strings, blobs, guids;
	struct dotnet_heap pdb;               /* of a portable PDB; else size_bytes is 0 */
	uint64_t table_offset[DOTNET_TABLES]; /* in the source */
	uint32_t n_rows[DOTNET_TABLES];
	uint8_t row_bytes[DOTNET_TABLES];
	uint8_t wide_heaps; /* bit 0: strings, 1: GUIDs, 2: blobs have indices of four bytes */
};

/*
 * Finds the tables in the metadata of an image, or that lie at an offset of the source. Returns 0,
 * -ENOENT if there are none, -EBADMSG if they are damaged, or an error of byte_source_read(). The
 * source may be another one later if it has the same bytes.
 */
int dotnet_metadata_open(struct dotnet_metadata *ret, const struct pe_image *pe,
			 const struct byte_source *src) MUST_CHECK;
int dotnet_metadata_open_at(struct dotnet_metadata *ret, const struct byte_source *src,
			    uint64_t offset, uint32_t size_bytes) MUST_CHECK;

/*
 * Reads the columns of a row (from 1 on), at most n of them, in the order of the standard, indices
 * and coded indices as they are. Returns 0, -ENOENT if there is no such row, or as above.
 */
int dotnet_metadata_row(const struct dotnet_metadata *md, const struct byte_source *src,
			enum dotnet_table table, uint32_t row, uint32_t *columns,
			unsigned n) MUST_CHECK;

/* A string of the heap, cut to cap - 1 bytes. Returns its length, or an error as above. */
int dotnet_metadata_string(const struct dotnet_metadata *md, const struct byte_source *src,
			   uint32_t index, char *to, size_t cap) MUST_CHECK;

/*
 * A blob of the heap: its offset in the source and its length. Returns 0 or an error as above.
 */
int dotnet_metadata_blob(const struct dotnet_metadata *md, const struct byte_source *src,
			 uint32_t index, uint64_t *ret_offset, uint32_t *ret_bytes) MUST_CHECK;

/*
 * The first row whose column (below 9) has a value, in a table that is sorted by it. Returns 0,
 * -ENOENT if there is none, or as above.
 */
int dotnet_metadata_find(const struct dotnet_metadata *md, const struct byte_source *src,
			 enum dotnet_table table, unsigned column, uint32_t value,
			 uint32_t *ret) MUST_CHECK;

/* The TypeDef (row) that a MethodDef (row) belongs to. Returns 0, -ENOENT or as above. */
int dotnet_metadata_type_of_method(const struct dotnet_metadata *md, const struct byte_source *src,
				   uint32_t method, uint32_t *ret) MUST_CHECK;

/* The TypeDef in which a TypeDef is nested. Returns 0, -ENOENT if in none, or as above. */
int dotnet_metadata_enclosing(const struct dotnet_metadata *md, const struct byte_source *src,
			      uint32_t type, uint32_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_DOTNET_DOTNET_METADATA_H */
