/*
 * The flags of a running HotSpot JVM (-XX:…), read from its memory: exact, wherever they were set
 * (command line, JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, @argfiles, a flags file, ergonomics, jcmd).
 *
 * Pure: see vm_structs.h.
 */
#ifndef NODE_AGENT_JAVA_VM_JVM_FLAGS_H
#define NODE_AGENT_JAVA_VM_JVM_FLAGS_H

#include "common/base.h"
#include "node-agent/hotspot/vm_structs.h"

#define JVM_FLAGS_TABLE_MAX 8192u /* JDK 8 to 25 have below 2,000 */
#define JVM_RELEASE_BYTES 64u     /* of "17.0.12+7-Debian-2deb12u1", with its NUL */

enum jvm_flag {
	JVM_FLAG_DISABLE_ATTACH_MECHANISM,
	JVM_FLAG_ENABLE_DYNAMIC_AGENT_LOADING, /* since JDK 9 */
	JVM_FLAG_REDUCE_SIGNAL_USAGE,          /* -Xrs */
	JVM_FLAG_PRESERVE_FRAME_POINTER,
	JVM_FLAG_USE_PERF_DATA,
	JVM_FLAG_PERF_DISABLE_SHARED_MEM,
	JVM_FLAGS_MAX,
};

struct jvm_flags {
	uint32_t known; /* a bit for each enum jvm_flag that this JVM has */
	uint32_t on;    /* likewise, of those that are true */
	/*
	 * JDK 21 and later write a warning to standard error when an agent is loaded into them for
	 * the first time, unless EnableDynamicAgentLoading was given on the command line.
	 * async-profiler prevents that by itself, but only if the flag has its default. So this is
	 * true if it was set in another way: by JAVA_TOOL_OPTIONS, say, or a file of flags.
	 */
	bool agent_loading_warns;
	/* what says so: an aligned word of the JVM's memory that lacks this one bit */
	uint32_t agent_loading_word;
	uint32_t agent_loading_bit;
	uint64_t agent_loading_at;
	unsigned feature;                /* 8, 11, 17 …: 0 if unknown */
	char release[JVM_RELEASE_BYTES]; /* of the VM; "" if unknown */
};

/*
 * Returns 0, or an error of vm_structs_find(), or -EBADMSG if the table of flags makes no sense.
 * Flags that a release does not have are not known, which is no error.
 */
int jvm_flags_read(const struct byte_source *memory, const struct vm_variables *variables,
		   struct jvm_flags *ret) MUST_CHECK;

static inline bool jvm_flags_known(const struct jvm_flags *f, enum jvm_flag flag)
{
	return f->known >> flag & 1;
}

/* absent: what to return if the release does not have it. */
static inline bool jvm_flags_get(const struct jvm_flags *f, enum jvm_flag flag, bool absent)
{
	return jvm_flags_known(f, flag) ? f->on >> flag & 1 : absent;
}

#endif /* NODE_AGENT_JAVA_VM_JVM_FLAGS_H */
