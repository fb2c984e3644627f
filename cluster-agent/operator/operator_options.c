#include "cluster-agent/operator/operator_options.h"

#include <errno.h>

#include "common/text/kube_object_name.h"

#define FIELD(name) offsetof(struct operator_options, name)

const struct option_def operator_option_defs[] = {
	{.name = "listen",
	 .type = OPTION_STRING,
	 .offset = FIELD(listen),
	 .def = ":8081",
	 .value = "ADDR:PORT",
	 .help = "address on which /healthz, /readyz and /metrics are served"},
	{.name = "kubeconfig",
	 .type = OPTION_STRING,
	 .offset = FIELD(kubeconfig),
	 .value = "FILE",
	 .help = "kubeconfig of the cluster; unset: the service account of the pod"},
	{.name = "kube-context",
	 .type = OPTION_STRING,
	 .offset = FIELD(kube_context),
	 .value = "NAME",
	 .help = "context of the kubeconfig; unset: its current one"},
	{.name = "watch-namespace",
	 .type = OPTION_STRING,
	 .offset = FIELD(watch_namespace),
	 .value = "NAME",
	 .help = "namespace whose Coroot resources are kept applied; unset: all namespaces"},
	{.name = "leader-elect",
	 .type = OPTION_BOOL,
	 .offset = FIELD(leader_elect),
	 .def = "true",
	 .help = "work only while holding the Lease \"coroot-operator\", so that of several "
		 "operators one works at a time"},
	{.name = "lease-namespace",
	 .type = OPTION_STRING,
	 .offset = FIELD(lease_namespace),
	 .value = "NAME",
	 .help = "namespace of that Lease; unset: the operator's own"},
	{.name = "node-agent-image",
	 .type = OPTION_STRING,
	 .offset = FIELD(node_agent_image),
	 .value = "IMAGE",
	 .help = "image of coroot-node-agent where the resource gives none; required"},
	{.name = "cluster-agent-image",
	 .type = OPTION_STRING,
	 .offset = FIELD(cluster_agent_image),
	 .value = "IMAGE",
	 .help = "image of coroot-cluster-agent where the resource gives none, also of a server "
		 "whose profiles are in ClickHouse; required"},
	{.name = "store-image",
	 .type = OPTION_STRING,
	 .offset = FIELD(store_image),
	 .value = "IMAGE",
	 .help = "image of coroot-cluster-agent with the embedded engine, of a server that stores "
		 "profiles itself; required"},
	{.name = "clickhouse-image",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_image),
	 .def = "ghcr.io/coroot/clickhouse:25.11.2-ubi9-0",
	 .value = "IMAGE",
	 .help = "image of ClickHouse where the resource gives none"},
	{.name = "keeper-image",
	 .type = OPTION_STRING,
	 .offset = FIELD(keeper_image),
	 .def = "ghcr.io/coroot/clickhouse:25.11.2-ubi9-0",
	 .value = "IMAGE",
	 .help = "image of ClickHouse's keeper where the resource gives none"},
	{.name = "image-pull-secret",
	 .type = OPTION_STRING,
	 .offset = FIELD(image_pull_secret),
	 .value = "NAME",
	 .help = "Secret, in the namespace of the resource, with which default images are pulled"},
	{.name = "seccomp",
	 .type = OPTION_ENUM,
	 .offset = FIELD(seccomp),
	 .def = "on",
	 .choices = syscall_filter_mode_names,
	 .help = "refuse system calls that the operator does not need; log lets them pass, and "
		 "the kernel logs the calls"},
	{.name = "log-level",
	 .type = OPTION_ENUM,
	 .offset = FIELD(log_level),
	 .def = "info",
	 .choices = log_level_names,
	 .help = "least severe level that is logged"},
	{},
};

static int check_given(const char *value, const char *name, struct err *err)
{
	return value && value[0] ? 0 : err_set(err, -EINVAL, "--%s is missing", name);
}

static int check_namespace(const char *value, const char *name, struct err *err)
{
	if (!value || !value[0] || kube_name_is_label(value))
		return 0;
	return err_set(err, -EINVAL, "--%s: \"%.80s\" is not the name of a namespace", name, value);
}

int operator_options_check(const struct operator_options *o, struct err *err)
{
	int r = check_given(o->node_agent_image, "node-agent-image", err);

	if (r == 0)
		r = check_given(o->cluster_agent_image, "cluster-agent-image", err);
	if (r == 0)
		r = check_given(o->store_image, "store-image", err);
	if (r == 0)
		r = check_namespace(o->watch_namespace, "watch-namespace", err);
	if (r == 0)
		r = check_namespace(o->lease_namespace, "lease-namespace", err);
	return r;
}
