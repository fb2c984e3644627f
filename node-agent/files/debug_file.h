/*
 * Finds the separate debug file of a stripped executable or library: symbols, DWARF, and call frame
 * information that distributions keep apart from what they install.
 *
 * It is searched for where debuggers do: /usr/lib/debug/.build-id/ab/cdef….debug, then by the name
 * in .gnu_debuglink below /usr/lib/debug, in .debug/ beside the file, and beside it; first in the
 * root of a process that uses the file, as its container has the packages that fit, then in the
 * host's and in the agent's own, there only below /usr/lib/debug; at last in the agent's cache of
 * debuginfod's client: $DEBUGINFOD_CACHE_PATH, $XDG_CACHE_HOME/debuginfod_client, or
 * ~/.cache/debuginfod_client.
 * Links are followed within these roots only. A file is accepted if it has the same build id or, if
 * the stripped one has none, the checksum of the link.
 *
 * A portable PDB of .NET is beside its assembly, and has the id that this one names (pdb_file.h).
 *
 * A package of split DWARF is the file beside another one that has its name and ".dwp". Its units
 * have the ids that the other file has, so that one of another build has nothing to say.
 */
#ifndef NODE_AGENT_FILES_DEBUG_FILE_H
#define NODE_AGENT_FILES_DEBUG_FILE_H

#include <sys/types.h>

#include "common/base.h"
#include "common/elf/elf_debug_link.h"
#include "node-agent/procfs/file_id.h"

struct deadline_caller;

/* Files larger than this are not read whole for their checksum. */
#define DEBUG_FILE_CRC_MAX_BYTES ((uint64_t)64 * 1024 * 1024)

struct debug_file_query {
	const char *proc_root;           /* "/proc" but in tests */
	pid_t pid;                       /* a process that uses the file; 0: only the host has it */
	uint64_t start_time;             /* of that process */
	const char *path;                /* of the stripped file in the process's root; borrowed */
	const struct elf_layout *layout; /* of the stripped file; borrowed; NULL with sibling */
	const struct elf_debug_link *link; /* NULL: it has none; borrowed */
	bool package; /* of split DWARF is wanted; the file at path need not be stripped */
	/*
	 * NULL, or the file in the same folder that has this name is wanted, whatever it has;
	 * that at path need not be ELF. The name has no slash; borrowed.
	 */
	const char *sibling;
};

struct debug_file {
	int fd; /* regular file, read-only; the caller closes it */
	bool may_hang;
	struct file_id id;
};

/*
 * Everything that could reach a file system runs with the caller's deadline. Returns 0; -ENOENT if
 * there is none; -ESRCH if the host has none and the process has exited, so that its root could not
 * be searched; -ETIMEDOUT or -EBUSY if a file system does not answer; -ENOMEM; or another -errno.
 */
int debug_file_open(struct deadline_caller *caller, const struct debug_file_query *query,
		    struct debug_file *ret) MUST_CHECK;

#endif /* NODE_AGENT_FILES_DEBUG_FILE_H */
