/*
 * The separate debug file of an executable or library, for the call frame information that its own
 * file lacks: code compiled with -fno-asynchronous-unwind-tables has .debug_frame, which stripping
 * moves to the debug file.
 */
#ifndef NODE_AGENT_UNWIND_DEBUG_CFI_H
#define NODE_AGENT_UNWIND_DEBUG_CFI_H

#include "common/base.h"
#include "node-agent/elf/elf_layout.h"
#include "node-agent/files/debug_file.h"

/* Where to search; all borrowed for the call. */
struct debug_cfi_query {
	struct deadline_caller *caller;
	const char *proc_root;
	const char *path;    /* of the stripped file in the process's root */
	pid_t pid;           /* a process that uses it; 0: unknown */
	uint64_t start_time; /* of that process */
};

struct debug_cfi {
	struct debug_file file;
	struct elf_layout layout;
	struct byte_source src; /* of the file */
};

/*
 * Finds the debug file of the file with this layout. Returns 0, -ENOENT if there is none or it has
 * no .debug_frame, or another error of debug_file_open().
 */
int debug_cfi_open(struct debug_cfi **ret, const struct debug_cfi_query *q,
		   const struct elf_layout *layout, const struct byte_source *src) MUST_CHECK;
void debug_cfi_free(struct debug_cfi *d);
DEFINE_CLEANUP(struct debug_cfi *, debug_cfi_free);

#endif /* NODE_AGENT_UNWIND_DEBUG_CFI_H */
