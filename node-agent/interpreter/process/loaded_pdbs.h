/*
 * The PDBs of the assemblies that processes have loaded, opened when a frame needs them first: up
 * to LOADED_PDBS_MAX assemblies are known, and of LOADED_PDBS_OPEN_MAX the PDB is open. Those that
 * were used last stay.
 *
 * Used by one thread.
 */
#ifndef NODE_AGENT_INTERPRETER_PROCESS_LOADED_PDBS_H
#define NODE_AGENT_INTERPRETER_PROCESS_LOADED_PDBS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "common/thread/deadline_call.h"
#include "node-agent/interpreter/assembly_pdbs.h"
#include "node-agent/process/process_snapshot.h"

#define LOADED_PDBS_MAX 512u
#define LOADED_PDBS_OPEN_MAX 32u
#define LOADED_PDBS_BYTES ((size_t)4 * 1024 * 1024) /* of those that are embedded, inflated */

struct loaded_pdbs;

/* What came of looking for the PDB of an assembly. */
enum pdb_result {
	PDB_READ,
	PDB_NONE,
	PDB_OTHER_BUILD,
	PDB_DAMAGED,
	PDB_TOO_LARGE,
	PDB_UNREADABLE,
	PDB_RESULTS,
};

/*
 * proc_root is "/proc"; counts are by enum pdb_result, NULL: nothing is counted; all are borrowed.
 * Returns 0 or -ENOMEM.
 */
int loaded_pdbs_new(struct loaded_pdbs **ret, const char *proc_root, struct deadline_caller *caller,
		    struct metric *counts) MUST_CHECK;
void loaded_pdbs_free(struct loaded_pdbs *p);
DEFINE_CLEANUP(struct loaded_pdbs *, loaded_pdbs_free);

/* Those of this process. Borrowed, as s is, until the next call. */
struct assembly_pdbs *loaded_pdbs_of(struct loaded_pdbs *p, const struct process_snapshot *s);

#endif /* NODE_AGENT_INTERPRETER_PROCESS_LOADED_PDBS_H */
