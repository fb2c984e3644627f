/*
 * The server: the cluster-agent that stores profiles and serves the page and the API.
 *
 * Keys and passwords are mounted as files, not given as variables: the agent reads files again when
 * they change, so that a key can be exchanged without a restart. A variable that the user gives for
 * the same purpose wins, because the agent refuses to have both.
 */
#include "cluster-agent/operator/render/render.h"

#include <errno.h>

#include "cluster-agent/operator/render/inline_secrets.h"
#include "cluster-agent/operator/render/object_parts.h"
#include "cluster-agent/operator/render/object_storage.h"
#include "cluster-agent/operator/render/render_parts.h"
#include "cluster-agent/operator/render/render_service.h"

#define COMPONENT "coroot"
#define SUFFIX RENDER_SERVER
#define LISTEN_PORT 8080
#define GRPC_LISTEN_PORT 4317
#define VOLUME_DIR "/data"
/*
 * Not the volume's root: that of some provisioners may be written by everybody, which the agent
 * refuses, and one that Coroot's server has used has other files.
 */
#define DATA_DIR VOLUME_DIR "/coroot"
#define KEYS_DIR "/config/keys"
#define SECRETS_DIR "/config/secrets"
#define TLS_DIR "/config/tls"
#define PAGE_KEY_FILE "page-key"
#define PASSWORD_FILE "clickhouse-password"
/* what waits is in the write-ahead log within seconds, but the engine may be merging */
#define GRACE_S 60

/* What the parts of the container have in common while it is made. */
struct server {
	const struct render_input *in;
	json_t *args;
	json_t *env;
	json_t *volumes;
	json_t *mounts;
};

static void server_fini(struct server *v)
{
	json_decref(v->args);
	json_decref(v->env);
	json_decref(v->volumes);
	json_decref(v->mounts);
}

static bool user_has_env(const struct server *v, const char *name)
{
	return render_env_has(v->in->spec->server.env, name, NULL);
}

static int add_arg(struct server *v, const char *arg)
{
	return json_array_append_new(v->args, json_string(arg)) < 0 ? -ENOMEM : 0;
}

/* A projected volume, if there is anything in sources, which is taken over. */
static int add_files(struct server *v, const char *name, const char *dir, json_t *sources)
{
	if (!sources)
		return -ENOMEM;
	if (json_array_size(sources) == 0) {
		json_decref(sources);
		return 0;
	}
	if (render_projected(v->volumes, name, sources) < 0)
		return -ENOMEM;
	return render_mount(v->mounts, name, dir, true);
}

static int add_source(json_t *sources, const struct coroot_secret_key *key, const char *file)
{
	json_t *source = render_secret_file(key, file);

	return json_array_append_new(sources, source) < 0 ? -ENOMEM : 0;
}

/* All keys that uploads may have, as files of one directory. */
static json_t *key_sources(const struct coroot_spec *s)
{
	json_t *sources = json_array();
	struct secret_place p;
	char file[32];
	int r = sources ? 0 : -ENOMEM;

	if (r == 0 && (s->api_key_secret.name || s->api_key)) {
		inline_agent_key(&p, s);
		r = p.key.name ? add_source(sources, &p.key, "api-key") : 0;
	}
	for (size_t i = 0; r == 0 && i < s->n_project_keys; i++) {
		inline_project_key(&p, s, i);
		snprintf(file, sizeof(file), "project-%zu", i);
		r = p.key.name ? add_source(sources, &p.key, file) : 0;
	}
	if (r < 0) {
		json_decref(sources);
		return NULL;
	}
	return sources;
}

static int add_keys(struct server *v)
{
	json_t *sources;
	int r = 0;

	if (user_has_env(v, "API_KEY") || user_has_env(v, "API_KEY_FILE"))
		return 0;
	sources = key_sources(v->in->spec);
	if (json_array_size(sources) > 0)
		r = add_arg(v, "--api-key-file=" KEYS_DIR);
	if (r < 0) {
		json_decref(sources);
		return r;
	}
	return add_files(v, "keys", KEYS_DIR, sources);
}

