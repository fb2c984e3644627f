/*
 * The portable PDB of an assembly that a process has loaded: the one that is embedded in the
 * assembly, otherwise the file beside it with the name and the id that the assembly gives.
 */
#ifndef NODE_AGENT_FILES_PDB_FILE_H
#define NODE_AGENT_FILES_PDB_FILE_H

#include <sys/types.h>

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "node-agent/dotnet/pe_debug.h"
#include "node-agent/dotnet/portable_pdb.h"

struct deadline_caller;

/* All zero: none is open, and pdb_file_fini() does nothing. */
struct pdb_file {
	struct portable_pdb pdb;
	struct byte_source src;
	uint8_t *bytes; /* of an embedded one, owned; NULL: it is a file */
	size_t n_bytes;
	int fd; /* owned, if has_fd */
	bool has_fd;
};

struct pdb_query {
	const char *proc_root; /* "/proc" but in tests */
	pid_t pid;             /* a process that has loaded the assembly; 0: only the host has it */
	uint64_t start_time;
	const char *path; /* of the assembly, or of another file in its folder; all are borrowed */
	const struct pe_image *pe;
	const struct byte_source *image; /* its bytes; borrowed, as pe is */
	const struct pe_debug *debug;    /* what the image says of its PDB; borrowed */
	size_t max_bytes;                /* of memory for an embedded one */
};

/*
 * Calls that may wait for a file system go by the caller, which is borrowed. Returns 0; -ENOENT if
 * there is no PDB; -ESTALE if the file there is another build's; -EFBIG if one is embedded that
 * needs more memory than it may; -EBADMSG if it is damaged; -ESRCH if the process has exited; or
 * -ETIMEDOUT, -EBUSY, -ENOMEM or another -errno.
 */
int pdb_file_open(struct pdb_file *ret, struct deadline_caller *caller,
		  const struct pdb_query *q) MUST_CHECK;
void pdb_file_fini(struct pdb_file *f);

#endif /* NODE_AGENT_FILES_PDB_FILE_H */
