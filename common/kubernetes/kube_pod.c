#include "common/kubernetes/kube_pod.h"

/* How much of metadata.generateName is in the name, before five random characters. */
#define PREFIX_CHARS 58u

const char *kube_part_text(const json_t *v)
{
	const char *s = json_string_value(v);

	return s && strlen(s) == json_string_length(v) && kube_part_is_valid(s) ? s : NULL;
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

static void read_labels(struct kube_labels *ret, const json_t *metadata)
{
	const json_t *labels = json_object_get(metadata, "labels");

	for (size_t i = 0; i < KUBE_LABEL_MAX; i++)
		ret->values[i] = kube_part_text(json_object_get(labels, kube_label_keys[i]));
}

/* A pod whose creator gave no more than the beginning of its name is one of several. */
static void name_by_prefix(char ret[static KUBE_PART_BYTES], const char *pod, const char *prefix)
{
	size_t len = prefix ? strlen(prefix) : 0;

	if (len == 0 || strncmp(pod, prefix, len < PREFIX_CHARS ? len : PREFIX_CHARS) != 0)
		return;
	while (len > 1 && prefix[len - 1] == '-')
		len--;
	snprintf(ret, KUBE_PART_BYTES, "%.*s", (int)len, prefix);
}

/* Nobody controls it, as far as the object says. */
static void name_uncontrolled(char ret[static KUBE_PART_BYTES], const json_t *metadata,
			      const char *pod, const struct kube_labels *labels)
{
	size_t len = 0;

	kube_owner_by_labels(ret, pod, labels);
	if (!ret[0])
		name_by_prefix(ret, pod, kube_part_text(json_object_get(metadata, "generateName")));
	/* owners that do not call themselves controllers may be, so the name decides */
	if (!ret[0] && json_array_size(json_object_get(metadata, "ownerReferences")) > 0)
		len = kube_owner_len(pod, strlen(pod));
	if (len > 0)
		snprintf(ret, KUBE_PART_BYTES, "%.*s", (int)len, pod);
}

void kube_pod_owner(char ret[static KUBE_PART_BYTES], const json_t *pod)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *annotations = json_object_get(metadata, "annotations");
	const json_t *controller = find_controller(metadata);
	const char *application =
		kube_part_text(json_object_get(annotations, KUBE_APPLICATION_ANNOTATION));
	const char *name = kube_part_text(json_object_get(metadata, "name"));
	const char *node =
		kube_part_text(json_object_get(json_object_get(pod, "spec"), "nodeName"));
	struct kube_labels labels;

	if (application) {
		snprintf(ret, KUBE_PART_BYTES, "%s", application);
		return;
	}
	read_labels(&labels, metadata);
	kube_owner_name(ret, json_string_value(json_object_get(controller, "kind")),
			kube_part_text(json_object_get(controller, "name")), name, &labels);
	if (!ret[0] && name)
		name_uncontrolled(ret, metadata, name, &labels);
	if (!ret[0])
		kube_owner_name(ret, "Node", node, name, NULL);
	if (!ret[0] && name)
		snprintf(ret, KUBE_PART_BYTES, "%s", name);
}

bool kube_pod_is_static(const json_t *pod)
{
	const json_t *controller = find_controller(json_object_get(pod, "metadata"));
	const char *kind = json_string_value(json_object_get(controller, "kind"));

	return kind && strcmp(kind, "Node") == 0;
}
