#include "cluster-agent/operator/operator_privileges.h"

#include <errno.h>

#include "common/kubernetes/kube_config_load.h"
#include "common/privilege/capabilities.h"
#include "common/privilege/syscall_filter.h"

int operator_privileges_drop(const struct operator_options *o, struct err *err)
{
	int r = capabilities_keep(capabilities_to_listen(o->listen));

	return r < 0 ? err_set(err, r, "cannot give up capabilities: %s", strerror(-r)) : 0;
}

int operator_privileges_filter(const struct operator_options *o, struct err *err)
{
	const char *file = o->kubeconfig, *context = o->kube_context;
	const struct syscall_filter_config cfg = {
		.mode = o->seccomp,
		.starts_programs = file && file[0] &&
				   kube_config_file_starts_program(
					   file, context && context[0] ? context : NULL),
	};

	return syscall_filter_install(&cfg, err);
}
