/*
 * What a HotSpot JVM publishes in its performance data file (hsperfdata, as read by jstat): the
 * few values that become metrics.
 *
 * Pure. The JVM changes the values while they are read, each of them atomically; only the table's
 * shape is constant once it is complete. Every offset is checked. Format 2.0, of JDK 1.5 to the
 * newest, in either byte order.
 */
#ifndef NODE_AGENT_JAVA_VM_HSPERFDATA_H
#define NODE_AGENT_JAVA_VM_HSPERFDATA_H

#include "common/base.h"

#define HSPERFDATA_MAX_BYTES ((size_t)1024 * 1024) /* -XX:PerfDataMemorySize is 32 KiB by default */
#define HSPERFDATA_ENTRIES_MAX 8192u               /* JVMs have some 250 */
#define HSPERFDATA_COLLECTORS_MAX 4u               /* JVMs have one to three */

struct hsperfdata_collector {
	char name[64];
	uint64_t time_ticks;
};

struct hsperfdata {
	char java_version[64]; /* "17.0.12"; "" if it is not published */
	char command[256];     /* main class or path of the jar, without arguments; "" likewise */
	bool is_initialized;   /* the start of the VM is complete */
	bool has_heap;
	bool has_safepoints;
	uint64_t heap_size_bytes; /* capacity of the young and old generation */
	uint64_t heap_used_bytes;
	uint64_t ticks_per_second; /* not 0 */
	uint64_t safepoint_ticks;  /* time at safepoints, since the start of the VM */
	uint64_t safepoint_sync_ticks;
	struct hsperfdata_collector collectors[HSPERFDATA_COLLECTORS_MAX];
	size_t n_collectors;
};

/*
 * Returns 0, -EAGAIN if the JVM is still filling the table, -ENOTSUP for another version of the
 * format, or -EBADMSG if it is corrupt.
 */
int hsperfdata_parse(const void *data, size_t len, struct hsperfdata *ret) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_VM_HSPERFDATA_H */
