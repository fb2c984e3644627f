/*
 * Which debug information an assembly has: the id of its portable PDB and what its file was called,
 * or where in the image it is embedded. Pure; all bytes are hostile.
 *
 * Source: docs/design/specs/PE-COFF.md of dotnet/runtime.
 */
#ifndef NODE_AGENT_DOTNET_PE_DEBUG_H
#define NODE_AGENT_DOTNET_PE_DEBUG_H

#include "common/base.h"
#include "node-agent/dotnet/pe_image.h"

#define PDB_ID_BYTES 20u /* a GUID and a stamp */
#define PDB_NAME_BYTES 256u

struct pe_debug {
	uint8_t id[PDB_ID_BYTES];
	char name[PDB_NAME_BYTES]; /* of the file, without its folder; "": too long */
	struct pe_range embedded;  /* the deflated bytes; rva 0: it is not in the image */
	uint32_t embedded_bytes;   /* inflated */
};

/*
 * Returns 0, -ENOENT if the image has no portable PDB, -EBADMSG if what it says is damaged, or an
 * error of byte_source_read().
 */
int pe_debug_read(struct pe_debug *ret, const struct pe_image *pe,
		  const struct byte_source *src) MUST_CHECK;

#endif /* NODE_AGENT_DOTNET_PE_DEBUG_H */
