/*
 * The performance data of a HotSpot JVM, read from its memory.
 *
 * A JVM also has a file for it, /tmp/hsperfdata_<user>/<pid>, which is what jstat reads. Many have
 * none: in containers whose user has no name or whose /tmp is read-only, and with
 * -XX:+PerfDisableSharedMem, which is common because a write to a mapped file can stop a JVM. Its
 * memory always has the same data, unless -XX:-UsePerfData is given. And there is no file that
 * somebody could have replaced. Pure: see vm_structs.h.
 */
#ifndef NODE_AGENT_JAVA_VM_PERF_MEMORY_H
#define NODE_AGENT_JAVA_VM_PERF_MEMORY_H

#include "common/base.h"
#include "node-agent/hotspot/vm_structs.h"
#include "node-agent/java/vm/hsperfdata.h"

/*
 * Returns 0, -ENOENT if the JVM has no such data (-XX:-UsePerfData, or not yet), -EFBIG beyond
 * HSPERFDATA_MAX_BYTES, or an error of vm_structs_find() or hsperfdata_parse().
 */
int perf_memory_read(const struct byte_source *memory, const struct vm_variables *variables,
		     struct hsperfdata *ret) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_VM_PERF_MEMORY_H */
