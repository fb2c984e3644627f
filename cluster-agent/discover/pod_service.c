#include "cluster-agent/discover/pod_service.h"

#include <errno.h>

const char *pod_name_text(const json_t *v, size_t max)
{
	const char *s = json_string_value(v);
	size_t len = json_string_length(v);

	return s && len <= max && strlen(s) == len && kube_part_is_valid(s) ? s : NULL;
}

static const json_t *find_controller(const json_t *metadata)
{
	const json_t *owners = json_object_get(metadata, "ownerReferences");
	const json_t *owner;
	size_t i;

	json_array_foreach (owners, i, owner) {
		if (json_is_true(json_object_get(owner, "controller")))
			return owner;
	}
	return NULL;
}

static const char *first_container(const json_t *spec)
{
	const json_t *container = json_array_get(json_object_get(spec, "containers"), 0);

	return pod_name_text(json_object_get(container, "name"), POD_NAME_BYTES);
}

int pod_service_name(char ret[static KUBE_NAME_BYTES], const json_t *pod, enum kube_naming naming,
		     const char *container, int64_t now_s)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *spec = json_object_get(pod, "spec");
	const json_t *controller = find_controller(metadata);
	char owner[KUBE_PART_BYTES];
	const struct kube_pod p = {
		.namespace = pod_name_text(json_object_get(metadata, "namespace"), POD_NAME_BYTES),
		.pod = pod_name_text(json_object_get(metadata, "name"), POD_NAME_BYTES),
		.container = kube_part_is_valid(container) ? container : first_container(spec),
		.owner = owner,
		.node = pod_name_text(json_object_get(spec, "nodeName"), POD_NAME_BYTES),
	};

	kube_owner_name(owner, json_string_value(json_object_get(controller, "kind")),
			pod_name_text(json_object_get(controller, "name"), POD_NAME_BYTES), p.pod);
	return kube_service_name(ret, &p, naming, now_s);
}
