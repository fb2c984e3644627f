#include "cluster-agent/operator/render/object_parts.h"

#include <errno.h>

#include "common/data/hash.h"

#define PROBE_TIMEOUT_S 5 /* a busy node answers late */
#define CLUSTER_NAME_MAX 253

/* Another reference. */
static json_t *share(const json_t *v)
{
	return json_pack("O", v);
}

int object_set_shared(json_t *object, const char *key, const json_t *v)
{
	if (!v || (json_is_array(v) && json_array_size(v) == 0) ||
	    (json_is_object(v) && json_object_size(v) == 0))
		return 0;
	return json_object_set_new(object, key, share(v)) < 0 ? -ENOMEM : 0;
}

int object_set_made(json_t *object, const char *key, json_t *v)
{
	int r = v ? object_set_shared(object, key, v) : -ENOMEM;

	json_decref(v);
	return r;
}

int object_set_text(json_t *object, const char *key, const char *value)
{
	return value && json_object_set_new(object, key, json_string(value)) < 0 ? -ENOMEM : 0;
}

int object_set_number(json_t *object, const char *key, int64_t value)
{
	return value && json_object_set_new(object, key, json_integer(value)) < 0 ? -ENOMEM : 0;
}

/* Appends what was made, or fails because it could not be made. */
static int append(json_t *array, json_t *v)
{
	return json_array_append_new(array, v) < 0 ? -ENOMEM : 0;
}

json_t *object_selector_labels(const struct coroot_spec *s, const char *component)
{
	return json_pack("{s:s s:s s:s}", "app.kubernetes.io/managed-by", OBJECT_MANAGED_BY,
			 "app.kubernetes.io/part-of", s->name, "app.kubernetes.io/component",
			 component);
}

static json_t *object_labels(const struct coroot_spec *s, const char *component)
{
	json_t *labels = object_selector_labels(s, component);

	if (labels && json_object_set_new(labels, OBJECT_OWNER_LABEL, json_string(s->uid)) < 0) {
		json_decref(labels);
		return NULL;
	}
	return labels;
}

static json_t *owner_references(const struct coroot_spec *s)
{
	return json_pack("[{s:s s:s s:s s:s s:b s:b}]", "apiVersion", "coroot.com/v1", "kind",
			 "Coroot", "name", s->name, "uid", s->uid, "controller", 1,
			 "blockOwnerDeletion", 1);
}

json_t *object_name(const struct coroot_spec *s, const char *suffix)
{
	return suffix ? json_sprintf("%s-%s", s->name, suffix) : json_string(s->name);
}

json_t *object_metadata(const struct coroot_spec *s, const char *component, const char *suffix,
			const json_t *annotations, bool owned)
{
	json_t *m = json_pack("{s:o s:s s:o}", "name", object_name(s, suffix), "namespace",
			      s->namespace, "labels", object_labels(s, component));

	if (m && (object_set_shared(m, "annotations", annotations) < 0 ||
		  (owned && json_object_set_new(m, "ownerReferences", owner_references(s)) < 0))) {
		json_decref(m);
		return NULL;
	}
	return m;
}

/*
 * A namespace has no dots, nor has a suffix, so no two resources have the same name. One that is
 * too long is replaced by its hash.
 */
static json_t *cluster_name(const struct coroot_spec *s, const char *suffix)
{
	json_t *name = json_sprintf("%s.%s.%s", s->namespace, s->name, suffix);
	const char *text = json_string_value(name);
	uint64_t hash;

	if (!text || strlen(text) <= CLUSTER_NAME_MAX)
		return name;
	hash = fnv1a64(FNV1A64_INIT, text, strlen(text));
	json_decref(name);
	return json_sprintf("%016llx.%s", (unsigned long long)hash, suffix);
}

json_t *object_cluster_metadata(const struct coroot_spec *s, const char *component,
				const char *suffix)
{
	json_t *name = cluster_name(s, suffix);

	return json_pack("{s:o s:o}", "name", name, "labels", object_labels(s, component));
}

int object_env_text(json_t *env, const char *name, const char *value)
{
	return append(env, json_pack("{s:s s:s}", "name", name, "value", value));
}

int object_env_secret(json_t *env, const char *name, const struct coroot_secret_key *key)
{
	return append(env, json_pack("{s:s s:{s:{s:s s:s}}}", "name", name, "valueFrom",
				     "secretKeyRef", "name", key->name, "key", key->key));
}

int object_env_field(json_t *env, const char *name, const char *field_path)
{
	return append(env, json_pack("{s:s s:{s:{s:s}}}", "name", name, "valueFrom", "fieldRef",
				     "fieldPath", field_path));
}

static const char *env_name(const json_t *variable)
{
	return json_string_value(json_object_get(variable, "name"));
}

static void remove_env(json_t *env, const char *name)
{
	for (size_t i = json_array_size(env); i-- > 0;) {
		const char *other = env_name(json_array_get(env, i));

		if (other && !strcmp(other, name))
			json_array_remove(env, i);
	}
}

