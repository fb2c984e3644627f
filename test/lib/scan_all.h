/* Processes as a process table would report them, for struct runtime_processes. */
#ifndef TEST_LIB_SCAN_ALL_H
#define TEST_LIB_SCAN_ALL_H

#include "node-agent/runtime/runtime_processes.h"

/*
 * Reports all processes of root_fd as changed, and those of the last call that are missing as
 * exited, then scans. One ps at a time. Returns as runtime_processes_scan(), or -errno.
 */
int scan_all(struct runtime_processes *ps, int root_fd, uint64_t now_ns);

#endif /* TEST_LIB_SCAN_ALL_H */
