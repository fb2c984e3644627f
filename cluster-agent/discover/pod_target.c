/*
 * The rest of a target besides its annotations: whether the pod runs, where it is, and which
 * containers are behind its ports.
 *
 * A pod may name any port, scheme and path, but never a host: requests go to the address that
 * the kubelet reported. Otherwise an annotation could make the agent send its scrape
 * credentials anywhere.
 *
 * The container matters because its profiles are named after it, and because heap profiles only
 * grow: when it restarts, its values start over. A restart is visible in the pod's status.
 */
#include "cluster-agent/discover/pod_target.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <netinet/in.h>

#include "cluster-agent/discover/pod_annotations.h"
#include "cluster-agent/discover/scrape_target.h"
#include "common/kubernetes/kube_pod.h"
#include "common/text/kube_names.h"

/* ---- the service ---- */

static const char *first_container(const json_t *spec)
{
	const json_t *container = json_array_get(json_object_get(spec, "containers"), 0);

	return kube_part_text(json_object_get(container, "name"));
}

/*
 * Makes the service in that naming. container is the one behind the scraped ports, or NULL if
 * that is not known; Coroot's naming then takes the pod's first. now_s is as in kube_names.h.
 * Returns 0, or -EINVAL if the pod has no valid namespace and name.
 */
static int pod_service_name(char ret[static KUBE_NAME_BYTES], const json_t *pod,
			    enum kube_naming naming, const char *container, int64_t now_s)
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

#define MAX_CONTAINER_BYTES 512

/* ---- whether it runs ---- */

/* Counts the containers in a list of statuses, and those of them that have ended. */
static void count_ended(const json_t *statuses, size_t *n, size_t *n_ended)
{
	const json_t *status;
	size_t i;

	json_array_foreach (statuses, i, status) {
		(*n)++;
		if (json_object_get(json_object_get(status, "state"), "terminated"))
			(*n_ended)++;
	}
}

/*
 * A pod that is being deleted works until its containers have ended; until it is deleted, its
 * phase stays Running.
 */
static bool is_running(const json_t *pod)
{
	const json_t *status = json_object_get(pod, "status");
	const char *phase = json_string_value(json_object_get(status, "phase"));
	size_t n = 0, n_ended = 0;

	if (!phase || strcmp(phase, "Running") != 0)
		return false;
	if (!json_object_get(json_object_get(pod, "metadata"), "deletionTimestamp"))
		return true;
	count_ended(json_object_get(status, "containerStatuses"), &n, &n_ended);
	count_ended(json_object_get(status, "initContainerStatuses"), &n, &n_ended);
	return n == 0 || n_ended < n;
}

/* ---- container ---- */

static const json_t *find_status(const json_t *statuses, const char *name)
{
	const json_t *status;
	size_t i;

	json_array_foreach (statuses, i, status) {
		const char *s = json_string_value(json_object_get(status, "name"));

		if (s && strcmp(s, name) == 0)
			return status;
	}
	return NULL;
}

/* Makes "containerd://0123…/2": the container and its number of restarts. "" if not known. */
static void read_process(char ret[static MAX_CONTAINER_BYTES], const json_t *pod, const char *name)
{
	const json_t *statuses = json_object_get(pod, "status");
	const json_t *status = find_status(json_object_get(statuses, "containerStatuses"), name);
	const char *id;

	ret[0] = '\0';
	if (!status)
		status = find_status(json_object_get(statuses, "initContainerStatuses"), name);
	id = json_string_value(json_object_get(status, "containerID"));
	if (id)
		snprintf(ret, MAX_CONTAINER_BYTES, "%s/%" JSON_INTEGER_FORMAT, id,
			 json_integer_value(json_object_get(status, "restartCount")));
}

/* ---- target ---- */

static const char *copy(struct arena *arena, const char *s)
{
	return arena_strndup(arena, s, strlen(s));
}

