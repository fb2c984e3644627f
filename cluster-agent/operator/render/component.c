#include "cluster-agent/operator/render/component.h"

#include <errno.h>

#include "cluster-agent/operator/render/inline_secrets.h"
#include "cluster-agent/operator/spec/spec_values.h"
#include "common/data/hash.h"

#define CLUSTER_NAME_MAX 253

/* ---- values ---- */

void component_made(struct component *c, const char *name, json_t *value)
{
	if (json_object_set_new(c->scope.values, name, value) < 0)
		c->error = -ENOMEM;
}

void component_json(struct component *c, const char *name, const json_t *value)
{
	if (value)
		component_made(c, name, json_pack("O", value));
}

void component_text(struct component *c, const char *name, const char *value)
{
	if (value)
		component_made(c, name, json_string(value));
}

void component_number(struct component *c, const char *name, int64_t value)
{
	if (value)
		component_made(c, name, json_integer(value));
}

void component_flag(struct component *c, const char *name, bool value)
{
	if (value)
		component_made(c, name, json_true());
}

void component_secret(struct component *c, const char *name, const struct coroot_secret_key *key)
{
	if (key->name)
		component_made(c, name, json_pack("{s:s s:s}", "name", key->name, "key", key->key));
}

void component_annotation(struct component *c, const char *name, const char *value)
{
	if (json_object_set_new(c->annotations, name, json_string(value)) < 0)
		c->error = -ENOMEM;
}

/* ---- of every component ---- */

bool component_env_has(const json_t *env, const char *name, const char *value)
{
	for (size_t i = 0; i < json_array_size(env); i++) {
		const json_t *e = json_array_get(env, i);
		const char *n = json_string_value(json_object_get(e, "name"));
		const char *v = json_string_value(json_object_get(e, "value"));

		if (n && !strcmp(n, name) && (!value || (v && !strcmp(v, value))))
			return true;
	}
	return false;
}

/*
 * Of objects without a namespace. A namespace has no dots, nor has a component, so no two resources
 * have the same name. One that is too long is replaced by its hash.
 */
static json_t *cluster_name(const struct coroot_spec *s, const char *component)
{
	json_t *name = json_sprintf("%s.%s.%s", s->namespace, s->name, component);
	const char *text = json_string_value(name);
	uint64_t hash;

	if (!text || strlen(text) <= CLUSTER_NAME_MAX)
		return name;
	hash = fnv1a64(FNV1A64_INIT, text, strlen(text));
	json_decref(name);
	return json_sprintf("%016llx.%s", (unsigned long long)hash, component);
}

