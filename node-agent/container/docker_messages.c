/*
 * Orchestrators leave what they know about a container in its labels: dockershim and cri-dockerd
 * the pod, Swarm the service and the task. Labels are in every kind of answer, so the list and
 * the events name a container as well as its own answer does. Only Nomad uses the environment,
 * which is in no other answer; its containers are recognised by their label, or by their name,
 * which ends in the id of the allocation.
 *
 * Paths of Swarm and Nomad are those of coroot-node-agent (containers/registry.go), because
 * Coroot's server finds the application by them.
 */
#include "node-agent/container/docker_messages.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>

#include "common/text/swarm_names.h"

#define UUID_LEN 36
#define PATH_BYTES 1024

/* In the order of the path. */
enum {
	NOMAD_NAMESPACE,
	NOMAD_JOB_NAME,
	NOMAD_GROUP_NAME,
	NOMAD_ALLOC_ID,
	NOMAD_TASK_NAME,
	NOMAD_VARIABLES,
};

static const char *const nomad_variables[NOMAD_VARIABLES] = {
	[NOMAD_NAMESPACE] = "NOMAD_NAMESPACE=",   [NOMAD_JOB_NAME] = "NOMAD_JOB_NAME=",
	[NOMAD_GROUP_NAME] = "NOMAD_GROUP_NAME=", [NOMAD_ALLOC_ID] = "NOMAD_ALLOC_ID=",
	[NOMAD_TASK_NAME] = "NOMAD_TASK_NAME=",
};

/* NULL if missing, "" or not a string. */
static const char *get_string(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s && s[0] ? s : NULL;
}

bool docker_id_is_valid(const char *s)
{
	return s && strspn(s, "0123456789abcdef") == DOCKER_ID_LEN && s[DOCKER_ID_LEN] == '\0';
}

static const char *without_slash(const char *name)
{
	return name && name[0] == '/' ? name + 1 : name;
}

/* A list has several names if others link to the container: "/web", "/other/alias". */
static const char *own_name(const json_t *names)
{
	const json_t *value;
	size_t i;

	json_array_foreach (names, i, value) {
		const char *name = without_slash(json_string_value(value));

		if (name && name[0] && !strchr(name, '/'))
			return name;
	}
	return NULL;
}

/* Returns path, or NULL if it does not fit. */
static const char *put_path(char path[static PATH_BYTES], int n)
{
	return n > 0 && n < PATH_BYTES ? path : NULL;
}

static const char *swarm_path(const json_t *labels, char path[static PATH_BYTES])
{
	return swarm_name(path, PATH_BYTES, get_string(labels, SWARM_LABEL_TASK),
			  get_string(labels, SWARM_LABEL_SERVICE),
			  get_string(labels, SWARM_LABEL_STACK))
		       ? path
		       : NULL;
}

/* /nomad/<namespace>/<job>/<group>/<allocation>/<task>, if the environment has all of them. */
static const char *nomad_path(const json_t *env, char path[static PATH_BYTES])
{
	const char *values[NOMAD_VARIABLES] = {0};
	const json_t *value;
	size_t i;

	json_array_foreach (env, i, value) {
		const char *s = json_string_value(value);

		for (size_t k = 0; s && k < NOMAD_VARIABLES; k++)
			if (strncmp(s, nomad_variables[k], strlen(nomad_variables[k])) == 0)
				values[k] = s + strlen(nomad_variables[k]);
	}
	for (size_t k = 0; k < NOMAD_VARIABLES; k++)
		if (!values[k] || !values[k][0])
			return NULL;
	return put_path(path,
			snprintf(path, PATH_BYTES, "/nomad/%s/%s/%s/%s/%s", values[NOMAD_NAMESPACE],
				 values[NOMAD_JOB_NAME], values[NOMAD_GROUP_NAME],
				 values[NOMAD_ALLOC_ID], values[NOMAD_TASK_NAME]));
}

/* Nomad calls its containers <task>-<uuid of the allocation>. */
static bool ends_in_uuid(const char *name)
{
	size_t len = name ? strlen(name) : 0;

	if (len < UUID_LEN + 2 || name[len - UUID_LEN - 1] != '-')
		return false;
	name += len - UUID_LEN;
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? name[i] != '-' : !isxdigit((unsigned char)name[i]))
			return false;
	}
	return true;
}

static void add_pod(struct container_facts *f, const json_t *labels)
{
	const char *type = get_string(labels, "io.kubernetes.docker.type");

	f->pod = get_string(labels, "io.kubernetes.pod.name");
	if (!f->pod)
		return;
	f->namespace = get_string(labels, "io.kubernetes.pod.namespace");
	f->pod_uid = get_string(labels, "io.kubernetes.pod.uid");
	f->name = get_string(labels, "io.kubernetes.container.name");
	f->sandbox = (type && strcmp(type, "podsandbox") == 0) ||
		     (f->name && strcmp(f->name, "POD") == 0);
}

