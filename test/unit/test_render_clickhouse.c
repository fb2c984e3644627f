#include "cluster-agent/operator/render/clickhouse_config_xml.h"
#include "cluster-agent/operator/render/render.h"

#include <errno.h>

#include "test/lib/json_oom.h"
#include "test/lib/unit.h"

static const struct operator_images images = {
	.clickhouse = "clickhouse:1",
	.keeper = "keeper:1",
	.pull_secret = "pull",
};

static struct coroot_spec make_spec(void)
{
	return (struct coroot_spec){
		.name = "main",
		.namespace = "coroot",
		.uid = "u-1",
		/* the defaults of the table of fields */
		.clickhouse = {.wanted = true,
			       .shards = 1,
			       .replicas = 1,
			       .storage.size = "100Gi",
			       .log_level = "warning",
			       .keeper = {.replicas = 3,
					  .storage.size = "10Gi",
					  .log_level = "warning"},
			       .s3 = {.cache_size = "10Gi", .move_factor = "0.1"}},
	};
}

static void render(struct rendered *ret, const struct coroot_spec *s, bool is_there)
{
	const struct render_input in = {
		.spec = s, .images = &images, .clickhouse_is_there = is_there};

	*ret = (struct rendered){0};
	assert_int_equal(render_clickhouse(ret, &in), 0);
}

static const json_t *find(const struct rendered *r, enum object_kind kind, const char *name)
{
	for (size_t i = 0; i < r->n_objects; i++)
		if (r->objects[i].kind == kind && strcmp(r->objects[i].name, name) == 0)
			return r->objects[i].body;
	return NULL;
}

static unsigned count(const struct rendered *r, enum object_kind kind)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->n_objects; i++)
		n += r->objects[i].kind == kind;
	return n;
}

/* What is at a path of member names and indexes, "spec/ports/0/name". */
static const json_t *at(const json_t *v, const char *path)
{
	char copy[160];
	char *state;

	assert_true((size_t)snprintf(copy, sizeof(copy), "%s", path) < sizeof(copy));
	for (char *part = strtok_r(copy, "|", &state); part; part = strtok_r(NULL, "|", &state))
		v = json_is_array(v) ? json_array_get(v, strtoul(part, NULL, 10))
				     : json_object_get(v, part);
	return v;
}

static const char *text_at(const json_t *v, const char *path)
{
	const char *text = json_string_value(at(v, path));

	if (!text)
		fail_msg("no text at %s", path);
	return text;
}

static json_int_t number_at(const json_t *v, const char *path)
{
	if (!json_is_integer(at(v, path)))
		fail_msg("no number at %s", path);
	return json_integer_value(at(v, path));
}

/* The variable of a container as JSON. */
static void assert_env(const json_t *env, const char *name, const char *expected)
{
	for (size_t i = 0; i < json_array_size(env); i++) {
		const json_t *variable = json_array_get(env, i);
		char *got;

		if (strcmp(text_at(variable, "name"), name) != 0)
			continue;
		got = json_dumps(variable, JSON_COMPACT);
		assert_non_null(strstr(got, expected));
		free(got);
		return;
	}
	fail_msg("no variable %s", name);
}

#define POD "spec|template|spec|"
#define CONTAINER POD "containers|0|"

/* ---- objects ---- */

TEST(a_resource_without_details_has_a_shard_and_three_keepers)
{
	const struct coroot_spec s = make_spec();
	struct rendered r;
	const json_t *set, *env;

	render(&r, &s, false);
	set = find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-shard-0");
	assert_int_equal(number_at(set, "spec|replicas"), 1);
	assert_string_equal(text_at(set, "spec|serviceName"), "main-clickhouse-headless");
	assert_string_equal(text_at(set, CONTAINER "image"), "clickhouse:1");
	assert_string_equal(text_at(set, CONTAINER "readinessProbe|httpGet|path"), "/ping");
	assert_string_equal(text_at(set, CONTAINER "livenessProbe|httpGet|port"), "http");
	assert_string_equal(text_at(set, POD "imagePullSecrets|0|name"), "pull");
	assert_string_equal(text_at(set, "spec|volumeClaimTemplates|0|metadata|name"), "data");
	env = at(set, CONTAINER "env");
	assert_env(env, "CLICKHOUSE_SHARD_ID", "\"value\":\"shard-0\"");
	assert_env(env, "CLICKHOUSE_REPLICA_ID", "\"fieldPath\":\"metadata.name\"");
	assert_env(env, "CLICKHOUSE_PASSWORD",
		   "\"secretKeyRef\":{\"name\":\"main-clickhouse\",\"key\":\"password\"}");
	set = find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-keeper");
	assert_int_equal(number_at(set, "spec|replicas"), 3);
	assert_string_equal(text_at(set, CONTAINER "image"), "keeper:1");
	assert_string_equal(text_at(set, "spec|podManagementPolicy"), "Parallel");
	assert_int_equal(r.n_secrets, 1);
	assert_string_equal(r.secrets[0].name, "main-clickhouse");
	assert_string_equal(r.secrets[0].key, "password");
	assert_int_equal(r.secrets[0].length, 16);
	rendered_fini(&r);
}

