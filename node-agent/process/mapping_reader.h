/*
 * The executable mappings of a process, from its /proc folder. Loop thread only.
 */
#ifndef NODE_AGENT_PROCESS_MAPPING_READER_H
#define NODE_AGENT_PROCESS_MAPPING_READER_H

#include "common/base.h"
#include "node-agent/process/process_snapshot.h"

struct file_registry;

#define PROCESS_MAX_MAPPINGS 16384 /* executable ones; JIT compilers make some thousands */
#define PROCESS_MAX_MAPS_BYTES ((size_t)64 * 1024 * 1024) /* some 700,000 lines: half a second */

/* What was known before, so that not all has to be read. */
struct known_mappings {
	const struct process_snapshot *snapshot; /* of the same process; NULL: nothing */
	const uint64_t *addrs;                   /* of code, that should be in the mappings */
	size_t n_addrs;
};

struct mappings_reading {
	bool cut;   /* mappings beyond a limit are missing */
	bool asked; /* not all were read, but known ones and addresses were asked about */
};

/*
 * Adds the mappings to s, which has none, and counts those of any kind. A process whose mappings
 * cannot be read gets none. Returns 0 or -ENOMEM.
 */
int mapping_reader_read(struct process_snapshot *s, struct file_registry *files, int proc_fd,
			const struct known_mappings *known,
			struct mappings_reading *ret) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_MAPPING_READER_H */
