#include "node-agent/container/pod_facts.h"

#include <errno.h>

#include "common/kubernetes/kube_pod.h"

#define PROFILING_ANNOTATION "coroot.com/ebpf-profiling"
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

int pod_facts_each(const json_t *pod, void (*fn)(void *ctx, const struct container_facts *f),
		   void *ctx)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *spec = json_object_get(pod, "spec");
	const json_t *status = json_object_get(pod, "status");
	char owner[KUBE_PART_BYTES];
	struct report r = {
		.fn = fn,
		.ctx = ctx,
		.facts = {.namespace = kube_part_text(json_object_get(metadata, "namespace")),
			  .pod = kube_part_text(json_object_get(metadata, "name")),
			  .pod_uid = kube_part_text(json_object_get(metadata, "uid")),
			  .owner = owner,
			  .is_static = kube_pod_is_static(pod),
			  .profiling_disabled = is_disabled(metadata),
			  .annotation_is_live = true},
	};

	if (!r.facts.namespace || !r.facts.pod || !r.facts.pod_uid)
		return -EBADMSG;
	kube_pod_owner(owner, pod);
	report_statuses(&r, json_object_get(status, "initContainerStatuses"),
			json_object_get(spec, "initContainers"));
	report_statuses(&r, json_object_get(status, "containerStatuses"),
			json_object_get(spec, "containers"));
	report_statuses(&r, json_object_get(status, "ephemeralContainerStatuses"),
			json_object_get(spec, "ephemeralContainers"));
	return r.n;
}
