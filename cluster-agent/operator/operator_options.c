#include "cluster-agent/operator/operator_options.h"

#include <errno.h>

#include "common/text/kube_names.h"

#define OPTIONS struct operator_options

const struct option_def operator_option_defs[] = {
	{STRING_OPTION("listen", listen), .def = ":8081", .value = "ADDR:PORT",
	 .help = "address on which /healthz, /readyz and /metrics are served"},
	{STRING_OPTION("kubeconfig", kubeconfig), .value = "FILE",
	 .help = "kubeconfig of the cluster; unset: the service account of the pod"},
	{STRING_OPTION("kube-context", kube_context), .value = "NAME",
	 .help = "context of the kubeconfig; unset: its current one"},
	{STRING_OPTION("watch-namespace", watch_namespace), .value = "NAME",
	 .help = "namespace whose Coroot resources are kept applied; unset: all namespaces"},
	{BOOL_OPTION("leader-elect", leader_elect), .def = "true",
	 .help = "work only while holding the Lease \"coroot-operator\", so that of several "
		 "operators one works at a time"},
	{STRING_OPTION("lease-namespace", lease_namespace), .value = "NAME",
	 .help = "namespace of that Lease; unset: the operator's own"},
	{STRING_OPTION("node-agent-image", node_agent_image), .value = "IMAGE",
	 .help = "image of coroot-node-agent where the resource gives none; required"},
	{STRING_OPTION("cluster-agent-image", cluster_agent_image), .value = "IMAGE",
	 .help = "image of coroot-cluster-agent where the resource gives none, also of a server "
		 "whose profiles are in ClickHouse; required"},
	{STRING_OPTION("store-image", store_image), .value = "IMAGE",
	 .help = "image of coroot-cluster-agent with the embedded engine, of a server that stores "
		 "profiles itself; required"},
	{STRING_OPTION("clickhouse-image", clickhouse_image),
	 .def = "ghcr.io/coroot/clickhouse:25.11.2-ubi9-0", .value = "IMAGE",
	 .help = "image of ClickHouse where the resource gives none"},
	{STRING_OPTION("keeper-image", keeper_image),
	 .def = "ghcr.io/coroot/clickhouse:25.11.2-ubi9-0", .value = "IMAGE",
	 .help = "image of ClickHouse's keeper where the resource gives none"},
	{STRING_OPTION("image-pull-secret", image_pull_secret), .value = "NAME",
	 .help = "Secret, in the namespace of the resource, with which default images are pulled"},
	{STRING_OPTION("node-agent-scc", node_agent_scc), .value = "NAME",
	 .help = "the cluster is an OpenShift: SecurityContextConstraints that admit the node "
		 "agent; all other pods get nonroot-v2"},
	SECCOMP_OPTION("operator does not need; log lets them pass, and the "
		       "kernel logs the calls"),
	LOG_LEVEL_OPTION,
	{},
};

static int check_given(const char *value, const char *name, struct err *err)
{
	return value && value[0] ? 0 : err_set(err, -EINVAL, "--%s is missing", name);
}

static int check_scc(const char *value, struct err *err)
{
	if (!value || !value[0] || kube_name_is_subdomain(value))
		return 0;
	return err_set(err, -EINVAL, "--node-agent-scc: \"%.80s\" is not the name of an object",
		       value);
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

	if (r < 0)
		return r;
	r = check_given(o->cluster_agent_image, "cluster-agent-image", err);
	if (r < 0)
		return r;
	r = check_given(o->store_image, "store-image", err);
	if (r < 0)
		return r;
	r = check_scc(o->node_agent_scc, err);
	if (r < 0)
		return r;
	r = check_namespace(o->watch_namespace, "watch-namespace", err);
	if (r < 0)
		return r;
	return check_namespace(o->lease_namespace, "lease-namespace", err);
}
