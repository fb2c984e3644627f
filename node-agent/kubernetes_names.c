#include "node-agent/kubernetes_names.h"

#include <errno.h>

#include "common/kubernetes/kube_config_load.h"
#include "common/telemetry/log.h"
#include "node-agent/container/pod_source.h"

/* Pods' containers, whichever runtime their cgroups name. */
#define KINDS                                                              \
	(CONTAINER_KIND(CGROUP_KUBEPODS) | CONTAINER_KIND(CGROUP_DOCKER) | \
	 CONTAINER_KIND(CGROUP_CONTAINERD) | CONTAINER_KIND(CGROUP_CRIO) | \
	 CONTAINER_KIND(CGROUP_CONTAINER))

static bool is_given(const char *s)
{
	return s && s[0];
}

static int load_config(struct kube_config *ret, const struct node_options *o, struct err *err)
{
	if (is_given(o->kubeconfig))
		return kube_config_load_file(ret, o->kubeconfig, o->kube_context, err);
	return kube_config_load_service_account(ret, KUBE_SERVICE_ACCOUNT_DIR, err);
}

/* Its annotations are newer than what a runtime remembers, so what it says comes first. */
static int add_source(struct container_directory *d, struct metrics *ms,
		      const struct pod_source_config *cfg, struct err *err)
{
	const struct container_source_config slot = {.ops = &pod_source_ops, .kinds = KINDS};
	CLEANUP(pod_source_freep) struct pod_source *source = NULL;
	struct pod_source_config with_sink = *cfg;
	struct directory_source *s;
	int r = container_directory_add_source(d, &slot, &s);

	if (r < 0)
		return r;
	with_sink.sink = directory_source_sink(s);
	r = pod_source_new(&source, &with_sink, err);
	if (r < 0)
		return r;
	r = pod_source_register(source, ms);
	if (r < 0)
		return r;
	directory_source_attach(s, TAKE_PTR(source));
	return 0;
}

int kubernetes_names_add(struct container_directory *d, struct loop *l, struct metrics *ms,
			 const struct node_options *o, const char *node, struct err *err)
{
	bool is_asked_for = is_given(o->kubeconfig);
	CLEANUP(kube_config_fini) struct kube_config kube = {0};
	int r;

	if (o->kubernetes_api == KUBERNETES_OFF ||
	    (!is_asked_for && !kube_config_in_cluster(KUBE_SERVICE_ACCOUNT_DIR)))
		return 0;
	r = load_config(&kube, o, err);
	if (r == 0)
		r = add_source(d, ms,
			       &(struct pod_source_config){.loop = l,
							   .kube = &kube,
							   .node = node,
							   .pod_labels = o->pod_labels},
			       err);
	if (r == 0 || r == -ENOMEM || is_asked_for || is_given(o->node_name))
		return r;
	log_warn("cannot watch the pods of this node; naming them without the API server",
		 "error=%s", LOG_QUOTED(err->msg[0] ? err->msg : strerror(-r)));
	*err = (struct err){""};
	return 0;
}
