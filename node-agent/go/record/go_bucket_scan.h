/*
 * Finds the head of a record list in a program that has neither symbols nor function names:
 * it is the one variable in zero-initialised data that points to a record with a valid hash.
 * Pure.
 */
#ifndef NODE_AGENT_GO_RECORD_GO_BUCKET_SCAN_H
#define NODE_AGENT_GO_RECORD_GO_BUCKET_SCAN_H

#include "common/base.h"
#include "node-agent/go/record/go_bucket.h"

/*
 * Bytes searched per data range. Limited because reading untouched pages makes the process
 * map them.
 */
#define GO_BUCKET_SCAN_MAX_BYTES UINT64_C(8388608)

/*
 * Searches .bss and .noptrbss of a module. Returns 0, -ENOENT if no variable or more than one
 * points to a record, -ENOMEM, or an error of memory_windows_read() such as -EFBIG.
 */
int go_bucket_scan(struct memory_windows *w, const struct go_module *module,
		   const struct go_bucket_format *format, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_RECORD_GO_BUCKET_SCAN_H */