/* f has id, name and image. env: NULL if this kind of answer does not have it. */
static void report(const struct docker_reader *r, struct container_facts *f, const json_t *labels,
		   const json_t *env)
{
	char path[PATH_BYTES];
	bool nomad = get_string(labels, "com.hashicorp.nomad.alloc_id") || ends_in_uuid(f->name);

	if (!docker_id_is_valid(f->id))
		return;
	if (r->untrusted) {
		r->container(r->ctx, f, false);
		return;
	}
	add_pod(f, labels);
	f->path = swarm_path(labels, path);
	if (!f->path && env)
		f->path = nomad_path(env, path);
	r->container(r->ctx, f, !f->path && !f->pod && !env && nomad);
}

static int load(json_t **ret, const char *text, size_t len)
{
	if (len > DOCKER_ANSWER_BYTES)
		return -EFBIG;
	*ret = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	return *ret ? 0 : -EBADMSG;
}

int docker_list_read(const char *text, size_t len, const struct docker_reader *r)
{
	CLEANUP(json_decrefp) json_t *list = NULL;
	const json_t *c;
	size_t i;
	int result = load(&list, text, len);

	if (result < 0)
		return result;
	if (!json_is_array(list))
		return -EBADMSG;
	json_array_foreach (list, i, c) {
		struct container_facts f = {
			.id = get_string(c, "Id"),
			.name = own_name(json_object_get(c, "Names")),
			.image = get_string(c, "Image"),
		};

		report(r, &f, json_object_get(c, "Labels"), NULL);
	}
	return 0;
}

int docker_container_read(const char *text, size_t len, const struct docker_reader *r)
{
	CLEANUP(json_decrefp) json_t *c = NULL;
	CLEANUP(json_decrefp) json_t *no_env = NULL;
	const json_t *config, *env;
	struct container_facts f = {0};
	int result = load(&c, text, len);

	if (result < 0)
		return result;
	config = json_object_get(c, "Config");
	env = json_object_get(config, "Env");
	f.id = get_string(c, "Id");
	if (!docker_id_is_valid(f.id) || !json_is_object(config))
		return -EBADMSG;
	no_env = json_array();
	f.name = without_slash(get_string(c, "Name"));
	f.image = get_string(config, "Image");
	report(r, &f, json_object_get(config, "Labels"), json_is_array(env) ? env : no_env);
	return 0;
}

/* ---- events -------------------------------------------------------------------------------- */

void docker_events_init(struct docker_events *e)
{
	*e = (struct docker_events){0};
	buf_init(&e->line, DOCKER_EVENT_BYTES);
}

void docker_events_fini(struct docker_events *e)
{
	buf_fini(&e->line);
	e->skipping = false;
}

/* An event's attributes are name, image and all labels in one object. */
static int read_event(const char *text, size_t len, const struct docker_reader *r)
{
	CLEANUP(json_decrefp) json_t *event = NULL;
	const char *type, *action;
	const json_t *actor, *attributes;
	struct container_facts f = {0};
	int result = load(&event, text, len);

	if (result < 0)
		return result;
	type = get_string(event, "Type");
	action = get_string(event, "Action");
	if (!type || !action)
		return -EBADMSG;
	if (strcmp(type, "container") != 0 ||
	    (strcmp(action, "create") != 0 && strcmp(action, "start") != 0 &&
	     strcmp(action, "rename") != 0))
		return 0;
	actor = json_object_get(event, "Actor");
	attributes = json_object_get(actor, "Attributes");
	f.id = get_string(actor, "ID");
	f.name = without_slash(get_string(attributes, "name"));
	f.image = get_string(attributes, "image");
	report(r, &f, attributes, NULL);
	return 0;
}

static void end_line(struct docker_events *e, const struct docker_reader *r)
{
	if (e->skipping || (e->line.len > 0 && read_event(e->line.data, e->line.len, r) < 0))
		e->n_bad++;
	e->skipping = false;
	e->line.len = 0;
}

int docker_events_feed(struct docker_events *e, const char *data, size_t len,
		       const struct docker_reader *r)
{
	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t n = newline ? (size_t)(newline - data) : len;
		int result = e->skipping ? 0 : buf_add(&e->line, data, n);

		if (result == -ENOMEM)
			return result;
		if (result < 0)
			e->skipping = true;
		if (newline) {
			end_line(e, r);
			n++;
		}
		data += n;
		len -= n;
	}
	return 0;
}
