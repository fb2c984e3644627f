/*
 * Annotations are read out of Pod objects, so a container becomes one: its labels are the
 * annotations, and its ports those of the pod's only container. Nothing else of it is looked at
 * there.
 *
 * podman says of every container that it uses the host's network, so that is believed only of one
 * that has no address.
 */
#include "cluster-agent/discover/docker_targets.h"

#include <errno.h>

#include "cluster-agent/discover/annotation_keys.h"
#include "cluster-agent/discover/pod_annotations.h"
#include "cluster-agent/discover/pod_target.h"
#include "cluster-agent/discover/scrape_target.h"
#include "common/text/kube_names.h"
#include "common/text/swarm_names.h"

#define ID_LEN 64
#define NAME_MAX_LEN 255
/*
 * Of those about us, which an image may bring along: each that is unknown is compared with all that
 * are known. There are fewer known ones.
 */
#define LABELS_MAX 100u
#define UID_PREFIX "docker/"
#define SHARED_NETWORK "container:"
/* Swarm's network between nodes and published ports, which no container is asked in. */
#define INGRESS "ingress"

struct reader {
	const struct docker_targets_reader *cfg;
	const json_t *list;
	struct arena arena; /* of one container */
	unsigned n;
};

/* NULL if missing, "", with a NUL in it, or not a string. */
static const char *get_string(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	const char *s = json_string_value(v);

	return s && s[0] && strlen(s) == json_string_length(v) ? s : NULL;
}

/* ---- names ---- */

static bool consists_of(const char *s, const char *more)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

	for (; *s; s++)
		if (!strchr(plain, *s) && !strchr(more, *s))
			return false;
	return true;
}

static bool id_is_valid(const char *s)
{
	return s && strspn(s, "0123456789abcdef") == ID_LEN && s[ID_LEN] == '\0';
}

/* A list has several names if others link to the container: "/web", "/other/alias". */
static const char *own_name(const json_t *names)
{
	json_t *value;
	size_t i;

	json_array_foreach (names, i, value) {
		const char *name = json_string_value(value);

		if (name && name[0] == '/')
			name++;
		if (name && name[0] && strlen(name) <= NAME_MAX_LEN && consists_of(name, ""))
			return name;
	}
	return NULL;
}

/* What the node agent calls it: docs/naming.md. */
static void name_service(char ret[static KUBE_NAME_BYTES], const struct reader *r,
			 const json_t *labels, const char *name)
{
	bool is_swarm = swarm_name(ret, KUBE_NAME_BYTES, get_string(labels, SWARM_LABEL_TASK),
				   get_string(labels, SWARM_LABEL_SERVICE),
				   get_string(labels, SWARM_LABEL_STACK));

	if (!is_swarm || !consists_of(ret, "/") || strstr(ret, "//"))
		snprintf(ret, KUBE_NAME_BYTES, "/%s/%s", r->cfg->is_podman ? "podman" : "docker",
			 name);
}

/* ---- address ---- */

static bool read_address(char ret[static INET6_ADDRSTRLEN], const json_t *network)
{
	const char *v4 = get_string(network, "IPAddress");
	const char *v6 = get_string(network, "GlobalIPv6Address");

	return (v4 && target_address_read(ret, v4)) || (v6 && target_address_read(ret, v6));
}

static json_t *networks_of(const json_t *c)
{
	return json_object_get(json_object_get(c, "NetworkSettings"), "Networks");
}

static bool find_in_networks(char ret[static INET6_ADDRSTRLEN], json_t *networks)
{
	const char *name;
	json_t *network;

	json_object_foreach (networks, name, network)
		if (strcmp(name, INGRESS) != 0 && read_address(ret, network))
			return true;
	return false;
}

static const json_t *find_container(const struct reader *r, const char *id)
{
	json_t *c;
	size_t i;

	json_array_foreach (r->list, i, c) {
		const char *other = get_string(c, "Id");

		if (other && strcmp(other, id) == 0)
			return c;
	}
	return NULL;
}

static bool uses_host_network(const char *mode, const json_t *networks)
{
	return mode && strcmp(mode, "host") == 0 &&
	       (json_object_size(networks) == 0 || json_object_get(networks, "host"));
}

/* Makes *ret "" if none is known. */
static void find_address(char ret[static INET6_ADDRSTRLEN], const struct reader *r, const json_t *c)
{
	const char *mode = get_string(json_object_get(c, "HostConfig"), "NetworkMode");

	if (mode && strncmp(mode, SHARED_NETWORK, strlen(SHARED_NETWORK)) == 0) {
		c = find_container(r, mode + strlen(SHARED_NETWORK));
		mode = get_string(json_object_get(c, "HostConfig"), "NetworkMode");
	}
	ret[0] = '\0';
	if (find_in_networks(ret, networks_of(c)))
		return;
	if (uses_host_network(mode, networks_of(c)))
		snprintf(ret, INET6_ADDRSTRLEN, "127.0.0.1");
	else
		ret[0] = '\0';
}

/* ---- labels ---- */

