#include "cluster-agent/operator/render/object_kinds.h"

#include <errno.h>

#include "common/text/kube_names.h"

/*
 * Claims and Secrets are not pruned: the first have data, and finding the second would take the
 * right to list all Secrets of the cluster.
 */
const struct object_kind_info object_kinds[OBJECT_KIND_MAX] = {
	[OBJECT_SERVICE_ACCOUNT] = {"v1", "ServiceAccount", "serviceaccounts", .pruned = true},
	[OBJECT_CLUSTER_ROLE] = {"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles",
				 .cluster_scoped = true, .pruned = true},
	[OBJECT_CLUSTER_ROLE_BINDING] = {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding",
					 "clusterrolebindings", .cluster_scoped = true,
					 .pruned = true},
	[OBJECT_SECRET] = {"v1", "Secret", "secrets"},
	[OBJECT_CONFIG_MAP] = {"v1", "ConfigMap", "configmaps", .pruned = true},
	[OBJECT_PERSISTENT_VOLUME_CLAIM] = {"v1", "PersistentVolumeClaim",
					    "persistentvolumeclaims"},
	[OBJECT_SERVICE] = {"v1", "Service", "services", .pruned = true},
	[OBJECT_STATEFUL_SET] = {"apps/v1", "StatefulSet", "statefulsets", .pruned = true},
	[OBJECT_DEPLOYMENT] = {"apps/v1", "Deployment", "deployments", .pruned = true},
	[OBJECT_DAEMON_SET] = {"apps/v1", "DaemonSet", "daemonsets", .pruned = true},
	[OBJECT_POD_DISRUPTION_BUDGET] = {"policy/v1", "PodDisruptionBudget",
					  "poddisruptionbudgets", .pruned = true},
	[OBJECT_INGRESS] = {"networking.k8s.io/v1", "Ingress", "ingresses", .pruned = true},
};

int object_kind_path(struct buf *out, enum object_kind kind, const char *namespace,
		     const char *name)
{
	const struct object_kind_info *info = &object_kinds[kind];
	bool core = !strchr(info->api_version, '/');
	int r;

	if ((namespace && !kube_name_is_label(namespace)) ||
	    (name && !kube_name_is_subdomain(name)))
		return -EINVAL;
	r = buf_addf(out, "/%s/%s", core ? "api" : "apis", info->api_version);
	if (r < 0)
		return r;
	if (namespace && !info->cluster_scoped)
		r = buf_addf(out, "/namespaces/%s", namespace);
	if (r < 0)
		return r;
	r = buf_addf(out, "/%s", info->plural);
	if (r < 0)
		return r;
	if (name)
		r = buf_addf(out, "/%s", name);
	return r;
}
