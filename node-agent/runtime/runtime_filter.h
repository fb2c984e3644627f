/*
 * Whether the processes of a runtime are to be profiled. One that is excluded is never opened,
 * neither its memory nor its files: only what /proc says of every process is read, such as which
 * files it has mapped, and its environment.
 */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_FILTER_H
#define NODE_AGENT_RUNTIME_RUNTIME_FILTER_H

#include "common/base.h"
#include "node-agent/container/container_directory.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/profile_filter.h"

/* How long a program waits for the name of its container, if that decides. */
#define RUNTIME_FILTER_WAIT_NS UINT64_C(5000000000)

enum runtime_verdict {
	RUNTIME_PROFILED,
	RUNTIME_EXCLUDED,
	RUNTIME_UNDECIDED, /* the name of its container is not known yet */
};

/* Both NULL: everything is profiled. Borrowed. */
struct runtime_filter {
	const struct profile_filter *filter;
	struct container_directory *directory; /* NULL: raw names are final */
};

struct process_namer;

/* What the decision is about. All zero: nothing. */
struct runtime_subject {
	struct workload *raw;
	bool by_environ; /* its environment excludes it */
};

/*
 * Reads it from /proc, whose descriptor is root_fd; namer is the thread's, or NULL. May wait as
 * long as the process likes. Returns 0, -ESRCH if it is another process by now, -EAGAIN if it is in
 * the middle of execve(2), -ENOMEM, or another -errno.
 */
int runtime_subject_read(struct runtime_subject *ret, int root_fd, const struct program_id *id,
			 struct process_namer *namer) MUST_CHECK;
void runtime_subject_fini(struct runtime_subject *s);

/* may_wait: false decides by what is known. Never blocks. */
enum runtime_verdict runtime_filter_decide(const struct runtime_filter *f,
					   const struct runtime_subject *s, bool may_wait);

#endif /* NODE_AGENT_RUNTIME_RUNTIME_FILTER_H */
