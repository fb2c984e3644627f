/*
 * What the garbage collector and the allocator of one Go process count, read from its memory: exact, and whether its
 * memory profiler is on or not. It is not stopped, and nothing is written to it. Everything read is untrusted: a
 * variable that is not what the release says is not believed (gc_counters.h). One thread.
 */
#ifndef NODE_AGENT_GO_GC_GC_READER_H
#define NODE_AGENT_GO_GC_GC_READER_H

#include "common/base.h"
#include "node-agent/go/gc/gc_counters.h"
#include "node-agent/go/image/go_runtime.h"

/* What this release can tell, a bit per enum gc_counter; 0: it is not known. */
uint32_t gc_reader_of(const struct go_runtime *rt);

/*
 * -ENOTSUP: a release that is not known; -ENOENT: the variables cannot be found; -EBADMSG: they are not as they
 * should be, at this time; -ENOMEM; those of byte_source_read(). ret->known says what was read.
 */
int gc_reader_read(struct go_runtime *rt, struct gc_counters *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GC_GC_READER_H */
