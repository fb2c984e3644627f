/*
 * A portable PDB: which line of which file the instructions of each method of an assembly are of.
 * Nothing is kept but where its tables are (1 KiB). Pure; all bytes are hostile.
 *
 * Source: docs/design/specs/PortablePdb-Metadata.md of dotnet/runtime.
 */
#ifndef NODE_AGENT_DOTNET_PORTABLE_PDB_H
#define NODE_AGENT_DOTNET_PORTABLE_PDB_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "node-agent/dotnet/dotnet_metadata.h"
#include "node-agent/dotnet/pe_debug.h"

#define PDB_FILE_BYTES 1024u

struct portable_pdb {
	struct dotnet_metadata metadata;
};

/*
 * Finds the tables of the PDB that src has from its start on. Returns 0; -ESTALE if it is another
 * assembly's: its id is not this one; -ENOENT or -EBADMSG if it is none or damaged; or an error of
 * byte_source_read(). src may be another one later if it has the same bytes.
 */
int portable_pdb_open(struct portable_pdb *ret, const struct byte_source *src,
		      const uint8_t id[PDB_ID_BYTES]) MUST_CHECK;

struct pdb_line {
	uint32_t line;             /* from 1 on; 0: unknown */
	char file[PDB_FILE_BYTES]; /* as the compiler has called it, printable; cut */
};

/*
 * The line of the instruction at an offset of a method (row of MethodDef): where the last visible
 * sequence point at it or before says, otherwise the first one after it. Returns 0, -ENOENT if the
 * method has none, -EBADMSG, or an error of byte_source_read().
 */
int portable_pdb_find(const struct portable_pdb *pdb, const struct byte_source *src,
		      uint32_t method, uint32_t il_offset, struct pdb_line *ret) MUST_CHECK;

#endif /* NODE_AGENT_DOTNET_PORTABLE_PDB_H */