/* The ports of Docker's list as those of a container in a pod; NULL if out of memory. */
static json_t *make_ports(const json_t *ports)
{
	json_t *ret = json_array(), *port;
	size_t i;

	json_array_foreach (ports, i, port) {
		const char *type = get_string(port, "Type");
		json_int_t number = json_integer_value(json_object_get(port, "PrivatePort"));

		if (type && strcmp(type, "tcp") == 0 &&
		    json_array_append_new(ret, json_pack("{s:I}", "containerPort", number)) < 0) {
			json_decref(ret);
			return NULL;
		}
	}
	return ret;
}

static bool is_about_us(const char *key)
{
	static const char *const prefixes[] = {"coroot.com/", ANNOTATION_GRAFANA,
					       ANNOTATION_PYROSCOPE};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Those labels that are about us; NULL if out of memory. */
static json_t *choose_labels(json_t *labels)
{
	json_t *ret = json_object(), *value;
	const char *key;

	json_object_foreach (labels, key, value)
		if (ret && is_about_us(key) && json_object_set(ret, key, value) < 0) {
			json_decref(ret);
			ret = NULL;
		}
	return ret;
}

/* A Pod object with what pod_annotations_read() looks at; NULL if out of memory. */
static json_t *make_pod(const json_t *c, json_t *labels, const char *name)
{
	json_t *ports = make_ports(json_object_get(c, "Ports"));

	return ports ? json_pack("{s:{s:O}, s:{s:[{s:s, s:o}]}}", "metadata", "annotations", labels,
				 "spec", "containers", "name", name, "ports", ports)
		     : NULL;
}

static bool is_of_pod(const json_t *labels)
{
	return json_object_get(labels, "io.kubernetes.pod.name") != NULL;
}

static bool is_running(const json_t *c)
{
	const char *state = get_string(c, "State");

	return !state || strcmp(state, "running") == 0;
}

/* ---- targets ---- */

static void pass_on(struct reader *r, const json_t *c, const char *name, struct pod_annotations *a)
{
	char ip[INET6_ADDRSTRLEN], service[KUBE_NAME_BYTES];
	char uid[sizeof(UID_PREFIX) + ID_LEN];
	struct scrape_container container = {.name = name, .coroot_service = "", .process = ""};
	const char *runtime = r->cfg->is_podman ? "podman" : "docker";
	const struct scrape_label labels[] = {{"job", runtime}, {"container.id", service}};

	find_address(ip, r, c);
	name_service(service, r, json_object_get(c, "Labels"), name);
	snprintf(uid, sizeof(uid), UID_PREFIX "%s", get_string(c, "Id"));
	if (!ip[0] && a->n_endpoints > 0) {
		a->n_endpoints = 0;
		snprintf(a->problem, sizeof(a->problem), "the container has no usable address");
	}
	r->cfg->target(r->cfg->ctx, &(struct scrape_target){
					    .uid = uid,
					    .namespace = runtime,
					    .pod = name,
					    .node = "",
					    .service = service,
					    .ip = ip,
					    .problem = a->problem,
					    .containers = &container,
					    .n_containers = 1,
					    .endpoints = a->endpoints,
					    .n_endpoints = a->n_endpoints,
					    .is_local = true,
					    .labels = labels,
					    .n_labels = ARRAY_SIZE(labels),
				    });
}

/* As pod_annotations_read(). */
static int read_labels(struct pod_annotations *ret, struct reader *r, const json_t *c,
		       const char *name)
{
	CLEANUP(json_decrefp) json_t *labels = choose_labels(json_object_get(c, "Labels"));
	CLEANUP(json_decrefp) json_t *pod = NULL;

	if (!labels)
		return -ENOMEM;
	if (json_object_size(labels) > LABELS_MAX) {
		ret->n_endpoints = 0;
		snprintf(ret->problem, sizeof(ret->problem), "more than %u labels about profiles",
			 LABELS_MAX);
		return 1;
	}
	if (json_object_size(labels) == 0)
		return 0;
	pod = make_pod(c, labels, name);
	return pod ? pod_annotations_read(ret, &r->arena, pod, r->cfg->default_kinds) : -ENOMEM;
}

static int read_container(struct reader *r, const json_t *c)
{
	const char *name = own_name(json_object_get(c, "Names"));
	struct pod_annotations a;
	int result;

	if (!name || !id_is_valid(get_string(c, "Id")) || !is_running(c) ||
	    is_of_pod(json_object_get(c, "Labels")))
		return 0;
	result = read_labels(&a, r, c, name);
	if (result > 0 && ++r->n > DOCKER_TARGETS_MAX)
		result = -ENOSPC;
	if (result > 0)
		pass_on(r, c, name, &a);
	arena_clear(&r->arena);
	return result < 0 ? result : 0;
}

static int read_list(struct reader *r)
{
	json_t *c;
	size_t i;

	if (!json_is_array(r->list))
		return -EBADMSG;
	json_array_foreach (r->list, i, c) {
		int result = read_container(r, c);

		if (result < 0)
			return result;
	}
	return 0;
}

int docker_targets_read(const char *text, size_t len, const struct docker_targets_reader *cfg)
{
	CLEANUP(json_decrefp) json_t *list = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	struct reader r = {.cfg = cfg, .list = list};
	int result;

	if (!list)
		return -EBADMSG;
	arena_init(&r.arena, POD_TARGET_ARENA_BYTES);
	result = read_list(&r);
	arena_fini(&r.arena);
	return result;
}