static int add_container(struct scrape_target *t, struct arena *arena, const json_t *pod,
			 const char *name, int64_t now_s)
{
	char process[MAX_CONTAINER_BYTES], service[KUBE_NAME_BYTES];
	struct scrape_container *c = &t->containers[t->n_containers++];
	int r = pod_service_name(service, pod, KUBE_NAMING_COROOT, name, now_s);

	if (r < 0)
		return -EBADMSG;
	read_process(process, pod, name);
	c->name = copy(arena, name);
	c->coroot_service = copy(arena, service);
	c->process = copy(arena, process);
	return c->name && c->coroot_service && c->process ? 0 : -ENOMEM;
}

/* Finds the container of each endpoint. */
static int set_containers(struct scrape_target *t, struct arena *arena, const json_t *pod,
			  int64_t now_s)
{
	t->containers = arena_calloc(arena, SCRAPE_TARGET_MAX_CONTAINERS, sizeof(*t->containers));
	if (!t->containers)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_endpoints; i++) {
		struct scrape_endpoint *e = &t->endpoints[i];
		const char *name = pod_ports_container(pod, e->port);
		int r = 0;

		if (!name || !kube_part_is_valid(name))
			name = "";
		e->container = 0;
		while (e->container < t->n_containers &&
		       strcmp(t->containers[e->container].name, name) != 0)
			e->container++;
		if (e->container == t->n_containers)
			r = add_container(t, arena, pod, name, now_s);
		if (r < 0)
			return r;
	}
	return 0;
}

static int copy_endpoints(struct scrape_target *ret, struct arena *arena,
			  const struct pod_annotations *a)
{
	ret->endpoints = arena_calloc(arena, a->n_endpoints + 1, sizeof(ret->endpoints[0]));
	if (!ret->endpoints)
		return -ENOMEM;
	memcpy(ret->endpoints, a->endpoints, a->n_endpoints * sizeof(a->endpoints[0]));
	ret->n_endpoints = a->n_endpoints;
	return 0;
}

static int fill(struct scrape_target *ret, struct arena *arena, const json_t *pod,
		const struct pod_annotations *a, int64_t now_s)
{
	const json_t *spec = json_object_get(pod, "spec");
	const char *node = kube_part_text(json_object_get(spec, "nodeName"));
	char service[KUBE_NAME_BYTES];
	int r = pod_service_name(service, pod, KUBE_NAMING_OWN, NULL, now_s);

	if (r < 0)
		return -EBADMSG;
	ret->uid = copy(arena, ret->uid);
	ret->namespace = copy(arena, ret->namespace);
	ret->pod = copy(arena, ret->pod);
	ret->ip = copy(arena, ret->ip);
	ret->node = copy(arena, node ? node : "");
	ret->service = copy(arena, service);
	ret->problem = copy(arena, a->problem);
	if (!ret->uid || !ret->namespace || !ret->pod || !ret->ip || !ret->node || !ret->service ||
	    !ret->problem)
		return -ENOMEM;
	r = copy_endpoints(ret, arena, a);
	return r == 0 ? set_containers(ret, arena, pod, now_s) : r;
}

int pod_target_make(struct scrape_target *ret, struct arena *arena, const json_t *pod,
		    const bool default_kinds[static PROFILE_KIND_MAX], int64_t now_s)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *podip = json_object_get(json_object_get(pod, "status"), "podIP");
	struct scrape_target t = {
		.uid = kube_part_text(json_object_get(metadata, "uid")),
		.namespace = kube_part_text(json_object_get(metadata, "namespace")),
		.pod = kube_part_text(json_object_get(metadata, "name")),
	};
	struct pod_annotations a;
	char ip[INET6_ADDRSTRLEN] = "";
	int r;

	if (!t.uid || !t.namespace || !t.pod)
		return -EBADMSG;
	if (!is_running(pod) || json_string_length(podip) == 0)
		return 0;
	r = pod_annotations_read(&a, arena, pod, default_kinds);
	if (r <= 0)
		return r;
	if (!target_address_read(ip, json_string_value(podip))) {
		ip[0] = '\0';
		a.n_endpoints = 0;
		snprintf(a.problem, sizeof(a.problem), "the pod has no usable address");
	}
	t.ip = ip;
	r = fill(&t, arena, pod, &a, now_s);
	if (r < 0)
		return r;
	*ret = t;
	return 1;
}
