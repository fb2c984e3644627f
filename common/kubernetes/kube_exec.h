/*
 * Runs an exec plugin: a child process in a process group of its own. Collects its output and
 * its exit status. Loop thread only; nothing blocks for the child.
 *
 * Standard input is /dev/null. The run ends when the child exits, even if another process still
 * holds its pipes. On time-out, on too much output and on cancel, the whole group is killed.
 */
#ifndef COMMON_KUBERNETES_KUBE_EXEC_H
#define COMMON_KUBERNETES_KUBE_EXEC_H

#include "common/base.h"
#include "common/err.h"
#include "common/system/loop.h"

#define KUBE_EXEC_OUTPUT_BYTES ((size_t)1024 * 1024)

struct kube_exec_run;

struct kube_exec_request {
	const char *command;   /* a path, or a name to be searched in PATH */
	char *const *args;     /* NULL-terminated, without the command; may be NULL */
	char *const *env;      /* "NAME=value", NULL-terminated, overrides our own; may be NULL */
	const char *exec_info; /* value of KUBERNETES_EXEC_INFO */
	uint64_t timeout_ns;
};

struct kube_exec_result {
	int error; /* 0, -ETIMEDOUT, -EFBIG (too much output), -EPROTO (it failed) or -ENOMEM */
	const char *msg; /* one line if error is set, with the last line of standard error */
	const char *out;
	size_t len;
};

/*
 * Called once, on the loop thread, never from within kube_exec_start(). The run is freed
 * afterwards.
 */
typedef void (*kube_exec_done_fn)(void *ctx, const struct kube_exec_result *result);

/* Copies everything. Returns 0, or -errno with a sentence in err. */
int kube_exec_start(struct kube_exec_run **ret, struct loop *l, const struct kube_exec_request *req,
		    kube_exec_done_fn done, void *ctx, struct err *err) MUST_CHECK;
/* done is not called. run may be NULL. */
void kube_exec_cancel(struct kube_exec_run *run);
DEFINE_CLEANUP(struct kube_exec_run *, kube_exec_cancel);

#endif /* COMMON_KUBERNETES_KUBE_EXEC_H */
