/*
 * runtime.moduledata in the memory of a Go process: where its code and tables are. Pure.
 *
 * Found without symbols: the writable data has a structure whose words 20 to 23 (10 to 13
 * before 1.16) are bounds of code, one within the other, and whose first word points to a
 * pclntab. Relocations have been applied in memory, so position-independent programs are no
 * exception. Facts are those of runtime/symtab.go, 1.13 to 1.27.
 *
 * The table itself is read from the file where the same is there: then it is the same in all processes of the file, whatever one
 * of them has written into its memory. It is not there in a packed program, and before 1.18 not in a
 * position-independent one, as it has addresses that are relocated.
 */
#ifndef NODE_AGENT_GO_PCLNTAB_GO_MODULE_H
#define NODE_AGENT_GO_PCLNTAB_GO_MODULE_H

#include "common/base.h"
#include "node-agent/symbol/gopclntab.h"

#define GO_MODULE_SCAN_MAX_BYTES UINT64_C(67108864)
#define GO_MODULE_TRIES_MAX 16384u /* structures with such words that are looked at in a scan */

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
	uint64_t next;           /* address of the next module's: a plugin; 0: none */
	const struct byte_source
		*source; /* borrowed: has table, inline trees and code at their addresses */
	bool in_file;    /* source is the file */
};

/* What is the same in all processes that run a file, unless one of them has changed it: addresses are without the bias. */
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
 * The structure at this address of the memory. file (NULL: none) has what of the file never changes, at the same
 * addresses. -ENOENT: there is none; -ENODATA, -EIO …: cannot be read.
 */
int go_module_parse(struct go_module *ret, const struct byte_source *memory,
		    const struct byte_source *file, uint64_t address, unsigned minor) MUST_CHECK;

/* The first one in this range. Results as above. */
int go_module_scan(struct go_module *ret, const struct byte_source *memory,
		   const struct byte_source *file, const struct go_range *range,
		   unsigned minor) MUST_CHECK;

static inline bool go_range_has(const struct go_range *r, uint64_t address)
{
	return address >= r->start && address < r->end;
}

#endif /* NODE_AGENT_GO_PCLNTAB_GO_MODULE_H */
