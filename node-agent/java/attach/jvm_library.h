/*
 * The profiler library that is installed beside the agent: its bytes and their hash, read once.
 */
#ifndef NODE_AGENT_JAVA_ATTACH_JVM_LIBRARY_H
#define NODE_AGENT_JAVA_ATTACH_JVM_LIBRARY_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

#define JVM_LIBRARY_PREFIX "libasyncProfiler-"
#define JVM_LIBRARY_SUFFIX ".so"
#define JVM_LIBRARY_HASH_DIGITS 12u

struct jvm_library {
	struct buf bytes;
	uint8_t sha256[32];
	char name[64]; /* "libasyncProfiler-<12 hex digits of sha256>.so" */
};

/*
 * Reads and checks the file: a regular one, an ELF library of this machine with Agent_OnAttach,
 * which only root and the owner of the agent's executable may write. Returns 0, and
 * jvm_library_fini() must be called, or -errno with err.
 */
int jvm_library_load(struct jvm_library *ret, const char *path, struct err *err) MUST_CHECK;
void jvm_library_fini(struct jvm_library *lib);

#endif /* NODE_AGENT_JAVA_ATTACH_JVM_LIBRARY_H */
