/*
 * One run of an exec plugin: a child process in a group of its own, with what it prints and how
 * it ended. Loop thread only; nothing waits for the child.
 *
 * Standard input is /dev/null. The run is over when the child has ended, whoever else holds its
 * pipes. On time-out, too much output and cancelling, the whole group is killed.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_EXEC_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_EXEC_H

#include "common/base.h"
#include "common/err.h"
#include "common/system/loop.h"

#define KUBE_EXEC_OUTPUT_BYTES ((size_t)1024 * 1024)

struct kube_exec_run;

struct kube_exec_request {
	const char *command;   /* a path, or a name to be found in PATH */
	char *const *args;     /* NULL-terminated, without the command; NULL: none */
	char *const *env;      /* "NAME=value", NULL-terminated, in front of our own; NULL: none */
	const char *exec_info; /* KUBERNETES_EXEC_INFO */
	uint64_t timeout_ns;
};

struct kube_exec_result {
	int error;       /* 0; -ETIMEDOUT; -EFBIG: too much output; -EPROTO: it failed; -ENOMEM */
	const char *msg; /* one line when error, with the last line of standard error */
	const char *out;
	size_t len;
};

/*
 * Called once, on the loop thread, never from inside kube_exec_start(). The run is gone then.
 */
typedef void (*kube_exec_done_fn)(void *ctx, const struct kube_exec_result *result);

/* Everything is copied. -errno with a sentence in err. */
int kube_exec_start(struct kube_exec_run **ret, struct loop *l, const struct kube_exec_request *req,
		    kube_exec_done_fn done, void *ctx, struct err *err) MUST_CHECK;
/* done is not called. NULL is allowed. */
void kube_exec_cancel(struct kube_exec_run *run);
DEFINE_CLEANUP(struct kube_exec_run *, kube_exec_cancel);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_EXEC_H */