TEST(both_are_restricted)
{
	static const char *const names[] = {"main-clickhouse-shard-0", "main-clickhouse-keeper"};
	const struct coroot_spec s = make_spec();
	struct rendered r;

	render(&r, &s, false);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const json_t *set = find(&r, OBJECT_STATEFUL_SET, names[i]);

		assert_int_equal(number_at(set, POD "securityContext|runAsUser"), 65534);
		assert_int_equal(number_at(set, POD "securityContext|fsGroup"), 65534);
		assert_true(json_is_true(at(set, POD "securityContext|runAsNonRoot")));
		assert_true(
			json_is_true(at(set, CONTAINER "securityContext|readOnlyRootFilesystem")));
		assert_true(json_is_false(
			at(set, CONTAINER "securityContext|allowPrivilegeEscalation")));
		assert_string_equal(text_at(set, CONTAINER "securityContext|capabilities|drop|0"),
				    "ALL");
		assert_true(json_is_false(at(set, POD "automountServiceAccountToken")));
		assert_null(at(set, POD "initContainers"));
	}
	rendered_fini(&r);
}

TEST(services_lead_to_ready_servers_and_to_all_by_name)
{
	const struct coroot_spec s = make_spec();
	struct rendered r;
	const json_t *service;

	render(&r, &s, false);
	assert_int_equal(count(&r, OBJECT_SERVICE), 3);
	service = find(&r, OBJECT_SERVICE, "main-clickhouse");
	assert_int_equal(number_at(service, "spec|ports|0|port"), 8123);
	assert_string_equal(text_at(service, "spec|ports|0|targetPort"), "http");
	assert_int_equal(number_at(service, "spec|ports|1|port"), 9000);
	assert_null(at(service, "spec|clusterIP"));
	service = find(&r, OBJECT_SERVICE, "main-clickhouse-headless");
	assert_string_equal(text_at(service, "spec|clusterIP"), "None");
	assert_true(json_is_true(at(service, "spec|publishNotReadyAddresses")));
	service = find(&r, OBJECT_SERVICE, "main-clickhouse-keeper-headless");
	assert_int_equal(number_at(service, "spec|ports|0|port"), 9181);
	assert_int_equal(number_at(service, "spec|ports|1|port"), 9234);
	assert_int_equal(json_array_size(at(service, "spec|ports")), 2);
	rendered_fini(&r);
}

TEST(shards_and_replicas_are_sets_and_claims)
{
	struct coroot_spec s = make_spec();
	struct rendered r;
	const json_t *claim;

	s.clickhouse.shards = 2;
	s.clickhouse.replicas = 2;
	s.clickhouse.storage.size = "50Gi";
	s.clickhouse.storage.class_name = "fast";
	render(&r, &s, false);
	assert_int_equal(count(&r, OBJECT_STATEFUL_SET), 3);
	assert_int_equal(count(&r, OBJECT_PERSISTENT_VOLUME_CLAIM), 4 + 3);
	claim = find(&r, OBJECT_PERSISTENT_VOLUME_CLAIM, "data-main-clickhouse-shard-1-1");
	assert_string_equal(text_at(claim, "spec|resources|requests|storage"), "50Gi");
	assert_string_equal(text_at(claim, "spec|storageClassName"), "fast");
	assert_string_equal(text_at(claim, "metadata|ownerReferences|0|uid"), "u-1");
	claim = find(&r, OBJECT_PERSISTENT_VOLUME_CLAIM, "data-main-clickhouse-keeper-2");
	assert_string_equal(text_at(claim, "spec|resources|requests|storage"), "10Gi");
	assert_true(json_equal(
		at(find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-shard-1"),
		   "spec|volumeClaimTemplates|0|spec"),
		at(find(&r, OBJECT_PERSISTENT_VOLUME_CLAIM, "data-main-clickhouse-shard-1-0"),
		   "spec")));
	assert_int_equal(number_at(find(&r, OBJECT_POD_DISRUPTION_BUDGET, "main-clickhouse"),
				   "spec|maxUnavailable"),
			 1);
	assert_non_null(find(&r, OBJECT_POD_DISRUPTION_BUDGET, "main-clickhouse-keeper"));
	rendered_fini(&r);
}

