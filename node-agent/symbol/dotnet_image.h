/*
 * An assembly of .NET that a process has mapped, and the names of its compiled methods
 * (node-agent/dotnet/).
 */
#ifndef NODE_AGENT_SYMBOL_DOTNET_IMAGE_H
#define NODE_AGENT_SYMBOL_DOTNET_IMAGE_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "node-agent/dotnet/dotnet_metadata.h"
#include "node-agent/dotnet/dotnet_names.h"
#include "node-agent/dotnet/pe_image.h"
#include "node-agent/dotnet/ready_to_run.h"
#include "node-agent/procfs/file_id.h"
#include "node-agent/symbol/image_pdbs.h"
#include "node-agent/symbol/table_cache.h"

struct dotnet_image {
	struct pe_image pe;
	struct dotnet_metadata metadata;
	struct ready_to_run code;
	struct table_key key; /* of the table of its methods */
	int status;           /* of its compiled code: 0, or as ready_to_run_open() */
	bool no_pdb;          /* it has none; no further try */
};

/*
 * Reads what a file has. Returns 0, also if no method of it can be named; -ENOEXEC if that is no
 * assembly; -ENOMEM; or an error of byte_source_read().
 */
int dotnet_image_open(struct dotnet_image **ret, const struct file_id *id,
		      const struct byte_source *src) MUST_CHECK;
void dotnet_image_free(struct dotnet_image *i);

/* Where names come from, and room for one. */
struct dotnet_image_names {
	struct table_cache *tables; /* borrowed */
	size_t table_max_bytes;     /* of one */
	struct image_pdbs *pdbs;    /* borrowed */
	struct image_use use; /* who has mapped the assembly; set by the caller but for the image */
	uint32_t start;       /* RVA of the code; if that is not known, of what was asked for */
	char name[DOTNET_NAME_BYTES];
	struct pdb_line at; /* line 0: unknown, as is the file then */
};

/*
 * Stores the name of the method whose code is at an RVA, and the line. Returns 0; -ENOENT if there
 * is none; -ENOTSUP if it is where no names are read from: in a composite image, or another
 * assembly's; or another error of ready_to_run.h. The name is undefined then.
 */
int dotnet_image_find(struct dotnet_image_names *n, struct dotnet_image *i,
		      const struct byte_source *src, uint32_t rva) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_DOTNET_IMAGE_H */
