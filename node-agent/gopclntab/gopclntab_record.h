/*
 * The record of one function in .gopclntab, and its tables of values by address. Pure.
 *
 * Facts are those of the Go runtime (struct _func in runtime/runtime2.go, pcvalue in
 * runtime/symtab.go): a table is delta-encoded, so a value is found by reading it from its start.
 */
#ifndef NODE_AGENT_GOPCLNTAB_GOPCLNTAB_RECORD_H
#define NODE_AGENT_GOPCLNTAB_GOPCLNTAB_RECORD_H

#include "common/base.h"
#include "node-agent/gopclntab/gopclntab.h"

#define GOPCLNTAB_RECORD_MAX_BYTES 48u

/* Offsets of the fields of a record. */
struct gopclntab_format {
	uint8_t sizes;    /* offset of the table of frame sizes, */
	uint8_t files;    /* of file numbers, */
	uint8_t lines;    /* and of lines */
	uint8_t n_tables; /* count of further tables of values */
	uint8_t unit;     /* index of the compilation unit's first file; 0: there is none */
	uint8_t id;       /* funcID: marks functions that the runtime treats specially */
	uint8_t flags;    /* 0: there are none */
	uint8_t n_data;   /* count of pointers to other data */
	uint8_t size_bytes;
	uint8_t inl_tree;        /* which of these pointers is the inline tree */
	uint8_t data_bytes;      /* size of such a pointer */
	uint8_t tree_node_bytes; /* size of a node of the tree; its fields: */
	uint8_t tree_id;
	uint8_t tree_name;
	uint8_t tree_caller;
	uint8_t start_line;      /* of the record; 0: there is none */
	uint8_t tree_start_line; /* of a node, likewise */
};

/* One function of one table. */
struct gopclntab_record {
	const struct gopclntab *table; /* borrowed, as is src */
	const struct byte_source *src;
	const struct gopclntab_format *format;
	struct gopclntab_function function;
	uint8_t bytes[GOPCLNTAB_RECORD_MAX_BYTES];
};

/*
 * Reads the record of the function that contains address. Returns 0, -ENOENT if there is none, or
 * -ENODATA, -EIO and others if it cannot be read.
 */
int gopclntab_record_find(struct gopclntab_record *ret, const struct gopclntab *t,
			  const struct byte_source *src, uint64_t address) MUST_CHECK;

/* The same for the function with this index. */
int gopclntab_record_at(struct gopclntab_record *ret, const struct gopclntab *t,
			const struct byte_source *src, uint64_t index) MUST_CHECK;

const struct gopclntab_format *gopclntab_format_of(const struct gopclntab *t);

/* The number at an offset of the record. */
uint32_t gopclntab_record_field(const struct gopclntab_record *r, size_t offset);

/*
 * Stores the value that the table at this offset has for an address, or -1 if it has none.
 * Returns 0, -ENOENT if the table is broken, or an error as above.
 */
int gopclntab_record_value(const struct gopclntab_record *r, uint32_t offset, uint64_t address,
			   int32_t *ret) MUST_CHECK;

/*
 * Calls fn for each value of the table at this offset, in the order of addresses, until fn does not
 * return 0, which is then returned. Otherwise returns 0 or an error as above.
 */
typedef int gopclntab_run_fn(void *ctx, uint64_t start, uint64_t end, int32_t value);
int gopclntab_record_runs(const struct gopclntab_record *r, uint32_t offset, gopclntab_run_fn *fn,
			  void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_GOPCLNTAB_GOPCLNTAB_RECORD_H */
