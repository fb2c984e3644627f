/*
 * A cluster of ClickHouse as Coroot's operator makes it, so that an existing one continues with its
 * data: a StatefulSet for each shard, whose pods are its replicas, and three keepers. In other ways
 * it differs from that: the configuration is a ConfigMap, and changing it restarts pods one by one;
 * the containers are restricted; and pods start in parallel, because a keeper is ready only when
 * another one is, and a ClickHouse only when a keeper is.
 */
#include "cluster-agent/operator/render/clickhouse_config_xml.h"
#include "cluster-agent/operator/render/clickhouse_parts.h"
#include "cluster-agent/operator/render/object_parts.h"
#include "cluster-agent/operator/render/render.h"

#include <errno.h>

#define COMPONENT "clickhouse"
#define HEADLESS "clickhouse-headless"
#define PASSWORD_KEY "password"
#define PASSWORD_LENGTH 16
#define USER "default"
#define CLUSTER "default" /* in the configuration */

/* Tables are loaded in the background, but their metadata and a large keeper log are not. */
#define START_PERIOD_S 10
#define START_FAILURES 360
#define READY_PERIOD_S 10
#define READY_FAILURES 3
#define LIVE_PERIOD_S 30
#define LIVE_FAILURES 10

static const struct clickhouse_port ports[] = {
	{"http", CLICKHOUSE_HTTP_PORT, false},
	{"tcp", CLICKHOUSE_TCP_PORT, false},
	{"interserver", CLICKHOUSE_INTERSERVER_PORT, true},
	{0},
};

static int add_password(json_t *env, const struct coroot_spec *s)
{
	json_t *secret = object_name(s, COMPONENT);
	int r = -ENOMEM;

	if (secret)
		r = object_env_secret(
			env, CLICKHOUSE_ENV_PASSWORD,
			&(struct coroot_secret_key){json_string_value(secret), PASSWORD_KEY});
	json_decref(secret);
	return r;
}

static int add_env(json_t *env, const struct coroot_spec *s, int64_t shard)
{
	json_t *id = json_sprintf("shard-%lld", (long long)shard);
	int r = id ? object_env_text(env, CLICKHOUSE_ENV_SHARD, json_string_value(id)) : -ENOMEM;

	json_decref(id);
	if (r == 0)
		r = object_env_field(env, CLICKHOUSE_ENV_REPLICA, "metadata.name");
	if (r == 0)
		r = add_password(env, s);
	if (r == 0 && s->clickhouse.s3.access_key_id.name)
		r = object_env_secret(env, "AWS_ACCESS_KEY_ID", &s->clickhouse.s3.access_key_id);
	if (r == 0 && s->clickhouse.s3.secret_access_key.name)
		r = object_env_secret(env, "AWS_SECRET_ACCESS_KEY",
				      &s->clickhouse.s3.secret_access_key);
	return r == 0 ? object_env_user(env, s->clickhouse.pod.env) : r;
}

static json_t *container(const struct coroot_spec *s, int64_t shard)
{
	json_t *env = json_array();

	if (!env || add_env(env, s, shard) < 0) {
		json_decref(env);
		return NULL;
	}
	return json_pack("{s:s s:[s] s:[s] s:o s:o s:o s:o}", "name", "clickhouse-server",
			 "command", "clickhouse-server", "args",
			 "--config-file=" CLICKHOUSE_CONFIG_FILE, "env", env, "startupProbe",
			 object_http_probe("/ping", "http", false, START_PERIOD_S, START_FAILURES),
			 "readinessProbe",
			 object_http_probe("/ping", "http", false, READY_PERIOD_S, READY_FAILURES),
			 "livenessProbe",
			 object_http_probe("/ping", "http", false, LIVE_PERIOD_S, LIVE_FAILURES));
}

static int add_shard(struct rendered *out, const struct clickhouse_part *part, int64_t shard)
{
	const struct coroot_spec *s = part->in->spec;
	struct object_stateful_set set = {
		.spec = s,
		.component = part->component,
		.service = HEADLESS,
		.replicas = s->clickhouse.replicas,
		.storage = &s->clickhouse.storage,
		.annotations = part->marks,
	};
	AUTO_FREE char *suffix = NULL;

	if (asprintf(&suffix, COMPONENT "-shard-%lld", (long long)shard) < 0) {
		suffix = NULL;
		return -ENOMEM;
	}
	set.suffix = suffix;
	return clickhouse_part_add_pods(out, part, &set, ports, container(s, shard));
}

