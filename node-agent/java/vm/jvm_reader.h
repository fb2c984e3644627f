/*
 * Finds the JVM in a process and opens it for reading. Nothing is written, and no signal is sent.
 *
 * A JVM is known by what its library exports, not by the name of a file or of the process: the
 * launcher may be renamed, the JVM embedded in another program, linked into the executable, or
 * its library deleted or replaced on disk while it runs. A GraalVM native image is none.
 *
 * For one thread; calls that could wait for a file system have a deadline.
 */
#ifndef NODE_AGENT_JAVA_VM_JVM_READER_H
#define NODE_AGENT_JAVA_VM_JVM_READER_H

#include "common/base.h"
#include "node-agent/java/vm/hsperfdata.h"
#include "node-agent/java/vm/jvm_flags.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/target/program_target.h"

enum jvm_kind {
	JVM_NONE,
	JVM_HOTSPOT,
	JVM_OPENJ9,
};

struct jvm_reader;

/* proc_root may be NULL for "/proc". Returns 0, -ENOMEM, or the error of opening it. */
int jvm_reader_new(struct jvm_reader **ret, const char *proc_root) MUST_CHECK;
void jvm_reader_free(struct jvm_reader *r);
DEFINE_CLEANUP(struct jvm_reader *, jvm_reader_free);

/* The descriptor of proc_root; borrowed. */
int jvm_reader_root(const struct jvm_reader *r);

/*
 * Returns which enum jvm_kind the library of id, or if it has none its executable, is; or an
 * error of program_target_open_file().
 */
int jvm_reader_detect(struct jvm_reader *r, const struct program_id *id) MUST_CHECK;

/* As runtime_ops.libraries(): what loaded_library_list() returns. */
int jvm_reader_libraries(struct jvm_reader *r, const struct program_id *id, struct file_id *ids,
			 size_t max) MUST_CHECK;

/* An open JVM. */
struct jvm_opened {
	struct program_id id;
	struct program_target target; /* proc_fd, stat.comm, image, memory … */
	enum jvm_kind kind;
	struct vm_variables variables; /* HotSpot only */
};

/*
 * Opens a JVM; close it with jvm_opened_close() before the next is opened. Returns 0, -ENOEXEC if
 * the file of id is no JVM, or an error of program_target_open().
 */
int jvm_reader_open(struct jvm_reader *r, const struct program_id *id,
		    struct jvm_opened **ret) MUST_CHECK;
void jvm_opened_close(struct jvm_opened *o);
DEFINE_CLEANUP(struct jvm_opened *, jvm_opened_close);

/*
 * jvm_flags_read() of an open HotSpot JVM, which takes about a millisecond. Returns -ESRCH if the
 * process has exited or called execve(2), -EBADMSG for an address that is not mapped, and
 * -ENOTSUP if it is not HotSpot.
 */
int jvm_opened_flags(struct jvm_opened *o, struct jvm_flags *ret) MUST_CHECK;

/* perf_memory_read() of an open HotSpot JVM: likewise. */
int jvm_opened_perf(struct jvm_opened *o, struct hsperfdata *ret) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_VM_JVM_READER_H */
