/* What a user can set on the operator; see operator_options.c for names and defaults. */
#ifndef CLUSTER_AGENT_OPERATOR_OPERATOR_OPTIONS_H
#define CLUSTER_AGENT_OPERATOR_OPERATOR_OPTIONS_H

#include "common/agent/agent_options.h"
#include "common/base.h"
#include "common/err.h"
#include "common/options/options.h"

struct operator_options {
	char *listen;
	char *kubeconfig;
	char *kube_context;
	char *watch_namespace;
	char *lease_namespace;
	char *node_agent_image;
	char *cluster_agent_image;
	char *store_image;
	char *clickhouse_image;
	char *keeper_image;
	char *image_pull_secret;
	char *node_agent_scc;
	enum syscall_filter_mode seccomp;
	enum log_level log_level;
	bool leader_elect;
};

extern const struct option_def operator_option_defs[];

/* Missing or malformed options: -EINVAL with one line in err. */
int operator_options_check(const struct operator_options *o, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_OPERATOR_OPTIONS_H */