static int want_password(struct rendered *out, const struct coroot_spec *s)
{
	json_t *name = object_name(s, COMPONENT);
	int r = name ? rendered_want_secret(out, json_string_value(name), PASSWORD_KEY,
					    PASSWORD_LENGTH)
		     : -ENOMEM;

	json_decref(name);
	return r;
}

static int add_all(struct rendered *out, struct clickhouse_part *part)
{
	const struct coroot_spec *s = part->in->spec;
	int r = clickhouse_config_xml(&part->config, s);

	if (r == 0)
		r = want_password(out, s);
	if (r == 0)
		r = clickhouse_part_add_base(out, part);
	if (r == 0)
		r = clickhouse_part_add_service(out, part, COMPONENT, ports, false);
	if (r == 0)
		r = clickhouse_part_add_service(out, part, HEADLESS, ports, true);
	for (int64_t shard = 0; r == 0 && shard < s->clickhouse.shards; shard++)
		r = add_shard(out, part, shard);
	return r == 0 ? object_add_disruption_budget(out, s, COMPONENT, COMPONENT,
						     s->clickhouse.replicas)
		      : r;
}

int render_clickhouse(struct rendered *out, const struct render_input *in)
{
	struct clickhouse_part part = {
		.in = in,
		.component = COMPONENT,
		.pod = &in->spec->clickhouse.pod,
		.image = in->images->clickhouse,
		.data_dir = "/var/lib/clickhouse",
	};
	int r;

	if (render_store(in) != RENDER_STORE_CLICKHOUSE)
		return 0;
	r = clickhouse_part_init(&part);
	if (r == 0)
		r = add_all(out, &part);
	clickhouse_part_fini(&part);
	return r == 0 ? render_keeper(out, in) : r;
}

/* ---- for the server ------------------------------------------------------------------------ */

/* Named as Coroot's server has them, where that has one. */
static int add_own(json_t *env, const struct coroot_spec *s)
{
	json_t *address =
		json_sprintf("%s-" COMPONENT ".%s:%d", s->name, s->namespace, CLICKHOUSE_HTTP_PORT);
	int r = -ENOMEM;

	if (address)
		r = object_env_text(env, "GLOBAL_CLICKHOUSE_ADDRESS", json_string_value(address));
	json_decref(address);
	if (r == 0)
		r = object_env_text(env, "GLOBAL_CLICKHOUSE_USER", USER);
	return r == 0 ? object_env_text(env, "CLICKHOUSE_CLUSTER", CLUSTER) : r;
}

static int add_given(json_t *env, const char *name, const char *value)
{
	return value ? object_env_text(env, name, value) : 0;
}

static int add_external(json_t *env, const struct coroot_external_clickhouse *c)
{
	int r = add_given(env, "GLOBAL_CLICKHOUSE_ADDRESS", c->address);

	if (r == 0)
		r = add_given(env, "GLOBAL_CLICKHOUSE_USER", c->user);
	if (r == 0)
		r = add_given(env, "CLICKHOUSE_DATABASE", c->database);
	if (r == 0)
		r = add_given(env, "GLOBAL_CLICKHOUSE_TLS_ENABLED", c->tls ? "true" : NULL);
	if (r == 0)
		r = add_given(env, "GLOBAL_CLICKHOUSE_TLS_SKIP_VERIFY",
			      c->tls_skip_verify ? "true" : NULL);
	return r;
}

int render_clickhouse_env(json_t *env, const struct render_input *in)
{
	switch (render_store(in)) {
	case RENDER_STORE_CLICKHOUSE:
		return add_own(env, in->spec);
	case RENDER_STORE_EXTERNAL:
		return add_external(env, &in->spec->external_clickhouse);
	case RENDER_STORE_NONE:
	case RENDER_STORE_EMBEDDED:
		break;
	}
	return 0;
}
