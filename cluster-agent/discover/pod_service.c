#include "cluster-agent/discover/pod_service.h"

#include "common/kubernetes/kube_pod.h"

static const char *first_container(const json_t *spec)
{
	const json_t *container = json_array_get(json_object_get(spec, "containers"), 0);

	return kube_part_text(json_object_get(container, "name"));
}

int pod_service_name(char ret[static KUBE_NAME_BYTES], const json_t *pod, enum kube_naming naming,
		     const char *container, int64_t now_s)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *spec = json_object_get(pod, "spec");
	char owner[KUBE_PART_BYTES];
	const struct kube_pod p = {
		.namespace = kube_part_text(json_object_get(metadata, "namespace")),
		.pod = kube_part_text(json_object_get(metadata, "name")),
		.container = kube_part_is_valid(container) ? container : first_container(spec),
		.owner = owner,
		.node = kube_part_text(json_object_get(spec, "nodeName")),
		.is_static = kube_pod_is_static(pod),
	};

	kube_pod_owner(owner, pod);
	return kube_service_name(ret, &p, naming, now_s);
}
