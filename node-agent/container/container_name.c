#include "node-agent/container/container_name.h"

#include <errno.h>

#include "common/text/utf8.h"

#define NAME_MAX_LEN 255 /* of a container outside pods; Docker has no limit of its own */

bool container_kind_has_names(enum cgroup_kind kind)
{
	return kind == CGROUP_DOCKER || kind == CGROUP_CONTAINERD || kind == CGROUP_CRIO ||
	       kind == CGROUP_PODMAN || kind == CGROUP_KUBEPODS || kind == CGROUP_CONTAINER;
}

static bool has(const char *s)
{
	return s && s[0];
}

static bool is_printable(const char *s, size_t max_len)
{
	size_t len = strlen(s);
	char copy[KUBE_NAME_BYTES];

	if (len == 0 || len > max_len || len >= sizeof(copy))
		return false;
	memcpy(copy, s, len + 1);
	return utf8_make_printable(copy, len) == len && memcmp(copy, s, len) == 0;
}

static const char *part_or_null(const char *s)
{
	return kube_part_is_valid(s) ? s : NULL;
}

/* The folder of a container outside pods. */
static const char *folder_of(enum cgroup_kind kind, const struct container_facts *f)
{
	switch (kind) {
	case CGROUP_DOCKER:
		return "docker";
	case CGROUP_PODMAN:
		return "podman";
	case CGROUP_CRIO:
		return "crio";
	default:
		return kube_part_is_valid(f->runtime) ? f->runtime : "containerd";
	}
}

/* Docker puts a '/' in front of names. */
static const char *plain_name(const struct container_facts *f)
{
	const char *name = f->name ? f->name : "";

	name += name[0] == '/';
	return is_printable(name, NAME_MAX_LEN) && !strchr(name, '/') && !strchr(name, ' ') ? name
											    : NULL;
}

/* Nothing but an orchestrator's folder may begin a path, lest it pose as a pod or a unit. */
static const char *valid_path(const struct container_facts *f)
{
	const char *path = f->path ? f->path : "";

	if (strncmp(path, "/swarm/", 7) != 0 && strncmp(path, "/nomad/", 7) != 0)
		return NULL;
	return is_printable(path, KUBE_NAME_BYTES - 1) && !strstr(path, "//") ? path : NULL;
}

/* What is executed in it is called so, and no source names it: the image is that of another. */
static bool is_likely_sandbox(const struct container_facts *f, bool is_pause)
{
	return is_pause && !f->sandbox && !part_or_null(f->name) && part_or_null(f->likely_name);
}

/* is_pause: what is executed in it is called so. */
static const char *name_in_pod(const struct container_facts *f, bool is_pause)
{
	const char *known = f->sandbox ? CONTAINER_SANDBOX_NAME : part_or_null(f->name);

	if (known)
		return known;
	return is_pause ? CONTAINER_SANDBOX_NAME : part_or_null(f->likely_name);
}

static bool names_pod(const struct container_facts *f)
{
	return kube_part_is_valid(f->namespace) && kube_part_is_valid(f->pod) &&
	       name_in_pod(f, false);
}

bool container_facts_have_name(const struct container_facts *f)
{
	return names_pod(f) || (!has(f->pod) && (valid_path(f) || plain_name(f)));
}

bool container_facts_are_guess(const struct container_facts *f)
{
	return names_pod(f) &&
	       (!kube_part_is_valid(f->owner) || (!f->sandbox && !kube_part_is_valid(f->name)));
}

/* Returns 0, or -EINVAL if the facts are not those of a container in a pod. */
static int name_in_kubernetes(const struct container_facts *f, bool is_pause,
			      const struct container_name_rules *rules,
			      char service[static KUBE_NAME_BYTES], char id[static KUBE_NAME_BYTES])
{
	const struct kube_pod pod = {
		.namespace = f->namespace,
		.pod = f->pod,
		.container = name_in_pod(f, is_pause),
		.owner = part_or_null(f->owner),
		.node = rules->node,
		.is_static = f->is_static,
	};
	int r;

	if (!names_pod(f))
		return -EINVAL;
	r = kube_service_name(service, &pod, rules->naming, rules->now_s);
	return r == 0 ? kube_container_id(id, &pod, rules->naming, rules->now_s) : r;
}

/* No kubelet runs podman: only labels, which anybody may set, can say that it is in a pod. */
static struct container_facts without_pod(const struct container_facts *facts)
{
	struct container_facts f = *facts;

	f.namespace = f.pod = f.pod_uid = f.owner = NULL;
	f.sandbox = false;
	return f;
}

int container_name(struct workload **ret, const struct workload *raw,
		   const struct container_facts *facts, const struct container_name_rules *rules)
{
	const struct container_facts known =
		raw->kind == CGROUP_PODMAN ? without_pod(facts) : *facts;
	const struct container_facts *f = &known;
	char service[KUBE_NAME_BYTES], id[KUBE_NAME_BYTES];
	struct workload_names names = {
		.service = raw->service,
		.container_id = raw->container_id,
		.pod_uid = part_or_null(f->pod_uid),
		.profiling_disabled = f->profiling_disabled,
	};
	const char *path = valid_path(f), *name = plain_name(f);

	if (!names.pod_uid)
		names.pod_uid = raw->pod_uid;
	if (f->image && is_printable(f->image, CONTAINER_IMAGE_BYTES - 1) &&
	    !is_likely_sandbox(f, raw->is_pause))
		names.image = f->image;
	if (name_in_kubernetes(f, raw->is_pause, rules, service, id) == 0) {
		names.service = service;
		names.container_id = id;
		names.namespace = f->namespace;
		names.pod = f->pod;
		names.container = name_in_pod(f, raw->is_pause);
		names.labels = f->labels;
	} else if (!has(f->pod) && path) {
		names.service = names.container_id = path;
		names.container = name;
	} else if (!has(f->pod) && name && container_kind_has_names(raw->kind)) {
		snprintf(id, sizeof(id), "/%s/%s", folder_of(raw->kind, f), name);
		names.service = names.container_id = id;
		names.container = name;
	}
	return workload_new_named(ret, raw, &names);
}
