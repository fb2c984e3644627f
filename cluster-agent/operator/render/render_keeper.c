/*
 * The keepers know each other by number, which is the ordinal of the pod. No field of a pod has it
 * before Kubernetes 1.28, so a shell cuts it off the name.
 */
#include "cluster-agent/operator/render/clickhouse_config_xml.h"
#include "cluster-agent/operator/render/clickhouse_parts.h"
#include "cluster-agent/operator/render/object_parts.h"
#include "cluster-agent/operator/render/render.h"

#include <errno.h>

#define COMPONENT "clickhouse-keeper"
#define HEADLESS "clickhouse-keeper-headless"
#define POD_NAME "POD_NAME"

/* The ports of a keeper are open only while it reads no log and waits for no other keeper. */
#define START_PERIOD_S 10
#define START_FAILURES 360
#define READY_PERIOD_S 10
#define READY_FAILURES 3
#define LIVE_PERIOD_S 30
#define LIVE_FAILURES 10

static const struct clickhouse_port ports[] = {
	{"client", KEEPER_CLIENT_PORT, false},
	{"control", KEEPER_CONTROL_PORT, true},
	{"inter", KEEPER_RAFT_PORT, false},
	{0},
};

static json_t *tcp_probe(int period_s, int failures)
{
	return json_pack("{s:{s:s} s:i s:i}", "tcpSocket", "port", "client", "periodSeconds",
			 period_s, "failureThreshold", failures);
}

static json_t *container(const struct coroot_spec *s)
{
	json_t *env = json_array();

	if (!env || object_env_field(env, POD_NAME, "metadata.name") < 0 ||
	    object_env_user(env, s->clickhouse.keeper.pod.env) < 0) {
		json_decref(env);
		return NULL;
	}
	return json_pack(
		"{s:s s:[s s] s:[s] s:o s:o s:o s:o}", "name", "clickhouse-keeper", "command",
		"/bin/sh", "-c", "args",
		"export " CLICKHOUSE_ENV_KEEPER "=\"${" POD_NAME
		"##*-}\" && exec clickhouse-keeper --config-file=" CLICKHOUSE_CONFIG_FILE,
		"env", env, "startupProbe", tcp_probe(START_PERIOD_S, START_FAILURES),
		"readinessProbe",
		object_http_probe("/ready", "control", false, READY_PERIOD_S, READY_FAILURES),
		"livenessProbe", tcp_probe(LIVE_PERIOD_S, LIVE_FAILURES));
}

static int add_all(struct rendered *out, struct clickhouse_part *part)
{
	const struct coroot_spec *s = part->in->spec;
	const struct object_stateful_set set = {
		.spec = s,
		.component = COMPONENT,
		.suffix = COMPONENT,
		.service = HEADLESS,
		.replicas = s->clickhouse.keeper.replicas,
		.storage = &s->clickhouse.keeper.storage,
		.annotations = part->marks,
	};
	int r = keeper_config_xml(&part->config, s);

	if (r == 0)
		r = clickhouse_part_add_base(out, part);
	if (r == 0)
		r = clickhouse_part_add_service(out, part, HEADLESS, ports, true);
	if (r == 0)
		r = clickhouse_part_add_pods(out, part, &set, ports, container(s));
	return r == 0 ? object_add_disruption_budget(out, s, COMPONENT, COMPONENT,
						     s->clickhouse.keeper.replicas)
		      : r;
}

int render_keeper(struct rendered *out, const struct render_input *in)
{
	struct clickhouse_part part = {
		.in = in,
		.component = COMPONENT,
		.pod = &in->spec->clickhouse.keeper.pod,
		.image = in->images->keeper,
		.data_dir = "/var/lib/clickhouse-keeper",
	};
	int r;

	if (render_store(in) != RENDER_STORE_CLICKHOUSE)
		return 0;
	r = clickhouse_part_init(&part);
	if (r == 0)
		r = add_all(out, &part);
	clickhouse_part_fini(&part);
	return r;
}