int object_env_user(json_t *env, const json_t *user)
{
	for (size_t i = 0; i < json_array_size(user); i++) {
		const json_t *variable = json_array_get(user, i);

		if (env_name(variable))
			remove_env(env, env_name(variable));
		/* at the end, because $(NAME) refers to what precedes */
		if (append(env, share(variable)) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The user's pull secrets and the operator's, which may be one of them. */
static json_t *pull_secrets(const struct object_pod *p)
{
	json_t *all = p->pod->image.pull_secrets ? json_deep_copy(p->pod->image.pull_secrets)
						 : json_array();

	for (size_t i = 0; p->pull_secret && i < json_array_size(all); i++) {
		const char *name = env_name(json_array_get(all, i));

		if (name && !strcmp(name, p->pull_secret))
			return all;
	}
	if (all && p->pull_secret &&
	    json_array_append_new(all, json_pack("{s:s}", "name", p->pull_secret)) < 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

/* What the user may say of every component. */
static int set_placement(json_t *spec, const struct object_pod *p)
{
	if (object_set_text(spec, "priorityClassName", p->priority_class) < 0 ||
	    object_set_shared(spec, "nodeSelector", p->pod->node_selector) < 0 ||
	    object_set_shared(spec, "affinity", p->pod->affinity) < 0 ||
	    object_set_shared(spec, "tolerations", p->pod->tolerations) < 0)
		return -ENOMEM;
	return object_set_made(spec, "imagePullSecrets", pull_secrets(p));
}

static json_t *pod_metadata(const struct object_pod *p)
{
	json_t *m = json_pack("{s:o}", "labels", object_selector_labels(p->spec, p->component));

	if (m && object_set_shared(m, "annotations", p->pod->annotations) < 0) {
		json_decref(m);
		return NULL;
	}
	return m;
}

/* enableServiceLinks: the pod does not want a variable for each Service of its namespace. */
static json_t *pod_spec(const struct object_pod *p)
{
	return json_pack("{s:o s:b s:b}", "serviceAccountName",
			 object_name(p->spec, p->service_account), "automountServiceAccountToken",
			 p->mounts_token, "enableServiceLinks", 0);
}

json_t *object_pod_template(const struct object_pod *p)
{
	json_t *spec = pod_spec(p);
	int r = spec ? 0 : -ENOMEM;

	if (r == 0 && p->host_pid)
		r = json_object_set_new(spec, "hostPID", json_true());
	if (r == 0)
		r = set_placement(spec, p);
	if (r == 0)
		r = object_set_number(spec, "terminationGracePeriodSeconds",
				      p->termination_grace_s);
	/* all four are taken over, also after a failure */
	r = object_set_made(spec, "securityContext", p->security_context) < 0 ? -ENOMEM : r;
	if (p->init_containers)
		r = object_set_made(spec, "initContainers", p->init_containers) < 0 ? -ENOMEM : r;
	r = object_set_made(spec, "containers", p->containers) < 0 ? -ENOMEM : r;
	r = object_set_made(spec, "volumes", p->volumes) < 0 ? -ENOMEM : r;
	if (r < 0) {
		json_decref(spec);
		return NULL;
	}
	return json_pack("{s:o s:o}", "metadata", pod_metadata(p), "spec", spec);
}

json_t *object_restricted_pod(void)
{
	return json_pack("{s:b s:i s:i s:i s:s s:{s:s}}", "runAsNonRoot", 1, "runAsUser",
			 OBJECT_NOBODY, "runAsGroup", OBJECT_NOBODY, "fsGroup", OBJECT_NOBODY,
			 "fsGroupChangePolicy", "OnRootMismatch", "seccompProfile", "type",
			 "RuntimeDefault");
}

json_t *object_restricted_container(void)
{
	return json_pack("{s:b s:b s:{s:[s]}}", "allowPrivilegeEscalation", 0,
			 "readOnlyRootFilesystem", 1, "capabilities", "drop", "ALL");
}

/* One of both maps, if the user has not given it. */
static int set_default_resources(json_t *resources, const char *key, const char *cpu,
				 const char *memory)
{
	json_t *map;

	if ((!cpu && !memory) || json_object_get(resources, key))
		return 0;
	map = json_object();
	if (object_set_text(map, "cpu", cpu) < 0 || object_set_text(map, "memory", memory) < 0) {
		json_decref(map);
		return -ENOMEM;
	}
	return object_set_made(resources, key, map);
}

json_t *object_resources(const json_t *user, const char *cpu_request, const char *memory_request,
			 const char *cpu_limit, const char *memory_limit)
{
	json_t *resources = user ? json_deep_copy(user) : json_object();

	if (resources &&
	    (set_default_resources(resources, "requests", cpu_request, memory_request) < 0 ||
	     set_default_resources(resources, "limits", cpu_limit, memory_limit) < 0)) {
		json_decref(resources);
		return NULL;
	}
	return resources;
}

json_t *object_http_probe(const char *path, const char *port, bool tls, int64_t period_s,
			  int64_t failures)
{
	return json_pack("{s:{s:s s:s s:s} s:I s:i s:I}", "httpGet", "path", path, "port", port,
			 "scheme", tls ? "HTTPS" : "HTTP", "periodSeconds", (json_int_t)period_s,
			 "timeoutSeconds", PROBE_TIMEOUT_S, "failureThreshold",
			 (json_int_t)failures);
}
