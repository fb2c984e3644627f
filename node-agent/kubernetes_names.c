#include "node-agent/kubernetes_names.h"

#include <ctype.h>
#include <errno.h>

#include "common/kubernetes/kube_config_load.h"
#include "common/telemetry/log.h"
#include "common/text/kube_names.h"
#include "node-agent/container/pod_source.h"

/* Pods' containers, whichever runtime their cgroups name. */
#define KINDS                                                              \
	(CONTAINER_KIND(CGROUP_KUBEPODS) | CONTAINER_KIND(CGROUP_DOCKER) | \
	 CONTAINER_KIND(CGROUP_CONTAINERD) | CONTAINER_KIND(CGROUP_CRIO) | \
	 CONTAINER_KIND(CGROUP_CONTAINER))

struct kubernetes_names {
	char node[KUBE_PART_BYTES]; /* as the API names it */
	struct kube_client *client; /* NULL unless labels are asked for */
	struct place_labels *places;
};

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
static int add_source(const struct kubernetes_names_config *cfg, const struct kube_config *kube,
		      struct err *err)
{
	const struct container_source_config slot = {.ops = &pod_source_ops, .kinds = KINDS};
	CLEANUP(pod_source_freep) struct pod_source *source = NULL;
	struct pod_source_config pods = {
		.loop = cfg->loop,
		.kube = kube,
		.node = cfg->node,
		.pod_labels = cfg->options->pod_labels,
	};
	struct directory_source *s;
	int r = container_directory_add_source(cfg->directory, &slot, &s);

	if (r < 0)
		return r;
	pods.sink = directory_source_sink(s);
	r = pod_source_new(&source, &pods, err);
	if (r < 0)
		return r;
	r = pod_source_register(source, cfg->metrics);
	if (r < 0)
		return r;
	directory_source_attach(s, TAKE_PTR(source));
	return 0;
}

/* Has nothing to do, and no client of its own, unless an option asks for labels. */
static int add_places(struct kubernetes_names *k, const struct kubernetes_names_config *cfg,
		      const struct kube_config *kube, struct err *err)
{
	const struct node_options *o = cfg->options;
	struct place_labels_config places = {
		.loop = cfg->loop,
		.prefix = "coroot_node_agent",
		.namespace_keys = o->namespace_labels,
		.node_keys = o->node_labels,
		.node = k->node,
	};
	int r;

	if (!is_given(o->namespace_labels) && !is_given(o->node_labels))
		return 0;
	for (size_t i = 0; i < sizeof(k->node) - 1 && cfg->node[i]; i++)
		k->node[i] = (char)tolower((unsigned char)cfg->node[i]);
	r = kube_client_new(&k->client, cfg->loop, kube, err);
	if (r < 0)
		return r;
	places.client = k->client;
	r = place_labels_new(&k->places, &places);
	return r < 0 ? r : place_labels_register(k->places, cfg->metrics);
}

int kubernetes_names_new(struct kubernetes_names **ret, const struct kubernetes_names_config *cfg,
			 struct err *err)
{
	CLEANUP(kubernetes_names_freep) struct kubernetes_names *k = calloc(1, sizeof(*k));
	const struct node_options *o = cfg->options;
	bool is_asked_for = is_given(o->kubeconfig);
	CLEANUP(kube_config_fini) struct kube_config kube = {0};
	int r = 0;

	if (!k)
		return -ENOMEM;
	if (o->kubernetes_api != KUBERNETES_OFF &&
	    (is_asked_for || kube_config_in_cluster(KUBE_SERVICE_ACCOUNT_DIR))) {
		r = load_config(&kube, o, err);
		if (r == 0)
			r = add_source(cfg, &kube, err);
		if (r == 0)
			r = add_places(k, cfg, &kube, err);
	}
	if (r < 0 && (r == -ENOMEM || is_asked_for || is_given(o->node_name)))
		return r;
	if (r < 0) {
		log_warn("cannot watch the pods of this node; naming them without the API server",
			 "error=%s", LOG_QUOTED(err->msg[0] ? err->msg : strerror(-r)));
		*err = (struct err){""};
	}
	*ret = TAKE_PTR(k);
	return 0;
}

void kubernetes_names_free(struct kubernetes_names *k)
{
	if (!k)
		return;
	place_labels_free(k->places);
	kube_client_free(k->client);
	free(k);
}

size_t kubernetes_names_labels(const struct kubernetes_names *k, const char *namespace,
			       struct place_label ret[static PLACE_LABELS_MAX])
{
	return k->places ? place_labels_find(k->places, namespace, k->node, ret) : 0;
}
