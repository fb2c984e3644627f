#include "cluster-agent/operator/render/render.h"

#include <errno.h>

#include "cluster-agent/operator/render/object_parts.h"
#include "cluster-agent/operator/render/render_parts.h"

#define COMPONENT "coroot-node-agent"
#define SUFFIX "node-agent"
#define LISTEN_PORT 10300
#define SPOOL_DIR "/var/lib/coroot-node-agent"
#define HOST_DIR "/var/lib/coroot-operator/node-agent" /* with namespace and name of the resource */

/*
 * Profiles are all that this agent sends, and without a place to send them it does not start:
 * where the profiler is switched off, there is no agent.
 */
static bool wanted(const struct coroot_node_agent *n)
{
	return n->profiler || render_env_has(n->pod.env, "PROFILES_ENDPOINT", NULL) ||
	       render_env_has(n->pod.env, "COLLECTOR_ENDPOINT", NULL);
}

/* Options with which the agent writes to the memory of processes of other users. */
static bool writes_memory(const json_t *env)
{
	return render_env_has(env, "GO_HEAP_PROFILER", "force") ||
	       render_env_has(env, "GO_MUTEX_PROFILER", "on") ||
	       render_env_has(env, "GO_BLOCK_PROFILER", "burst");
}

static int add_capability(json_t *add, bool wanted, const char *name)
{
	return wanted && json_array_append_new(add, json_string(name)) < 0 ? -ENOMEM : 0;
}

/* docs/security.md says what each capability is for. */
static json_t *security_context(const struct coroot_node_agent *n)
{
	json_t *add = json_pack("[s s s s s s]", "BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH",
				"SYSLOG", "CHECKPOINT_RESTORE");
	bool loads_into_jvms = render_env_on(n->pod.env, "ENABLE_JAVA_ASYNC_PROFILER");

	if (add_capability(add, writes_memory(n->pod.env), "DAC_OVERRIDE") < 0 ||
	    add_capability(add, loads_into_jvms, "SETUID") < 0 ||
	    add_capability(add, loads_into_jvms, "SETGID") < 0) {
		json_decref(add);
		return NULL;
	}
	return json_pack("{s:b s:b s:b s:i s:i s:b s:{s:s} s:{s:[s] s:o}}", "privileged", 0,
			 "allowPrivilegeEscalation", 0, "readOnlyRootFilesystem", 1, "runAsUser", 0,
			 "runAsGroup", 0, "runAsNonRoot", 0, "seccompProfile", "type",
			 "RuntimeDefault", "capabilities", "drop", "ALL", "add", add);
}

static int add_endpoint(json_t *env, const struct render_input *in, const char *name,
			const char *path)
{
	json_t *url = render_agent_url(in, path);
	int r = url ? object_env_text(env, name, json_string_value(url)) : -ENOMEM;

	json_decref(url);
	return r;
}

/* In the order of Coroot's operator, then what only our agent knows, then the user's. */
static json_t *environment(const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	json_t *env = json_array();
	int r = env ? object_env_text(env, "SCRAPE_INTERVAL", s->metrics_refresh_interval)
		    : -ENOMEM;

	if (r == 0)
		r = render_agent_key(env, s);
	if (r == 0)
		r = render_agent_trust(env, in, &in->spec->node_agent.tls);
	if (r == 0)
		r = add_endpoint(env, in, "METRICS_ENDPOINT", "/v1/metrics");
	if (r == 0)
		r = add_endpoint(env, in, "LOGS_ENDPOINT", "/v1/logs");
	if (r == 0)
		r = add_endpoint(env, in, "TRACES_ENDPOINT", "/v1/traces");
	if (r == 0 && s->node_agent.profiler)
		r = add_endpoint(env, in, "PROFILES_ENDPOINT", "/v1/profiles");
	if (r == 0)
		r = object_env_field(env, "NODE_NAME", "spec.nodeName");
	if (r == 0)
		r = object_env_user(env, s->node_agent.pod.env);
	if (r < 0) {
		json_decref(env);
		return NULL;
	}
	return env;
}

