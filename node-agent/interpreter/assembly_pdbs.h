/* The PDBs of the assemblies of .NET that the process has loaded whose memory is read. */
#ifndef NODE_AGENT_INTERPRETER_ASSEMBLY_PDBS_H
#define NODE_AGENT_INTERPRETER_ASSEMBLY_PDBS_H

#include "common/base.h"
#include "node-agent/dotnet/pe_debug.h"
#include "node-agent/dotnet/portable_pdb.h"

/* An assembly, where its image lies in the memory of the process. */
struct loaded_assembly {
	uint64_t base;
	const struct pe_image *pe;
	const struct byte_source *image;
	const struct pe_debug *debug;
};

struct assembly_pdb {
	const struct portable_pdb *pdb;
	const struct byte_source *src; /* its bytes */
};

struct assembly_pdbs {
	/* *ret is borrowed until the next call. Returns 0, or a negative errno: there is none. */
	int (*find)(struct assembly_pdbs *p, const struct loaded_assembly *a,
		    struct assembly_pdb *ret);
};

#endif /* NODE_AGENT_INTERPRETER_ASSEMBLY_PDBS_H */
