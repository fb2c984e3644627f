#include "cluster-agent/operator/render/render.h"

#include <errno.h>

#include "cluster-agent/operator/render/component.h"
#include "cluster-agent/operator/render/inline_secrets.h"

static bool user_has(const struct component *c, const char *variable)
{
	return component_env_has(c->in->spec->server.env, variable, NULL);
}

static int add_key(json_t *keys, const struct coroot_secret_key *key, const char *file)
{
	if (!key->name)
		return 0;
	return json_array_append_new(
		keys, json_pack("{s:s s:s s:s}", "name", key->name, "key", key->key, "file", file));
}

/* All keys that uploads may have, as files of one directory. */
static json_t *make_keys(const struct coroot_spec *s)
{
	json_t *keys = json_array();
	struct secret_place p;
	char file[32];
	int r = 0;

	if (s->api_key_secret.name || s->api_key) {
		inline_agent_key(&p, s);
		r = add_key(keys, &p.key, "api-key");
	}
	for (size_t i = 0; r == 0 && i < s->n_project_keys; i++) {
		inline_project_key(&p, s, i);
		snprintf(file, sizeof(file), "project-%zu", i);
		r = add_key(keys, &p.key, file);
	}
	if (r < 0) {
		json_decref(keys);
		return NULL;
	}
	return keys;
}

static void give_page_key(struct component *c)
{
	struct secret_place p;

	if (user_has(c, "READ_API_KEY") || user_has(c, "READ_API_KEY_FILE"))
		return;
	inline_page_key(&p, c->in->spec);
	component_flag(c, "anonymous", c->in->spec->anonymous);
	if (!c->in->spec->anonymous)
		component_secret(c, "pageKey", &p.key);
}

static void give_password(struct component *c)
{
	const struct coroot_spec *s = c->in->spec;
	enum render_store store = render_store(c->in);
	struct secret_place p = {0};

	if (store == RENDER_STORE_EXTERNAL) {
		inline_clickhouse_password(&p, s);
	} else if (store == RENDER_STORE_CLICKHOUSE) {
		snprintf(p.name, sizeof(p.name), "%s-clickhouse", s->name);
		p.key = (struct coroot_secret_key){.name = p.name, .key = "password"};
	}
	if (!user_has(c, "CLICKHOUSE_PASSWORD") && !user_has(c, "GLOBAL_CLICKHOUSE_PASSWORD") &&
	    !user_has(c, "CLICKHOUSE_PASSWORD_FILE"))
		component_secret(c, "password", &p.key);
}

static void give_clickhouse(struct component *c)
{
	const struct coroot_external_clickhouse *e = &c->in->spec->external_clickhouse;
	enum render_store store = render_store(c->in);

	component_flag(c, "ownClickhouse", store == RENDER_STORE_CLICKHOUSE);
	if (store != RENDER_STORE_EXTERNAL)
		return;
	component_made(c, "external",
		       json_pack("{s:s s:s? s:s? s:b s:b}", "address", e->address, "user", e->user,
				 "database", e->database, "tls", e->tls || e->ca.name, "skipVerify",
				 e->tls_skip_verify));
	if (!user_has(c, "CLICKHOUSE_TLS_CA_FILE"))
		component_secret(c, "clickhouseCa", &e->ca);
}

static void give_service(struct component *c)
{
	const struct coroot_service *v = &c->in->spec->service;
	const struct coroot_ingress *i = &c->in->spec->ingress;

	component_text(c, "serviceType", v->type);
	component_json(c, "serviceAnnotations", v->annotations);
	component_number(c, "servicePort", v->port);
	component_number(c, "nodePort", v->node_port);
	component_number(c, "grpcPort", v->grpc_port);
	component_number(c, "grpcNodePort", v->grpc_node_port);
	if (!i->wanted)
		return;
	component_made(c, "ingress",
		       json_pack("{s:s s:s? s:s? s:O? s:O?}", "path", i->path, "host", i->host,
				 "class", i->class_name, "tls", i->tls, "annotations",
				 i->annotations));
	if (strcmp(i->path, "/") != 0)
		component_text(c, "basePath", i->path);
}

/* The embedded engine has its data in one directory. */
static int64_t replicas(const struct render_input *in)
{
	if (render_store(in) == RENDER_STORE_EMBEDDED || in->spec->server_replicas < 1)
		return 1;
	return in->spec->server_replicas;
}

static void give_all(struct component *c)
{
	const struct coroot_spec *s = c->in->spec;

	component_made(c, "secretData", inline_secret_data(c->in));
	if (!user_has(c, "API_KEY") && !user_has(c, "API_KEY_FILE"))
		component_made(c, "keys", make_keys(s));
	give_page_key(c);
	give_password(c);
	if (render_tls(c->in)) {
		component_text(c, "scheme", "HTTPS");
		component_secret(c, "tlsCert", &s->tls_cert);
		component_secret(c, "tlsKey", &s->tls_key);
	}
	component_text(c, "profilesTtl", s->profiles_ttl);
	give_clickhouse(c);
	give_service(c);
	component_storage(c, &s->server_storage, NULL);
	component_replicas(c, replicas(c->in));
}

static int want_project_keys(struct rendered *out, const struct coroot_spec *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n_project_keys; i++) {
		const struct coroot_secret_key *key = &s->project_keys[i].secret;

		if (key->name)
			r = rendered_want_secret(out, key->name, key->key, 32);
	}
	return r;
}

int render_server(struct rendered *out, const struct render_input *in)
{
	const struct coroot_spec *s = in->spec;
	bool embedded = render_store(in) == RENDER_STORE_EMBEDDED;
	CLEANUP(component_fini) struct component c;
	int r;

	component_begin(&c, in, "coroot", &s->server,
			embedded ? in->images->store : in->images->cluster_agent);
	give_all(&c);
	r = component_add(out, &c, "secrets");
	if (r < 0 || render_store(in) == RENDER_STORE_NONE)
		return r;
	r = want_project_keys(out, s);
	return r == 0 ? component_add(out, &c, "objects") : r;
}