/* mounts is taken over. */
static json_t *container(const struct render_input *in, json_t *mounts)
{
	const struct coroot_node_agent *n = &in->spec->node_agent;
	json_t *c =
		json_pack("{s:s s:[s s] s:[{s:s s:i s:s}] s:o}", "name", "node-agent", "args",
			  "--listen=:10300", "--wal-dir=" SPOOL_DIR, "ports", "name", RENDER_PORT,
			  "containerPort", LISTEN_PORT, "protocol", "TCP", "volumeMounts", mounts);

	if (!c || render_image(c, &n->pod.image, in->images->node_agent) < 0 ||
	    object_set_made(c, "env", environment(in)) < 0 ||
	    object_set_made(c, "resources",
			    object_resources(n->pod.resources, "100m", "200Mi", "500m", "1Gi")) <
		    0 ||
	    object_set_made(c, "securityContext", security_context(n)) < 0 ||
	    render_probes(c, false) < 0) {
		json_decref(c);
		return NULL;
	}
	return c;
}

/*
 * What was not sent outlives the pod: an upgrade, a drain, a node that restarts. Each resource has
 * a directory of its own, as one agent locks it.
 */
static int add_spool(json_t *volumes, const struct coroot_spec *s)
{
	json_t *path = json_sprintf(HOST_DIR "/%s/%s", s->namespace, s->name);
	int r = path ? render_host_dir(volumes, "spool", json_string_value(path)) : -ENOMEM;

	json_decref(path);
	return r;
}

static json_t *pod_template(const struct render_input *in)
{
	json_t *volumes = json_array(), *mounts = json_array(), *template = NULL;
	json_t *everywhere = json_pack("[{s:s}]", "operator", "Exists");
	struct coroot_pod pod = in->spec->node_agent.pod;
	json_t *annotations = render_agent_annotations(in->spec, pod.annotations);
	int r = volumes && mounts && everywhere && annotations ? 0 : -ENOMEM;

	if (r == 0)
		r = add_spool(volumes, in->spec);
	if (r == 0)
		r = render_mount(mounts, "spool", SPOOL_DIR, false);
	if (r == 0)
		r = render_agent_ca(volumes, mounts, in, &in->spec->node_agent.tls);
	if (r == 0) {
		pod.annotations = annotations;
		if (json_array_size(pod.tolerations) == 0)
			pod.tolerations = everywhere;
		template = object_pod_template(&(struct object_pod){
			.spec = in->spec,
			.component = COMPONENT,
			.pod = &pod,
			.service_account = SUFFIX,
			.host_pid = true,
			.mounts_token = true,
			.security_context = json_object(),
			.containers = json_pack("[o]", container(in, json_incref(mounts))),
			.volumes = json_incref(volumes),
			.priority_class = in->spec->node_agent.priority_class,
			.pull_secret = in->images->pull_secret,
		});
	}
	json_decref(volumes);
	json_decref(mounts);
	json_decref(everywhere);
	json_decref(annotations);
	return template;
}

static int render_daemon_set(struct rendered *out, const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	json_t *spec = json_pack("{s:o s:o}", "selector", render_selector(s, COMPONENT), "template",
				 pod_template(in));

	if (!spec || object_set_shared(spec, "updateStrategy", s->node_agent.update_strategy) < 0) {
		json_decref(spec);
		return -ENOMEM;
	}
	return rendered_add(out, OBJECT_DAEMON_SET,
			    json_pack("{s:o s:o}", "metadata",
				      object_metadata(s, COMPONENT, SUFFIX, NULL, true), "spec",
				      spec));
}

int render_node_agent(struct rendered *out, const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	int r;

	if (!wanted(&s->node_agent))
		return 0;
	r = render_service_account(out, s, COMPONENT, SUFFIX);
	if (r == 0)
		r = render_pod_access(out, s, COMPONENT, SUFFIX,
				      json_pack("[s s]", "list", "watch"));
	return r == 0 ? render_daemon_set(out, in) : r;
}