TEST(a_single_pod_has_no_disruption_budget)
{
	struct coroot_spec s = make_spec();
	struct rendered r;

	s.clickhouse.shards = 3; /* evicting one takes its data away in any case */
	s.clickhouse.keeper.replicas = 1;
	render(&r, &s, false);
	assert_int_equal(count(&r, OBJECT_POD_DISRUPTION_BUDGET), 0);
	rendered_fini(&r);
}

TEST(retained_claims_have_no_owner)
{
	json_t *annotations = json_pack("{s:s}", "a", "b");
	struct coroot_spec s = make_spec();
	struct rendered r;
	const json_t *claim;

	s.clickhouse.storage.retain = true;
	s.clickhouse.storage.annotations = annotations;
	render(&r, &s, false);
	claim = find(&r, OBJECT_PERSISTENT_VOLUME_CLAIM, "data-main-clickhouse-shard-0-0");
	assert_null(at(claim, "metadata|ownerReferences"));
	assert_string_equal(text_at(claim, "metadata|annotations|a"), "b");
	claim = find(&r, OBJECT_PERSISTENT_VOLUME_CLAIM, "data-main-clickhouse-keeper-0");
	assert_non_null(at(claim, "metadata|ownerReferences"));
	rendered_fini(&r);
	json_decref(annotations);
}

TEST(what_coroot_made_stays_and_is_marked)
{
	struct coroot_spec s = make_spec();
	struct rendered r;

	s.clickhouse.wanted = false;
	render(&r, &s, false);
	assert_int_equal(r.n_objects, 0);
	assert_int_equal(r.n_secrets, 0);
	rendered_fini(&r);
	render(&r, &s, true);
	assert_int_equal(count(&r, OBJECT_STATEFUL_SET), 2);
	for (size_t i = 0; i < r.n_objects; i++)
		if (r.objects[i].kind != OBJECT_POD_DISRUPTION_BUDGET &&
		    r.objects[i].kind != OBJECT_SERVICE_ACCOUNT)
			assert_string_equal(text_at(r.objects[i].body,
						    "metadata|annotations|coroot.com/adopted"),
					    "true");
	rendered_fini(&r);
	s.clickhouse.wanted = true;
	render(&r, &s, false);
	assert_null(at(r.objects[0].body, "metadata|annotations"));
	rendered_fini(&r);
	/* or it would be forgotten that Coroot made it, should the field be removed again */
	render(&r, &s, true);
	assert_string_equal(
		text_at(find(&r, OBJECT_PERSISTENT_VOLUME_CLAIM, "data-main-clickhouse-shard-0-0"),
			"metadata|annotations|coroot.com/adopted"),
		"true");
	rendered_fini(&r);
}

