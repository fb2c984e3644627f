/* The test's own process as the node agent would see it: real mappings, real files. */
#ifndef TEST_LIB_OWN_PROCESS_H
#define TEST_LIB_OWN_PROCESS_H

#include "node-agent/files/jit_files.h"
#include "node-agent/process/process_table.h"

#define OWN_PROCESS_COMM "own-process"

/* Returns a reference that the caller owns. Fails the test if there is no snapshot. */
struct process_snapshot *own_process_snapshot(struct process_table *t);

/* Its files of generated code: a perf map with this text, deleted. The caller owns a reference. */
struct jit_files *own_jit_files(const char *map);

#endif /* TEST_LIB_OWN_PROCESS_H */
