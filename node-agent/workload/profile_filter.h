/*
 * Which workloads are profiled, as the user wishes.
 *
 * A workload is excluded if any of these is so:
 *   - an expression of --container-denylist matches its container id
 *   - --container-allowlist has expressions, and none matches
 *   - its pod has the annotation coroot.com/ebpf-profiling: "disabled"
 *   - it is a bare process, and --profile-unmanaged=off
 * and a single process, if its environment has COROOT_EBPF_PROFILING=disabled when it starts.
 *
 * A filter does not change after profile_filter_new(): all functions may be called from any
 * thread.
 */
#ifndef NODE_AGENT_WORKLOAD_PROFILE_FILTER_H
#define NODE_AGENT_WORKLOAD_PROFILE_FILTER_H

#include "common/base.h"
#include "common/err.h"
#include "node-agent/workload/workload.h"

#define PROFILE_FILTER_ENVIRON_BYTES ((size_t)1024 * 1024) /* more is not read */

struct profile_filter;

struct profile_filter_config {
	/*
	 * POSIX extended regular expressions, one per line; NULL: none. They match anywhere in
	 * the container id: "/k8s/<namespace>/<pod>/<container>", "/docker/<name>",
	 * "/system.slice/<unit>", "/process/<name>".
	 */
	const char *allowlist;
	const char *denylist;
	bool no_unmanaged; /* bare processes are excluded */
};

/*
 * Returns 0, -ENOMEM, or -EINVAL with err naming the flag and the expression that is none. The
 * texts are copied.
 */
int profile_filter_new(struct profile_filter **ret, const struct profile_filter_config *cfg,
		       struct err *err) MUST_CHECK;
void profile_filter_free(struct profile_filter *f);
DEFINE_CLEANUP(struct profile_filter *, profile_filter_free);

/*
 * Whether this workload is excluded. The answer for a raw workload may differ from that for the
 * same one under its name. Without a filter (f is NULL) none is.
 */
bool profile_filter_excludes(const struct profile_filter *f, const struct workload *w);

/* Whether the content of /proc/<pid>/environ excludes the process. Pure. */
bool profile_filter_environ_excludes(const char *text, size_t len);

/*
 * Reads the environment of the process whose /proc/<pid> is proc_fd. It is in the memory of the
 * process, so this may wait as long as the process likes. Returns 1 if it excludes the process, 0
 * if not, -ESRCH if the process has exited or is exiting, -EAGAIN if it is in the middle of
 * execve(2), -ENOMEM, or -errno if it cannot be read.
 */
int profile_filter_read_environ(int proc_fd) MUST_CHECK;

#endif /* NODE_AGENT_WORKLOAD_PROFILE_FILTER_H */
