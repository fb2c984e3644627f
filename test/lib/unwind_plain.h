/* What walks read, in plain memory instead of maps, and a reader of it. */
#ifndef TEST_LIB_UNWIND_PLAIN_H
#define TEST_LIB_UNWIND_PLAIN_H

#include "node-agent/unwind/unwind_memory.h"

#define UNWIND_PLAIN_PROCESSES 64
#define UNWIND_PLAIN_FILES 256

struct unwind_plain {
	struct unwind_memory memory;
	struct unwind_table tables[UNWIND_TABLES];
	uint64_t used[UNWIND_TABLES];
	uint8_t *slabs[UNWIND_SLABS];
	unsigned max_processes; /* fewer than UNWIND_PLAIN_PROCESSES: to test a full map */
	struct {
		pid_t pid; /* 0: free */
		struct unwind_ref ref;
	} processes[UNWIND_PLAIN_PROCESSES];
	struct {
		struct event_file key;
		struct unwind_file file;
	} files[UNWIND_PLAIN_FILES];
	unsigned n_files;
};

void unwind_plain_init(struct unwind_plain *p);

/* The file with this key, or NULL. */
const struct unwind_file *unwind_plain_file(const struct unwind_plain *p,
					    const struct event_file *key);

/* The record of a process, or NULL. */
const struct unwind_process *unwind_plain_process(const struct unwind_plain *p, pid_t pid);

/* The mapping of the process with this address, or NULL. */
const struct unwind_mapping *unwind_plain_mapping(const struct unwind_plain *p, pid_t pid,
						  uint64_t address);

/* The rule for an address, searched as simply as can be, or NULL if there is no built table. */
const struct unwind_rule *unwind_plain_rule(const struct unwind_plain *p, pid_t pid,
					    uint64_t address);

#endif /* TEST_LIB_UNWIND_PLAIN_H */
