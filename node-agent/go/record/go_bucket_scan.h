/*
 * Where a list of records begins in a program whose names and symbols were taken away: the one variable
 * of its zeroed data that points to a record, which is known by its hash. Pure.
 */
#ifndef NODE_AGENT_GO_RECORD_GO_BUCKET_SCAN_H
#define NODE_AGENT_GO_RECORD_GO_BUCKET_SCAN_H

#include "common/base.h"
#include "node-agent/go/record/go_bucket.h"

/* Of zeroed data that is searched; reading it makes the process map it. */
#define GO_BUCKET_SCAN_MAX_BYTES UINT64_C(8388608)

/*
 * In the data of a module. 0; -ENOENT: none, or more than one; -EFBIG and others of
 * memory_windows_read().
 */
int go_bucket_scan(struct memory_windows *w, const struct go_module *module,
		   const struct go_bucket_format *format, uint64_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_RECORD_GO_BUCKET_SCAN_H */
