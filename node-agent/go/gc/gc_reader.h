/*
 * Reads the counters of the allocator and garbage collector of one Go process from its
 * memory. They are exact, unlike the memory profiler's samples, and there whether that
 * profiler is on or off. The process is not stopped, and nothing is written to it. Everything
 * read is untrusted: a variable whose content is implausible for the release is rejected
 * (gc_counters.h). For one thread.
 */
#ifndef NODE_AGENT_GO_GC_GC_READER_H
#define NODE_AGENT_GO_GC_GC_READER_H

#include "common/base.h"
#include "node-agent/go/gc/gc_counters.h"
#include "node-agent/go/image/go_runtime.h"

/* The counters that this release has: a bit per enum gc_counter. 0 if the release is unknown. */
uint32_t gc_reader_of(const struct go_runtime *rt);

/*
 * Returns 0, -ENOTSUP if the release is unknown, -ENOENT if a variable cannot be found,
 * -EBADMSG if its content is implausible at this time, -ENOMEM, or an error of
 * byte_source_read(). ret->known says which counters were read.
 */
int gc_reader_read(struct go_runtime *rt, struct gc_counters *ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_GC_GC_READER_H */
