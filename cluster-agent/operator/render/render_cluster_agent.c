#include "cluster-agent/operator/render/render.h"

#include <errno.h>

#include "cluster-agent/operator/render/object_parts.h"
#include "cluster-agent/operator/render/object_storage.h"
#include "cluster-agent/operator/render/render_parts.h"

#define COMPONENT "coroot-cluster-agent"
#define SUFFIX "cluster-agent"
#define LISTEN_PORT 10301
#define SPOOL_DIR "/var/lib/coroot-cluster-agent"

/* In the order of Coroot's operator, then the user's. */
static json_t *environment(const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	json_t *env = json_array(), *url = render_agent_url(in, "");
	int r = env && url ? object_env_text(env, "COROOT_URL", json_string_value(url)) : -ENOMEM;

	if (r == 0)
		r = object_env_text(env, "METRICS_SCRAPE_INTERVAL", s->metrics_refresh_interval);
	if (r == 0)
		r = render_agent_key(env, s);
	if (r == 0)
		r = render_agent_trust(env, in, &in->spec->cluster_agent_tls);
	if (r == 0)
		r = object_env_user(env, s->cluster_agent.env);
	json_decref(url);
	if (r < 0) {
		json_decref(env);
		return NULL;
	}
	return env;
}

/* mounts is taken over. */
static json_t *container(const struct render_input *in, json_t *mounts)
{
	const struct coroot_pod *pod = &in->spec->cluster_agent;
	json_t *c =
		json_pack("{s:s s:[s s] s:[{s:s s:i s:s}] s:o}", "name", SUFFIX, "args",
			  "--listen=:10301", "--data-dir=" SPOOL_DIR, "ports", "name", RENDER_PORT,
			  "containerPort", LISTEN_PORT, "protocol", "TCP", "volumeMounts", mounts);

	if (!c || render_image(c, &pod->image, in->images->cluster_agent) < 0 ||
	    object_set_made(c, "env", environment(in)) < 0 ||
	    object_set_shared(c, "resources", pod->resources) < 0 ||
	    object_set_made(c, "securityContext", object_restricted_container()) < 0 ||
	    render_probes(c, false) < 0) {
		json_decref(c);
		return NULL;
	}
	return c;
}

/*
 * What was not sent outlives the pod if the resource asks for a volume. A cluster without a storage
 * class has none to give, so nothing is asked for by default.
 */
static int add_spool(json_t *volumes, const struct coroot_spec *s)
{
	json_t *v;

	if (!s->cluster_agent_storage.size)
		return render_empty_dir(volumes, "spool");
	v = json_pack("{s:s s:{s:o}}", "name", "spool", "persistentVolumeClaim", "claimName",
		      object_name(s, SUFFIX));
	return json_array_append_new(volumes, v) < 0 ? -ENOMEM : 0;
}

static int render_claim(struct rendered *out, const struct coroot_spec *s)
{
	if (!s->cluster_agent_storage.size)
		return 0;
	return rendered_add(out, OBJECT_PERSISTENT_VOLUME_CLAIM,
			    json_pack("{s:o s:o}", "metadata",
				      object_metadata(s, COMPONENT, SUFFIX, NULL, true), "spec",
				      object_claim_spec(&s->cluster_agent_storage)));
}

static json_t *pod_template(const struct render_input *in)
{
	json_t *volumes = json_array(), *mounts = json_array(), *template = NULL;
	struct coroot_pod pod = in->spec->cluster_agent;
	json_t *annotations = render_agent_annotations(in->spec, pod.annotations);
	int r = volumes && mounts && annotations ? 0 : -ENOMEM;

	if (r == 0)
		r = add_spool(volumes, in->spec);
	if (r == 0)
		r = render_mount(mounts, "spool", SPOOL_DIR, false);
	if (r == 0)
		r = render_empty_dir(volumes, "tmp");
	if (r == 0)
		r = render_mount(mounts, "tmp", "/tmp", false);
	if (r == 0)
		r = render_agent_ca(volumes, mounts, in, &in->spec->cluster_agent_tls);
	if (r == 0) {
		pod.annotations = annotations;
		template = object_pod_template(&(struct object_pod){
			.spec = in->spec,
			.component = COMPONENT,
			.pod = &pod,
			.service_account = SUFFIX,
			.mounts_token = true,
			.security_context = object_restricted_pod(),
			.containers = json_pack("[o]", container(in, json_incref(mounts))),
			.volumes = json_incref(volumes),
			.pull_secret = in->images->pull_secret,
		});
	}
	json_decref(volumes);
	json_decref(mounts);
	json_decref(annotations);
	return template;
}

/* Never two at once, which would scrape every pod twice. */
static int render_deployment(struct rendered *out, const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;

	return rendered_add(out, OBJECT_DEPLOYMENT,
			    json_pack("{s:o s:{s:i s:{s:s} s:o s:o}}", "metadata",
				      object_metadata(s, COMPONENT, SUFFIX, NULL, true), "spec",
				      "replicas", 1, "strategy", "type", "Recreate", "selector",
				      render_selector(s, COMPONENT), "template", pod_template(in)));
}

int render_cluster_agent(struct rendered *out, const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	int r = render_service_account(out, s, COMPONENT, SUFFIX);

	if (r == 0)
		r = render_pod_access(out, s, COMPONENT, SUFFIX,
				      json_pack("[s s s]", "get", "list", "watch"));
	if (r == 0)
		r = render_claim(out, s);
	return r == 0 ? render_deployment(out, in) : r;
}
