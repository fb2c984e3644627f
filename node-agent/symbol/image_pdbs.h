/*
 * The PDBs of assemblies of .NET whose code was compiled ahead of time: up to IMAGE_PDBS_MAX are
 * open, from when an address needs one until the end of the cycle.
 */
#ifndef NODE_AGENT_SYMBOL_IMAGE_PDBS_H
#define NODE_AGENT_SYMBOL_IMAGE_PDBS_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/dotnet/portable_pdb.h"

#define IMAGE_PDBS_MAX 8u
#define IMAGE_PDB_BYTES ((size_t)1024 * 1024) /* of one that is embedded, inflated */

struct deadline_caller;
struct image_pdbs;

/* An assembly as a process has mapped it. All is borrowed. */
struct image_use {
	uint32_t number; /* of the object */
	const char *path;
	pid_t pid; /* 0: unknown */
	uint64_t start_time;
	const struct pe_image *pe;
	const struct byte_source *src;
};

/* proc_root and caller are borrowed. Returns 0 or -ENOMEM. */
int image_pdbs_new(struct image_pdbs **ret, const char *proc_root,
		   struct deadline_caller *caller) MUST_CHECK;
void image_pdbs_free(struct image_pdbs *p);

/*
 * The line of a method at an offset. Returns 0, -ENOENT if it has none, or an error of
 * pdb_file_open(); *ret_absent: the assembly has no PDB, and will have none.
 */
int image_pdbs_find(struct image_pdbs *p, const struct image_use *use, uint32_t method,
		    uint32_t il_offset, struct pdb_line *ret, bool *ret_absent) MUST_CHECK;

void image_pdbs_end_cycle(struct image_pdbs *p);

#endif /* NODE_AGENT_SYMBOL_IMAGE_PDBS_H */
