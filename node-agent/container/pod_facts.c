#include "node-agent/container/pod_facts.h"

#include <errno.h>

#include "common/kubernetes/kube_pod.h"

#define PROFILING_ANNOTATION "coroot.com/ebpf-profiling"
#define CONFIG_HASH_ANNOTATION "kubernetes.io/config.hash"
#define MAX_IMAGE_BYTES 4096

/* The containers of one pod while they are reported. */
struct report {
	void (*fn)(void *ctx, const struct container_facts *f);
	void *ctx;
	struct container_facts facts; /* what all containers have in common */
	int n;
};

/* "containerd://<id>" → "<id>"; NULL if there is none. */
static const char *id_of(const json_t *state)
{
	const json_t *v = json_object_get(state, "containerID");
	const char *s = json_string_value(v);
	const char *id = s ? strstr(s, "://") : NULL;

	if (!id || strlen(s) != json_string_length(v) || !kube_part_is_valid(id + 3))
		return NULL;
	return id + 3;
}

/* Returns an image's name, or NULL for a digest, which means nothing to a person. */
static const char *image_text(const json_t *v)
{
	const char *s = json_string_value(v);
	size_t len = json_string_length(v);

	if (!s || len == 0 || len > MAX_IMAGE_BYTES || strlen(s) != len)
		return NULL;
	return strncmp(s, "sha256:", 7) == 0 ? NULL : s;
}

/*
 * The image as the pod asks for it. What the status says is any of the names that the node has for
 * the same image: that of the release before, if this one was only renamed.
 */
static const char *spec_image(const json_t *containers, const char *name)
{
	const json_t *container;
	size_t i;

	json_array_foreach (containers, i, container) {
		const char *s = json_string_value(json_object_get(container, "name"));

		if (s && strcmp(s, name) == 0)
			return image_text(json_object_get(container, "image"));
	}
	return NULL;
}

static void report_id(struct report *r, const char *id)
{
	struct container_facts f = r->facts;

	if (!id || r->n == (int)POD_FACTS_MAX)
		return;
	f.id = id;
	r->n++;
	r->fn(r->ctx, &f);
}

/* The present container comes last, in case its id is given twice. */
static void report_status(struct report *r, const json_t *status, const json_t *containers)
{
	const json_t *state = json_object_get(status, "state");
	const json_t *last = json_object_get(status, "lastState");

	r->facts.name = kube_part_text(json_object_get(status, "name"));
	if (!r->facts.name)
		return;
	r->facts.image = spec_image(containers, r->facts.name);
	if (!r->facts.image)
		r->facts.image = image_text(json_object_get(status, "image"));
	report_id(r, id_of(json_object_get(last, "terminated")));
	report_id(r, id_of(json_object_get(state, "terminated")));
	report_id(r, id_of(status));
}

static void report_statuses(struct report *r, const json_t *statuses, const json_t *containers)
{
	const json_t *status;
	size_t i;

	json_array_foreach (statuses, i, status) {
		report_status(r, status, containers);
	}
}

static bool is_disabled(const json_t *metadata)
{
	const json_t *annotations = json_object_get(metadata, "annotations");
	const char *s = json_string_value(json_object_get(annotations, PROFILING_ANNOTATION));

	return s && strcmp(s, "disabled") == 0;
}

/* What all containers of the pod have in common. Returns 0 or -EBADMSG. */
static int read_common(struct container_facts *ret, const json_t *pod,
		       char owner[static KUBE_PART_BYTES])
{
	const json_t *metadata = json_object_get(pod, "metadata");

	*ret = (struct container_facts){
		.namespace = kube_part_text(json_object_get(metadata, "namespace")),
		.pod = kube_part_text(json_object_get(metadata, "name")),
		.pod_uid = kube_part_text(json_object_get(metadata, "uid")),
		.owner = owner,
		.is_static = kube_pod_is_static(pod),
		.profiling_disabled = is_disabled(metadata),
		.annotation_is_live = true,
	};
	if (!ret->namespace || !ret->pod || !ret->pod_uid)
		return -EBADMSG;
	kube_pod_owner(owner, pod);
	return 0;
}

/* The pod's container if it has only one, else NULL. */
static const json_t *only_container(const json_t *spec)
{
	const json_t *containers = json_object_get(spec, "containers");

	if (json_array_size(containers) != 1 ||
	    json_array_size(json_object_get(spec, "initContainers")) > 0 ||
	    json_array_size(json_object_get(spec, "ephemeralContainers")) > 0)
		return NULL;
	return json_array_get(containers, 0);
}

/* The kubelet calls cgroups of static pods by the hash of their files. */
static const char *uid_in_cgroups(const json_t *pod, const struct container_facts *f)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *annotations = json_object_get(metadata, "annotations");
	const char *hash = kube_part_text(json_object_get(annotations, CONFIG_HASH_ANNOTATION));

	return f->is_static && hash ? hash : f->pod_uid;
}

int pod_facts_of_pod(const json_t *pod, void (*fn)(void *ctx, const struct container_facts *f),
		     void *ctx)
{
	const json_t *only = only_container(json_object_get(pod, "spec"));
	char owner[KUBE_PART_BYTES], id[KUBE_PART_BYTES + sizeof("pod")];
	struct container_facts f;
	int r = read_common(&f, pod, owner);

	if (r < 0)
		return r;
	snprintf(id, sizeof(id), "pod%s", uid_in_cgroups(pod, &f));
	f.id = id;
	f.sandbox = true;
	f.likely_name = kube_part_text(json_object_get(only, "name"));
	f.image = image_text(json_object_get(only, "image"));
	fn(ctx, &f);
	return 1;
}

int pod_facts_each(const json_t *pod, void (*fn)(void *ctx, const struct container_facts *f),
		   void *ctx)
{
	const json_t *spec = json_object_get(pod, "spec");
	const json_t *status = json_object_get(pod, "status");
	char owner[KUBE_PART_BYTES];
	struct report r = {.fn = fn, .ctx = ctx};
	int error = read_common(&r.facts, pod, owner);

	if (error < 0)
		return error;
	report_statuses(&r, json_object_get(status, "initContainerStatuses"),
			json_object_get(spec, "initContainers"));
	report_statuses(&r, json_object_get(status, "containerStatuses"),
			json_object_get(spec, "containers"));
	report_statuses(&r, json_object_get(status, "ephemeralContainerStatuses"),
			json_object_get(spec, "ephemeralContainers"));
	return r.n;
}
