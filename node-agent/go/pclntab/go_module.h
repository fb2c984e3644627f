/*
 * Finds and reads runtime.moduledata in the memory of a Go process: the places of its code,
 * data and pclntab. Pure. Source: runtime/symtab.go, 1.13 to 1.27.
 */
#ifndef NODE_AGENT_GO_PCLNTAB_GO_MODULE_H
#define NODE_AGENT_GO_PCLNTAB_GO_MODULE_H

#include "common/base.h"
#include "node-agent/gopclntab/gopclntab.h"

#define GO_MODULE_SCAN_MAX_BYTES UINT64_C(67108864)
#define GO_MODULE_TRIES_MAX 16384u /* candidates that are parsed in a scan */

struct go_range {
	uint64_t start;
	uint64_t end; /* exclusive */
};

struct go_module {
	uint64_t address;        /* of the structure */
	struct gopclntab table;  /* offsets are addresses */
	struct go_range text;    /* runtime.text … runtime.etext */
	struct go_range data[4]; /* noptrdata, data, bss, noptrbss */
	uint64_t gofunc;         /* 0 before 1.18 */
	uint64_t next;           /* address of the next module, a plugin; 0 if there is none */
	bool in_file;            /* source is the file */
	const struct byte_source *source; /* borrowed; has the table, inline trees and code */
};

/*
 * What is equal in all processes that run a file unless one of them has tampered with it.
 * Addresses are without the load bias.
 */
struct go_module_shape {
	uint64_t in_file;
	uint64_t table;
	uint64_t table_bytes;
	uint64_t text_start; /* of the table */
	uint64_t gofunc;
	struct go_range text;
	struct go_range data[4];
};

struct go_module_shape go_module_shape(const struct go_module *m, uint64_t bias);

/*
 * Parses the structure at this address of the memory. `file` has the constant parts of the
 * file at the same addresses, or is NULL. Returns 0, -ENOENT if there is no such structure,
 * -ENOMEM, or -ENODATA, -EIO … if it cannot be read.
 */
int go_module_parse(struct go_module *ret, const struct byte_source *memory,
		    const struct byte_source *file, uint64_t address, unsigned minor) MUST_CHECK;

/* Finds the first one in this range. Returns the same as above. */
int go_module_scan(struct go_module *ret, const struct byte_source *memory,
		   const struct byte_source *file, const struct go_range *range,
		   unsigned minor) MUST_CHECK;

/* Whether len bytes at this address lie in the module's writable data. */
bool go_module_has_data(const struct go_module *m, uint64_t address, size_t len);

static inline bool go_range_has(const struct go_range *r, uint64_t address)
{
	return address >= r->start && address < r->end;
}

#endif /* NODE_AGENT_GO_PCLNTAB_GO_MODULE_H */