static int add_page_key(struct server *v, json_t *sources)
{
	struct secret_place p;

	if (user_has_env(v, "READ_API_KEY") || user_has_env(v, "READ_API_KEY_FILE"))
		return 0;
	if (v->in->spec->anonymous)
		return add_arg(v, "--anonymous-read");
	inline_page_key(&p, v->in->spec);
	if (!p.key.name)
		return 0;
	if (add_source(sources, &p.key, PAGE_KEY_FILE) < 0)
		return -ENOMEM;
	return add_arg(v, "--read-api-key-file=" SECRETS_DIR "/" PAGE_KEY_FILE);
}

static int add_password(struct server *v, json_t *sources)
{
	const struct coroot_spec *s = v->in->spec;
	enum render_store store = render_store(v->in);
	struct secret_place p = {0};

	if (store == RENDER_STORE_EXTERNAL) {
		inline_clickhouse_password(&p, s);
	} else if (store == RENDER_STORE_CLICKHOUSE) {
		snprintf(p.name, sizeof(p.name), "%s-clickhouse", s->name);
		p.key = (struct coroot_secret_key){.name = p.name, .key = "password"};
	}
	if (!p.key.name || user_has_env(v, "CLICKHOUSE_PASSWORD") ||
	    user_has_env(v, "GLOBAL_CLICKHOUSE_PASSWORD") ||
	    user_has_env(v, "CLICKHOUSE_PASSWORD_FILE"))
		return 0;
	if (add_source(sources, &p.key, PASSWORD_FILE) < 0)
		return -ENOMEM;
	return add_arg(v, "--clickhouse-password-file=" SECRETS_DIR "/" PASSWORD_FILE);
}

static int add_secrets(struct server *v)
{
	json_t *sources = json_array();
	int r = sources ? add_page_key(v, sources) : -ENOMEM;

	if (r == 0)
		r = add_password(v, sources);
	if (r < 0) {
		json_decref(sources);
		return r;
	}
	return add_files(v, "secrets", SECRETS_DIR, sources);
}

static int add_tls(struct server *v)
{
	const struct coroot_spec *s = v->in->spec;

	if (!render_tls(v->in))
		return 0;
	if (add_arg(v, "--tls-cert=" TLS_DIR "/tls.crt") < 0 ||
	    add_arg(v, "--tls-key=" TLS_DIR "/tls.key") < 0)
		return -ENOMEM;
	return add_files(v, "tls", TLS_DIR,
			 json_pack("[o o]", render_secret_file(&s->tls_cert, "tls.crt"),
				   render_secret_file(&s->tls_key, "tls.key")));
}

static int add_env(struct server *v)
{
	const struct coroot_spec *s = v->in->spec;
	const struct coroot_ingress *i = &s->ingress;
	int r = object_env_text(v->env, "PROFILES_SCRAPE_INTERVAL", "0");

	if (r == 0)
		r = object_env_text(v->env, "PROFILES_TTL", s->profiles_ttl);
	if (r == 0)
		r = render_clickhouse_env(v->env, v->in);
	if (r == 0 && i->wanted && i->host)
		r = object_env_text(v->env, "ALLOWED_HOSTS", i->host);
	if (r == 0 && i->wanted && strcmp(i->path, "/") != 0)
		r = object_env_text(v->env, "URL_BASE_PATH", i->path);
	return r == 0 ? object_env_user(v->env, s->server.env) : r;
}

static int add_dirs(struct server *v)
{
	if (render_mount(v->mounts, OBJECT_DATA_VOLUME, VOLUME_DIR, false) < 0 ||
	    render_empty_dir(v->volumes, "tmp") < 0)
		return -ENOMEM;
	return render_mount(v->mounts, "tmp", "/tmp", false);
}