TEST(another_configuration_restarts_the_pods)
{
	struct coroot_spec s = make_spec();
	struct rendered r;
	char before[32], keeper_before[32];
	const char *path = "spec|template|metadata|annotations|checksum/config";

	render(&r, &s, false);
	snprintf(before, sizeof(before), "%s",
		 text_at(find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-shard-0"), path));
	snprintf(keeper_before, sizeof(keeper_before), "%s",
		 text_at(find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-keeper"), path));
	rendered_fini(&r);
	s.clickhouse.log_level = "debug";
	render(&r, &s, false);
	assert_string_not_equal(
		text_at(find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-shard-0"), path), before);
	assert_string_equal(text_at(find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-keeper"), path),
			    keeper_before);
	rendered_fini(&r);
}

TEST(the_user_decides_about_the_pods)
{
	json_t *selector = json_pack("{s:s}", "disk", "ssd");
	json_t *resources = json_pack("{s:{s:s}}", "limits", "memory", "4Gi");
	json_t *annotations = json_pack("{s:s}", "a", "b");
	struct coroot_spec s = make_spec();
	struct rendered r;
	const json_t *set;

	s.clickhouse.pod.node_selector = selector;
	s.clickhouse.pod.resources = resources;
	s.clickhouse.pod.annotations = annotations;
	s.clickhouse.pod.image.name = "mine:2";
	s.clickhouse.pod.image.pull_policy = "Always";
	s.clickhouse.keeper.pod.image.name = "keeper:2";
	s.clickhouse.s3.endpoint = "https://b.example/p/";
	s.clickhouse.s3.access_key_id = (struct coroot_secret_key){"s3", "id"};
	s.clickhouse.s3.secret_access_key = (struct coroot_secret_key){"s3", "secret"};
	render(&r, &s, false);
	set = find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-shard-0");
	assert_string_equal(text_at(set, POD "nodeSelector|disk"), "ssd");
	assert_string_equal(text_at(set, CONTAINER "resources|limits|memory"), "4Gi");
	assert_string_equal(text_at(set, "spec|template|metadata|annotations|a"), "b");
	assert_string_equal(text_at(set, CONTAINER "image"), "mine:2");
	assert_string_equal(text_at(set, CONTAINER "imagePullPolicy"), "Always");
	assert_env(at(set, CONTAINER "env"), "AWS_ACCESS_KEY_ID",
		   "\"secretKeyRef\":{\"name\":\"s3\",\"key\":\"id\"}");
	assert_env(at(set, CONTAINER "env"), "AWS_SECRET_ACCESS_KEY", "\"key\":\"secret\"");
	set = find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-keeper");
	assert_string_equal(text_at(set, CONTAINER "image"), "keeper:2");
	assert_string_equal(text_at(set, CONTAINER "resources|limits|memory"), "1Gi");
	assert_null(at(set, POD "nodeSelector"));
	rendered_fini(&r);
	json_decref(selector);
	json_decref(resources);
	json_decref(annotations);
}

static json_t *resource_with(const char *spec)
{
	return json_pack("{s:{s:s s:s s:s} s:o}", "metadata", "name", "main", "namespace", "coroot",
			 "uid", "u-1", "spec", json_loads(spec, 0, NULL));
}

TEST(a_resource_that_says_nothing_continues_what_is_there)
{
	CLEANUP(spec_problems_fini) struct spec_problems problems = {0};
	CLEANUP(coroot_spec_fini) struct coroot_spec s = {0};
	const struct coroot_spec by_hand = make_spec();
	struct rendered r, expected;
	json_t *resource = resource_with("{}");

	assert_int_equal(coroot_spec_parse(&s, resource, &problems), 0);
	render(&r, &s, true);
	render(&expected, &by_hand, false);
	assert_int_equal(r.n_objects, expected.n_objects);
	assert_true(json_equal(
		at(find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-shard-0"), "spec"),
		at(find(&expected, OBJECT_STATEFUL_SET, "main-clickhouse-shard-0"), "spec")));
	assert_true(json_equal(
		at(find(&r, OBJECT_STATEFUL_SET, "main-clickhouse-keeper"), "spec"),
		at(find(&expected, OBJECT_STATEFUL_SET, "main-clickhouse-keeper"), "spec")));
	rendered_fini(&r);
	rendered_fini(&expected);
	json_decref(resource);
}

TEST(the_most_servers_fit_in_an_object)
{
	CLEANUP(spec_problems_fini) struct spec_problems problems = {0};
	CLEANUP(coroot_spec_fini) struct coroot_spec s = {0};
	json_t *resource = resource_with("{\"clickhouse\": {\"shards\": 1000, \"replicas\": 2}}");
	char name[64];
	struct rendered r;

	assert_int_equal(coroot_spec_parse(&s, resource, &problems), 0);
	assert_int_equal(problems.wrong.n, 1);
	assert_string_equal(problems.wrong.at[0].path, "spec.clickhouse.replicas");
	assert_int_equal(s.clickhouse.shards, 1000);
	assert_int_equal(s.clickhouse.replicas, 1);
	/* the longest names: those of pods are names of hosts */
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	s.name = name;
	s.namespace = name;
	render(&r, &s, false);
	assert_int_equal(count(&r, OBJECT_STATEFUL_SET), 1001);
	rendered_fini(&r);
	json_decref(resource);
}

/* ---- configuration ---- */

static void assert_order(const char *text, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		text = text ? strstr(text, parts[i]) : NULL;
		if (!text)
			fail_msg("no \"%s\" after what precedes it", parts[i]);
	}
}

#define ASSERT_HAS(config, ...)                                     \
	do {                                                        \
		static const char *const parts_[] = {__VA_ARGS__};  \
		assert_order((config), parts_, ARRAY_SIZE(parts_)); \
	} while (0)

static char *config_of(const struct coroot_spec *s)
{
	struct buf out;
	size_t len;

	buf_init(&out, 1 << 20);
	assert_int_equal(clickhouse_config_xml(&out, s), 0);
	return buf_take(&out, &len);
}

TEST(the_cluster_lists_all_replicas)
{
	struct coroot_spec s = make_spec();
	char *config;

	s.clickhouse.shards = 2;
	s.clickhouse.replicas = 2;
	s.clickhouse.keeper.replicas = 1;
	config = config_of(&s);
	ASSERT_HAS(config, "<remote_servers>", "<default>", "<shard>",
		   "<internal_replication>true</internal_replication>",
		   "<host>main-clickhouse-shard-0-0.main-clickhouse-headless.coroot</host>",
		   "<port>9000</port>", "<password from_env=\"CLICKHOUSE_PASSWORD\"/>",
		   "<host>main-clickhouse-shard-0-1.main-clickhouse-headless.coroot</host>",
		   "</shard>", "<shard>",
		   "<host>main-clickhouse-shard-1-1.main-clickhouse-headless.coroot</host>",
		   "</remote_servers>", "<macros>", "<shard from_env=\"CLICKHOUSE_SHARD_ID\"/>",
		   "<zookeeper>",
		   "<host>main-clickhouse-keeper-0.main-clickhouse-keeper-headless.coroot</host>",
		   "<port>9181</port>", "</zookeeper>");
	assert_null(strstr(config, "keeper-1"));
	assert_null(strstr(config, "storage_configuration"));
	free(config);
}

TEST(old_data_may_go_to_a_bucket)
{
	struct coroot_spec s = make_spec();
	char *config;

	s.clickhouse.s3.endpoint = "https://b.example/p/";
	s.clickhouse.s3.region = "eu-1";
	config = config_of(&s);
	ASSERT_HAS(config, "<storage_policy>s3_tiered</storage_policy>",
		   "<endpoint>https://b.example/p/{shard}/{replica}/</endpoint>",
		   "<region>eu-1</region>", "<max_size>10737418240</max_size>", "<s3_tiered>",
		   "<hot>", "<disk>default</disk>", "<cold>", "<disk>s3_cache</disk>",
		   "<move_factor>0.1</move_factor>");
	free(config);
	s.clickhouse.s3.only = true;
	config = config_of(&s);
	ASSERT_HAS(config, "<storage_policy>s3_s3only</storage_policy>", "<s3_s3only>", "<main>",
		   "<disk>s3_cache</disk>");
	assert_null(strstr(config, "s3_tiered"));
	free(config);
}

TEST(texts_of_the_user_stay_texts)
{
	struct coroot_spec s = make_spec();
	char *config;

	s.clickhouse.s3.endpoint = "https://b/?a=1&b=</endpoint><x>\x01\n%s";
	config = config_of(&s);
	ASSERT_HAS(
		config,
		"<endpoint>https://b/?a=1&amp;b=&lt;/endpoint&gt;&lt;x&gt;%s{shard}/{replica}/<");
	free(config);
}

TEST(keepers_know_each_other_by_number)
{
	struct coroot_spec s = make_spec();
	struct buf out;

	buf_init(&out, 1 << 20);
	s.clickhouse.keeper.log_level = "none";
	assert_int_equal(keeper_config_xml(&out, &s), 0);
	ASSERT_HAS(out.data, "<level>none</level>", "<tcp_port>9181</tcp_port>",
		   "<server_id from_env=\"CLICKHOUSE_KEEPER_ID\"/>", "<endpoint>/ready</endpoint>",
		   "<raft_configuration>", "<id>0</id>", "<id>2</id>",
		   "main-clickhouse-keeper-2.main-clickhouse-keeper-headless.coroot</hostname>",
		   "<port>9234</port>", "</raft_configuration>");
	assert_null(strstr(out.data, "<id>3</id>"));
	buf_fini(&out);
}

TEST(a_file_beyond_its_limit_is_refused)
{
	struct coroot_spec s = make_spec();
	struct buf out;

	buf_init(&out, 500);
	assert_int_equal(clickhouse_config_xml(&out, &s), -EFBIG);
	assert_int_equal(keeper_config_xml(&out, &s), -EFBIG);
	buf_fini(&out);
}

/* ---- environment of the server ---- */

/* The variables that name ClickHouse. */
static json_t *env_of(const struct coroot_spec *s)
{
	const struct render_input in = {.spec = s, .images = &images};
	struct rendered r = {0};
	json_t *env = json_array();
	const json_t *all;

	assert_int_equal(render_server(&r, &in), 0);
	all = at(find(&r, OBJECT_STATEFUL_SET, "main-coroot"), CONTAINER "env");
	for (size_t i = 0; i < json_array_size(all); i++)
		if (strstr(text_at(json_array_get(all, i), "name"), "CLICKHOUSE"))
			json_array_append(env, json_array_get(all, i));
	rendered_fini(&r);
	return env;
}

TEST(the_server_finds_our_clickhouse)
{
	struct coroot_spec s = make_spec();
	json_t *env = env_of(&s);

	assert_int_equal(json_array_size(env), 3);
	assert_env(env, "GLOBAL_CLICKHOUSE_ADDRESS", "\"main-clickhouse.coroot:8123\"");
	assert_env(env, "GLOBAL_CLICKHOUSE_USER", "\"default\"");
	assert_env(env, "CLICKHOUSE_CLUSTER", "\"default\"");
	json_decref(env);
	s.clickhouse.wanted = false;
	env = env_of(&s);
	assert_int_equal(json_array_size(env), 0);
	json_decref(env);
}

TEST(the_server_finds_the_users_clickhouse)
{
	struct coroot_spec s = make_spec();
	json_t *env;

	s.external_clickhouse.address = "ch:9000";
	env = env_of(&s);
	assert_int_equal(json_array_size(env), 1);
	assert_env(env, "GLOBAL_CLICKHOUSE_ADDRESS", "\"ch:9000\"");
	json_decref(env);
	s.external_clickhouse.user = "u";
	s.external_clickhouse.database = "d";
	s.external_clickhouse.password = "inline";
	s.external_clickhouse.password_secret = (struct coroot_secret_key){"ch", "pw"};
	s.external_clickhouse.tls = true;
	s.external_clickhouse.tls_skip_verify = true;
	env = env_of(&s);
	assert_int_equal(json_array_size(env), 5);
	assert_env(env, "GLOBAL_CLICKHOUSE_USER", "\"u\"");
	assert_env(env, "CLICKHOUSE_DATABASE", "\"d\"");
	assert_env(env, "GLOBAL_CLICKHOUSE_TLS_ENABLED", "\"true\"");
	assert_env(env, "GLOBAL_CLICKHOUSE_TLS_SKIP_VERIFY", "\"true\"");
	json_decref(env);
}

/* ---- memory ---- */

static int render_all(void *spec)
{
	const struct render_input in = {.spec = spec, .images = &images};
	struct rendered r = {0};
	int result = render_clickhouse(&r, &in);

	rendered_fini(&r);
	return result;
}

TEST(lack_of_memory_is_reported)
{
	struct coroot_spec s = make_spec();

	s.clickhouse.replicas = 2;
	s.clickhouse.s3.endpoint = "https://b/";
	assert_int_equal(render_all(&s), 0); /* the templates are read once */
	json_oom_begin();
	check_oom(render_all, &s);
	json_oom_end();
}
