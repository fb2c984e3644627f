/*
 * What .gopclntab has about one function, and the tables of values by address that belong to
 * it. Pure.
 *
 * Facts are those of the Go runtime (struct _func in runtime/runtime2.go, pcvalue in
 * runtime/symtab.go): a table is delta-encoded, so a value is found by reading it from its start.
 */
#ifndef NODE_AGENT_SYMBOL_GOPCLNTAB_RECORD_H
#define NODE_AGENT_SYMBOL_GOPCLNTAB_RECORD_H

#include "common/base.h"
#include "node-agent/symbol/gopclntab.h"

#define GOPCLNTAB_RECORD_MAX_BYTES 48u

/* Where the fields of a record are. */
struct gopclntab_format {
	uint8_t sizes;    /* offsets of the tables of values: size of the frame, */
	uint8_t files;    /* number of the file … */
	uint8_t lines;    /* … and of the line */
	uint8_t n_tables; /* count of further tables of values */
	uint8_t unit;     /* index of the compilation unit's first file; 0: there is none */
	uint8_t id;       /* of functions that the runtime treats specially */
	uint8_t flags;    /* 0: there are none */
	uint8_t n_data;   /* count of pointers to other data */
	uint8_t size_bytes;
	uint8_t inl_tree;        /* which of these pointers is the inline tree */
	uint8_t data_bytes;      /* of such a pointer */
	uint8_t tree_node_bytes; /* and the fields of a node of the tree: */
	uint8_t tree_id;
	uint8_t tree_name;
	uint8_t tree_caller;
};

/* One function of one table. */
struct gopclntab_record {
	const struct gopclntab *table; /* borrowed, as is src */
	const struct byte_source *src;
	const struct gopclntab_format *format;
	struct gopclntab_function function;
	uint8_t bytes[GOPCLNTAB_RECORD_MAX_BYTES];
};

/* That of the function that has address. 0; -ENOENT: none; -ENODATA, -EIO …: cannot be read. */
int gopclntab_record_find(struct gopclntab_record *ret, const struct gopclntab *t,
			  const struct byte_source *src, uint64_t address) MUST_CHECK;

/* The number at an offset of the record. */
uint32_t gopclntab_record_field(const struct gopclntab_record *r, size_t offset);

/*
 * The value that the table at this offset has for an address; -1 where it has none. 0; -ENOENT: the table is
 * broken; else as above.
 */
int gopclntab_record_value(const struct gopclntab_record *r, uint32_t offset, uint64_t address,
			   int32_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_GOPCLNTAB_RECORD_H */