/* The user's pull secrets and the operator's, which may be one of them. */
static json_t *pull_secrets(const json_t *users, const char *ours)
{
	json_t *all = users ? json_deep_copy(users) : json_array();

	for (size_t i = 0; ours && i < json_array_size(all); i++) {
		const char *name =
			json_string_value(json_object_get(json_array_get(all, i), "name"));

		if (name && !strcmp(name, ours))
			return all;
	}
	if (all && ours && json_array_append_new(all, json_pack("{s:s}", "name", ours)) < 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

static bool is_less(const json_t *a, const json_t *b)
{
	const char *a_text = json_string_value(a), *b_text = json_string_value(b);
	double x, y;

	/* a number is one that the user gave, of whole CPUs or bytes */
	if ((a_text ? spec_quantity(a_text, &x) : (x = json_number_value(a), 0)) < 0 ||
	    (b_text ? spec_quantity(b_text, &y) : (y = json_number_value(b), 0)) < 0)
		return false;
	return x < y;
}

/*
 * The API server refuses a request above its limit. A default gives way to what the user says of
 * the other one. part is "requests" or "limits", a copy of the defaults of which is changed.
 */
static int fit_defaults(json_t *defaults, const char *part, const json_t *user)
{
	bool are_limits = strcmp(part, "limits") == 0;
	json_t *others = json_object_get(user, are_limits ? "requests" : "limits");
	json_t *of_part = json_object_get(defaults, part), *v;
	const char *key;

	json_object_foreach (others, key, v) {
		json_t *d = json_object_get(of_part, key);

		if (d && (are_limits ? is_less(d, v) : is_less(v, d)) &&
		    json_object_set(of_part, key, v) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What the user gives, and the defaults of those members that are not given. */
static json_t *resources(const struct component *c, const json_t *user)
{
	json_t *all = user ? json_deep_copy(user) : json_object(), *defaults = NULL, *v;
	json_t *part = json_object_get(c->scope.parts[0], "defaultResources");
	const char *key;
	int r = all ? 0 : -ENOMEM;

	if (r == 0 && part)
		r = object_template_fill(&defaults, part, &c->scope);
	json_object_foreach (defaults, key, v)
		if (r == 0 && !json_object_get(all, key) &&
		    (fit_defaults(defaults, key, user) < 0 || json_object_set(all, key, v) < 0))
			r = -ENOMEM;
	json_decref(defaults);
	if (r < 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

/* Members that the user gives replace ours. */
static json_t *container_security(const json_t *user)
{
	json_t *all =
		json_deep_copy(json_object_get(object_templates("agents"), "restrictedContainer"));

	if (all && user && json_object_update_new(all, json_deep_copy(user)) < 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

/* The user's labels; those by which controllers find the pods win. */
static json_t *pod_labels(const struct component *c, const json_t *user)
{
	json_t *all = user ? json_deep_copy(user) : json_object();
	json_t *place = json_string("<selector>"), *ours = NULL;
	int r = all && place ? object_template_fill(&ours, place, &c->scope) : -ENOMEM;

	if (r < 0 || json_object_update(all, ours) < 0) {
		json_decref(all);
		all = NULL;
	}
	json_decref(place);
	json_decref(ours);
	return all;
}

void component_begin(struct component *c, const struct render_input *in, const char *name,
		     const struct coroot_pod *pod, const char *image)
{
	const struct coroot_spec *s = in->spec;

	*c = (struct component){
		.in = in,
		.scope = {.values = json_object(),
			  .parts = {object_templates(name), object_templates("common"),
				    object_templates("agents"),
				    object_templates("clickhouse-parts")}},
		.annotations = pod->annotations ? json_deep_copy(pod->annotations) : json_object(),
	};
	c->error = c->scope.values && c->scope.parts[0] && c->annotations ? 0 : -ENOMEM;
	component_text(c, "resource", s->name);
	component_text(c, "namespace", s->namespace);
	component_text(c, "uid", s->uid);
	component_text(c, "suffix", name);
	component_made(c, "clusterObject", cluster_name(s, name));
	component_text(c, "scrapeInterval", s->metrics_refresh_interval);
	component_text(c, "image", pod->image.name ? pod->image.name : image);
	component_text(c, "imagePullPolicy", pod->image.pull_policy);
	component_made(c, "imagePullSecrets",
		       pull_secrets(pod->image.pull_secrets, in->images->pull_secret));
	component_json(c, "nodeSelector", pod->node_selector);
	component_json(c, "affinity", pod->affinity);
	component_json(c, "tolerations", pod->tolerations);
	component_made(c, "resources", resources(c, pod->resources));
	component_json(c, "podAnnotations", c->annotations);
	component_json(c, "accountAnnotations", pod->account_annotations);
	component_json(c, "env", pod->env);
	component_text(c, "priorityClass", pod->priority_class);
	if (c->error == 0)
		component_made(c, "podLabels", pod_labels(c, pod->labels));
	component_made(c, "containerSecurity", container_security(pod->security));
	component_text(c, "scc", in->images->node_agent_scc ? "nonroot-v2" : NULL);
}

void component_fini(struct component *c)
{
	json_decref(c->scope.values);
	json_decref(c->annotations);
	*c = (struct component){0};
}

void component_storage(struct component *c, const struct coroot_storage *storage, json_t *marks)
{
	json_t *annotations =
		storage->annotations ? json_deep_copy(storage->annotations) : json_object();

	if (marks && json_object_update(annotations, marks) < 0)
		c->error = -ENOMEM;
	component_made(c, "claimAnnotations", annotations);
	component_flag(c, "claimsAreOwned", !storage->retain);
	component_text(c, "storageSize", storage->size);
	component_text(c, "storageClass", storage->class_name);
}

void component_replicas(struct component *c, int64_t n)
{
	component_number(c, "replicas", n);
	component_flag(c, "severalPods", n > 1);
}

/* ---- of both agents ---- */

static void add_url(struct component *c)
{
	const struct coroot_spec *s = c->in->spec;

	if (s->coroot_url)
		component_text(c, "serverUrl", s->coroot_url);
	else
		component_made(c, "serverUrl",
			       json_sprintf("http%s://%s-coroot.%s:%lld",
					    render_tls(c->in) ? "s" : "", s->name, s->namespace,
					    (long long)s->service.port));
}

/* The key, and an annotation that changes with it, as a pod reads variables only when it starts. */
static void add_key(struct component *c)
{
	struct secret_place key;
	char sum[8];
	uint64_t hash;

	inline_agent_key(&key, c->in->spec);
	component_secret(c, "apiKey", &key.key);
	if (!key.text)
		return;
	/*
	 * Pods are read by many who may not read Secrets. 16 bits do not confirm a guess of the
	 * key; the price is that one change in 65536 does not restart the agents.
	 */
	hash = fnv1a64(FNV1A64_INIT, key.text, strlen(key.text));
	hash ^= hash >> 32;
	snprintf(sum, sizeof(sum), "%04x", (unsigned)((hash ^ (hash >> 16)) & 0xffff));
	component_annotation(c, "coroot.com/api-key-checksum", sum);
}

/* Flags by the user's variables of that agent. */
static void add_labels(struct component *c, const json_t *env)
{
	component_flag(c, "namespaceLabels", component_env_has(env, "NAMESPACE_LABELS", NULL));
	component_flag(c, "nodeLabels", component_env_has(env, "NODE_LABELS", NULL));
}

void component_agent(struct component *c, const struct coroot_pod *pod,
		     const struct coroot_agent_tls *tls)
{
	const struct coroot_spec *s = c->in->spec;
	bool skips = tls->skip_verify || (s->coroot_url && s->tls_skip_verify);
	const struct coroot_secret_key *ca = &tls->ca;

	add_url(c);
	add_key(c);
	add_labels(c, pod->env);
	if (!ca->name && render_tls(c->in))
		ca = &s->tls_cert;
	component_secret(c, "ca", ca);
	component_flag(c, "skipVerify", skips);
	component_flag(c, "verifiesWithCa", !skips && ca->name);
}

/* ---- objects ---- */

int component_add(struct rendered *out, struct component *c, const char *part)
{
	json_t *objects = NULL;
	int r = c->error;

	if (r == 0)
		r = object_template_fill(&objects, json_object_get(c->scope.parts[0], part),
					 &c->scope);
	for (size_t i = 0; r == 0 && i < json_array_size(objects); i++)
		r = rendered_add(out, json_incref(json_array_get(objects, i)));
	json_decref(objects);
	return r;
}
