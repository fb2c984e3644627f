#include "cluster-agent/operator/render/render_parts.h"

#include <errno.h>

#include "cluster-agent/operator/render/inline_secrets.h"
#include "common/data/hash.h"
#include "common/text/parse.h"

#define CA_FILE "ca.crt"
#define SECRET_MODE 0440 /* read by fsGroup too */

bool render_tls(const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;

	return !s->coroot_url && s->tls_cert.name && s->tls_key.name;
}

json_t *render_agent_url(const struct render_input *in, const char *path)
{
	const struct coroot_spec *s = in->spec;

	if (s->coroot_url)
		return json_sprintf("%s%s", s->coroot_url, path);
	return json_sprintf("http%s://%s-" RENDER_SERVER ".%s:%lld%s", render_tls(in) ? "s" : "",
			    s->name, s->namespace, (long long)s->service.port, path);
}

bool render_env_has(const json_t *env, const char *name, const char *value)
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

bool render_env_on(const json_t *env, const char *name)
{
	bool on = false;

	for (size_t i = 0; i < json_array_size(env); i++) {
		const json_t *e = json_array_get(env, i);
		const char *n = json_string_value(json_object_get(e, "name"));
		const char *v = json_string_value(json_object_get(e, "value"));

		if (n && v && !strcmp(n, name) && parse_bool(v, strlen(v), &on) < 0)
			on = false;
	}
	return on;
}

int render_agent_key(json_t *env, const struct coroot_spec *s)
{
	struct secret_place key;

	inline_agent_key(&key, s);
	return key.key.name ? object_env_secret(env, "API_KEY", &key.key) : 0;
}

/* What an agent trusts beside the CAs of its image; NULL: nothing. */
static const struct coroot_secret_key *agent_ca(const struct render_input *in,
						const struct coroot_agent_tls *tls)
{
	if (tls->ca.name)
		return &tls->ca;
	return render_tls(in) ? &in->spec->tls_cert : NULL;
}

int render_agent_trust(json_t *env, const struct render_input *in,
		       const struct coroot_agent_tls *tls)
{
	if (tls->skip_verify || (in->spec->coroot_url && in->spec->tls_skip_verify))
		return object_env_text(env, "INSECURE_SKIP_VERIFY", "true");
	return agent_ca(in, tls) ? object_env_text(env, "CA_FILE", RENDER_CA_DIR "/" CA_FILE) : 0;
}

int render_agent_ca(json_t *volumes, json_t *mounts, const struct render_input *in,
		    const struct coroot_agent_tls *tls)
{
	const struct coroot_secret_key *ca = agent_ca(in, tls);

	if (!ca)
		return 0;
	if (render_projected(volumes, "ca", json_pack("[o]", render_secret_file(ca, CA_FILE))) < 0)
		return -ENOMEM;
	return render_mount(mounts, "ca", RENDER_CA_DIR, true);
}

json_t *render_agent_annotations(const struct coroot_spec *s, const json_t *user)
{
	json_t *all = user ? json_deep_copy(user) : json_object();
	struct secret_place key;
	char sum[8];
	uint64_t hash;

	inline_agent_key(&key, s);
	if (!all || !key.text)
		return all;
	/*
	 * Pods are read by many who may not read Secrets. 16 bits do not confirm a guess of the
	 * key; the price is that one change in 65536 does not restart the agents.
	 */
	hash = fnv1a64(FNV1A64_INIT, key.text, strlen(key.text));
	hash ^= hash >> 32;
	snprintf(sum, sizeof(sum), "%04x", (unsigned)((hash ^ (hash >> 16)) & 0xffff));
	if (object_set_text(all, "coroot.com/api-key-checksum", sum) < 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

int render_image(json_t *container, const struct coroot_image *given, const char *fallback)
{
	if (object_set_text(container, "image", given->name ? given->name : fallback) < 0)
		return -ENOMEM;
	return object_set_text(container, "imagePullPolicy", given->pull_policy);
}

int render_probes(json_t *container, bool tls)
{
	if (object_set_made(container, "startupProbe",
			    object_http_probe("/healthz", RENDER_PORT, tls, 2, 150)) < 0 ||
	    object_set_made(container, "livenessProbe",
			    object_http_probe("/healthz", RENDER_PORT, tls, 10, 6)) < 0)
		return -ENOMEM;
	return object_set_made(container, "readinessProbe",
			       object_http_probe("/readyz", RENDER_PORT, tls, 10, 3));
}

static int append(json_t *array, json_t *v)
{
	return json_array_append_new(array, v) < 0 ? -ENOMEM : 0;
}

int render_empty_dir(json_t *volumes, const char *name)
{
	return append(volumes, json_pack("{s:s s:{}}", "name", name, "emptyDir"));
}

int render_host_dir(json_t *volumes, const char *name, const char *path)
{
	return append(volumes, json_pack("{s:s s:{s:s s:s}}", "name", name, "hostPath", "path",
					 path, "type", "DirectoryOrCreate"));
}

int render_mount(json_t *mounts, const char *volume, const char *path, bool read_only)
{
	json_t *m = json_pack("{s:s s:s}", "name", volume, "mountPath", path);

	if (m && read_only && json_object_set_new(m, "readOnly", json_true()) < 0) {
		json_decref(m);
		return -ENOMEM;
	}
	return append(mounts, m);
}

int render_projected(json_t *volumes, const char *name, json_t *sources)
{
	return append(volumes, json_pack("{s:s s:{s:i s:o}}", "name", name, "projected",
					 "defaultMode", SECRET_MODE, "sources", sources));
}

json_t *render_secret_file(const struct coroot_secret_key *key, const char *file)
{
	return json_pack("{s:{s:s s:[{s:s s:s}]}}", "secret", "name", key->name, "items", "key",
			 key->key, "path", file);
}

json_t *render_selector(const struct coroot_spec *s, const char *component)
{
	return json_pack("{s:o}", "matchLabels", object_selector_labels(s, component));
}

int render_service_account(struct rendered *out, const struct coroot_spec *s, const char *component,
			   const char *suffix)
{
	return rendered_add(
		out, OBJECT_SERVICE_ACCOUNT,
		json_pack("{s:o}", "metadata", object_metadata(s, component, suffix, NULL, true)));
}

/* The role has the name of its binding. */
static json_t *binding(const struct coroot_spec *s, const char *component, const char *suffix)
{
	json_t *metadata = object_cluster_metadata(s, component, suffix);

	if (!metadata)
		return NULL;
	return json_pack("{s:o s:{s:s s:s s:O} s:[{s:s s:o s:s}]}", "metadata", metadata, "roleRef",
			 "apiGroup", "rbac.authorization.k8s.io", "kind", "ClusterRole", "name",
			 json_object_get(metadata, "name"), "subjects", "kind", "ServiceAccount",
			 "name", object_name(s, suffix), "namespace", s->namespace);
}

int render_pod_access(struct rendered *out, const struct coroot_spec *s, const char *component,
		      const char *suffix, json_t *verbs)
{
	int r = rendered_add(out, OBJECT_CLUSTER_ROLE,
			     json_pack("{s:o s:[{s:[s] s:[s] s:o}]}", "metadata",
				       object_cluster_metadata(s, component, suffix), "rules",
				       "apiGroups", "", "resources", "pods", "verbs", verbs));

	if (r == 0)
		r = rendered_add(out, OBJECT_CLUSTER_ROLE_BINDING, binding(s, component, suffix));
	return r;
}