static int fill(struct server *v)
{
	int r = v->args && v->env && v->volumes && v->mounts ? 0 : -ENOMEM;

	if (r == 0)
		r = add_arg(v, "--listen=:8080");
	if (r == 0)
		r = add_arg(v, "--data-dir=" DATA_DIR);
	if (r == 0 && v->in->spec->service.grpc_port)
		r = add_arg(v, "--otlp-grpc-listen=:4317");
	if (r == 0)
		r = add_dirs(v);
	if (r == 0)
		r = add_keys(v);
	if (r == 0)
		r = add_secrets(v);
	if (r == 0)
		r = add_tls(v);
	return r == 0 ? add_env(v) : r;
}

static json_t *container_port(const char *name, int number)
{
	return json_pack("{s:s s:i s:s}", "name", name, "containerPort", number, "protocol", "TCP");
}

static json_t *container_ports(const struct coroot_service *service)
{
	if (service->grpc_port)
		return json_pack("[o o]", container_port(RENDER_PORT, LISTEN_PORT),
				 container_port(RENDER_GRPC_PORT, GRPC_LISTEN_PORT));
	return json_pack("[o]", container_port(RENDER_PORT, LISTEN_PORT));
}

static json_t *container(const struct server *v)
{
	const struct coroot_pod *pod = &v->in->spec->server;
	const struct operator_images *images = v->in->images;
	bool embedded = render_store(v->in) == RENDER_STORE_EMBEDDED;
	json_t *c = json_pack("{s:s s:O s:O s:O s:o}", "name", SUFFIX, "args", v->args, "env",
			      v->env, "volumeMounts", v->mounts, "ports",
			      container_ports(&v->in->spec->service));

	if (!c ||
	    render_image(c, &pod->image, embedded ? images->store : images->cluster_agent) < 0 ||
	    object_set_shared(c, "resources", pod->resources) < 0 ||
	    object_set_made(c, "securityContext", object_restricted_container()) < 0 ||
	    render_probes(c, render_tls(v->in)) < 0) {
		json_decref(c);
		return NULL;
	}
	return c;
}

static json_t *pod_template(const struct render_input *in)
{
	CLEANUP(server_fini)
	struct server v = {in, json_array(), json_array(), json_array(), json_array()};

	if (fill(&v) < 0)
		return NULL;
	return object_pod_template(&(struct object_pod){
		.spec = in->spec,
		.component = COMPONENT,
		.pod = &in->spec->server,
		.service_account = SUFFIX,
		.security_context = object_restricted_pod(),
		.containers = json_pack("[o]", container(&v)),
		.volumes = json_incref(v.volumes),
		.pull_secret = in->images->pull_secret,
		.termination_grace_s = GRACE_S,
	});
}

/* The embedded engine has its data in one directory. */
static int64_t replicas(const struct render_input *in)
{
	if (render_store(in) == RENDER_STORE_EMBEDDED || in->spec->server_replicas < 1)
		return 1;
	return in->spec->server_replicas;
}

/*
 * Pods do not wait for each other, since a pod that cannot become ready would otherwise keep the
 * controller from replacing it once the resource is mended.
 */
static int render_stateful_set(struct rendered *out, const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	const struct object_stateful_set set = {
		.spec = s,
		.component = COMPONENT,
		.suffix = SUFFIX,
		.replicas = replicas(in),
		.storage = &s->server_storage,
	};

	return object_add_stateful_set(out, &set, pod_template(in));
}

int render_server(struct rendered *out, const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	int r;

	/* the agents' key of the resource is in there even without a server */
	r = render_inline_secrets(out, in);
	if (r < 0 || render_store(in) == RENDER_STORE_NONE)
		return r;
	for (size_t i = 0; r == 0 && i < s->n_project_keys; i++) {
		if (s->project_keys[i].secret.name)
			r = rendered_want_secret(out, s->project_keys[i].secret.name,
						 s->project_keys[i].secret.key, 32);
	}
	if (r == 0)
		r = render_service_account(out, s, COMPONENT, SUFFIX);
	if (r == 0)
		r = render_service(out, s);
	if (r == 0)
		r = render_stateful_set(out, in);
	if (r == 0)
		r = object_add_disruption_budget(out, s, COMPONENT, SUFFIX, replicas(in));
	return r == 0 && s->ingress.wanted ? render_ingress(out, s) : r;
}
