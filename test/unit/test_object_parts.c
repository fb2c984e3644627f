#include "cluster-agent/operator/render/object_parts.h"

#include <errno.h>

#include "cluster-agent/operator/render/rendered.h"
#include "test/lib/json_oom.h"
#include "test/lib/unit.h"

static const struct coroot_spec spec = {.name = "main", .namespace = "coroot", .uid = "u-1"};

/* Takes made over. */
static void assert_json(json_t *made, const char *text)
{
	json_t *expected = json_loads(text, JSON_DECODE_ANY, NULL);
	char *got = json_dumps(made, JSON_ENCODE_ANY | JSON_COMPACT);

	assert_non_null(expected);
	if (!json_equal(made, expected))
		fail_msg("expected %s, got %s", text, got);
	free(got);
	json_decref(expected);
	json_decref(made);
}

TEST(metadata_names_the_owner)
{
	assert_json(object_metadata(&spec, "coroot", "coroot", NULL, true),
		    "{\"name\":\"main-coroot\",\"namespace\":\"coroot\",\"labels\":{"
		    "\"app.kubernetes.io/managed-by\":\"coroot-operator\","
		    "\"app.kubernetes.io/part-of\":\"main\","
		    "\"app.kubernetes.io/component\":\"coroot\","
		    "\"coroot.com/owner-uid\":\"u-1\"},"
		    "\"ownerReferences\":[{\"apiVersion\":\"coroot.com/v1\",\"kind\":\"Coroot\","
		    "\"name\":\"main\",\"uid\":\"u-1\",\"controller\":true,"
		    "\"blockOwnerDeletion\":true}]}");
}

TEST(metadata_may_have_no_owner_no_suffix_and_annotations)
{
	json_t *annotations = json_pack("{s:s}", "a", "b");

	assert_json(object_metadata(&spec, "coroot", NULL, annotations, false),
		    "{\"name\":\"main\",\"namespace\":\"coroot\",\"labels\":{"
		    "\"app.kubernetes.io/managed-by\":\"coroot-operator\","
		    "\"app.kubernetes.io/part-of\":\"main\","
		    "\"app.kubernetes.io/component\":\"coroot\","
		    "\"coroot.com/owner-uid\":\"u-1\"},\"annotations\":{\"a\":\"b\"}}");
	json_decref(annotations);
}

TEST(cluster_metadata_has_the_namespace_in_its_name)
{
	assert_json(object_cluster_metadata(&spec, "coroot-node-agent", "node-agent"),
		    "{\"name\":\"coroot.main.node-agent\",\"labels\":{"
		    "\"app.kubernetes.io/managed-by\":\"coroot-operator\","
		    "\"app.kubernetes.io/part-of\":\"main\","
		    "\"app.kubernetes.io/component\":\"coroot-node-agent\","
		    "\"coroot.com/owner-uid\":\"u-1\"}}");
}

TEST(a_variable_of_the_user_replaces_ours)
{
	json_t *env = json_array();
	json_t *user = json_pack("[{s:s s:s}, {s:s s:s}, {s:s s:s}]", "name", "A", "value", "1",
				 "name", "B", "value", "$(A)", "name", "A", "value", "2");

	assert_int_equal(object_env_text(env, "A", "0"), 0);
	assert_int_equal(object_env_field(env, "NODE_NAME", "spec.nodeName"), 0);
	assert_int_equal(object_env_secret(env, "KEY", &(struct coroot_secret_key){"s", "k"}), 0);
	assert_int_equal(object_env_user(env, user), 0);
	assert_json(env, "[{\"name\":\"NODE_NAME\",\"valueFrom\":{\"fieldRef\":"
			 "{\"fieldPath\":\"spec.nodeName\"}}},"
			 "{\"name\":\"KEY\",\"valueFrom\":{\"secretKeyRef\":"
			 "{\"name\":\"s\",\"key\":\"k\"}}},"
			 "{\"name\":\"B\",\"value\":\"$(A)\"},{\"name\":\"A\",\"value\":\"2\"}]");
	json_decref(user);
}

TEST(resources_are_filled_map_by_map)
{
	json_t *user = json_pack("{s:{s:s}}", "limits", "cpu", "2");

	assert_json(object_resources(user, "100m", "200Mi", "500m", "1Gi"),
		    "{\"limits\":{\"cpu\":\"2\"},"
		    "\"requests\":{\"cpu\":\"100m\",\"memory\":\"200Mi\"}}");
	assert_json(object_resources(NULL, "1", NULL, NULL, NULL),
		    "{\"requests\":{\"cpu\":\"1\"}}");
	assert_json(object_resources(NULL, NULL, NULL, NULL, NULL), "{}");
	json_decref(user);
}

TEST(a_probe_uses_the_scheme_of_the_port)
{
	assert_json(object_http_probe("/healthz", "http", false, 10, 3),
		    "{\"httpGet\":{\"path\":\"/healthz\",\"port\":\"http\",\"scheme\":\"HTTP\"},"
		    "\"periodSeconds\":10,\"timeoutSeconds\":5,\"failureThreshold\":3}");
	assert_json(object_http_probe("/readyz", "http", true, 5, 60),
		    "{\"httpGet\":{\"path\":\"/readyz\",\"port\":\"http\",\"scheme\":\"HTTPS\"},"
		    "\"periodSeconds\":5,\"timeoutSeconds\":5,\"failureThreshold\":60}");
}

static json_t *pod_with(const json_t *pull_secrets, const char *pull_secret)
{
	const struct coroot_pod pod = {.image.pull_secrets = pull_secrets};

	return object_pod_template(&(struct object_pod){
		.spec = &spec,
		.component = "coroot",
		.pod = &pod,
		.service_account = "coroot",
		.security_context = json_object(),
		.containers = json_pack("[{s:s}]", "name", "c"),
		.volumes = json_array(),
		.pull_secret = pull_secret,
		.termination_grace_s = 30,
	});
}

TEST(a_pod_has_what_is_given)
{
	assert_json(pod_with(NULL, NULL), "{\"metadata\":{\"labels\":{"
					  "\"app.kubernetes.io/managed-by\":\"coroot-operator\","
					  "\"app.kubernetes.io/part-of\":\"main\","
					  "\"app.kubernetes.io/component\":\"coroot\"}},"
					  "\"spec\":{\"serviceAccountName\":\"main-coroot\","
					  "\"automountServiceAccountToken\":false,"
					  "\"enableServiceLinks\":false,"
					  "\"terminationGracePeriodSeconds\":30,"
					  "\"containers\":[{\"name\":\"c\"}]}}");
}

TEST(pull_secrets_are_the_users_and_the_operators)
{
	json_t *given = json_pack("[{s:s}]", "name", "a");
	json_t *pod = pod_with(given, "b");

	assert_json(json_incref(json_object_get(json_object_get(pod, "spec"), "imagePullSecrets")),
		    "[{\"name\":\"a\"},{\"name\":\"b\"}]");
	json_decref(pod);
	pod = pod_with(given, "a");
	assert_json(json_incref(json_object_get(json_object_get(pod, "spec"), "imagePullSecrets")),
		    "[{\"name\":\"a\"}]");
	json_decref(pod);
	json_decref(given);
}

TEST(objects_have_kind_namespace_and_name)
{
	CLEANUP(rendered_fini) struct rendered r = {0};

	assert_int_equal(rendered_add(&r, OBJECT_SERVICE_ACCOUNT,
				      json_pack("{s:o}", "metadata",
						object_metadata(&spec, "c", "x", NULL, true))),
			 0);
	assert_int_equal(rendered_add(&r, OBJECT_CLUSTER_ROLE,
				      json_pack("{s:o}", "metadata",
						object_cluster_metadata(&spec, "c", "x"))),
			 0);
	assert_int_equal(rendered_add(&r, OBJECT_SECRET, json_object()), -EINVAL);
	assert_int_equal(rendered_add(&r, OBJECT_SECRET, NULL), -ENOMEM);
	assert_int_equal(r.n_objects, 2);
	assert_string_equal(r.objects[0].name, "main-x");
	assert_string_equal(r.objects[0].namespace, "coroot");
	assert_string_equal(json_string_value(json_object_get(r.objects[0].body, "kind")),
			    "ServiceAccount");
	assert_string_equal(r.objects[1].name, "coroot.main.x");
	assert_null(r.objects[1].namespace);
	assert_string_equal(json_string_value(json_object_get(r.objects[1].body, "apiVersion")),
			    "rbac.authorization.k8s.io/v1");
}

TEST(a_secret_is_wanted_once)
{
	CLEANUP(rendered_fini) struct rendered r = {0};

	assert_int_equal(rendered_want_secret(&r, "a", "k", 32), 0);
	assert_int_equal(rendered_want_secret(&r, "a", "k", 32), 0);
	assert_int_equal(rendered_want_secret(&r, "a", "l", 16), 0);
	assert_int_equal(r.n_secrets, 2);
	assert_string_equal(r.secrets[1].name, "a");
	assert_string_equal(r.secrets[1].key, "l");
	assert_int_equal(r.secrets[1].length, 16);
}

static void assert_path(enum object_kind kind, const char *namespace, const char *name,
			const char *expected)
{
	struct buf b;

	buf_init(&b, 1024);
	assert_int_equal(object_kind_path(&b, kind, namespace, name), 0);
	assert_string_equal(b.data, expected);
	buf_fini(&b);
}

TEST(paths_are_those_of_the_api)
{
	assert_path(OBJECT_SECRET, "n", "x", "/api/v1/namespaces/n/secrets/x");
	assert_path(OBJECT_DAEMON_SET, NULL, NULL, "/apis/apps/v1/daemonsets");
	assert_path(OBJECT_CLUSTER_ROLE, "n", "x",
		    "/apis/rbac.authorization.k8s.io/v1/clusterroles/x");
}

TEST(a_name_stays_in_its_segment)
{
	static const char *const bad[] = {"",    ".",   "..",    "a/b", "../x",
					  "a?b", "a#b", "a%2fb", "a b"};
	struct buf b;

	buf_init(&b, 1024);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(object_kind_path(&b, OBJECT_SECRET, "n", bad[i]), -EINVAL);
		assert_int_equal(object_kind_path(&b, OBJECT_SECRET, bad[i], "x"), -EINVAL);
	}
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

static int make_everything(void *arg)
{
	CLEANUP(rendered_fini) struct rendered r = {0};
	json_t *env = json_array();
	int res;

	(void)arg;
	res = env ? object_env_user(env, NULL) : -ENOMEM;
	if (res == 0)
		res = object_env_text(env, "A", "0");
	if (res == 0)
		res = object_env_secret(env, "B", &(struct coroot_secret_key){"s", "k"});
	if (res == 0)
		res = object_env_field(env, "C", "spec.nodeName");
	json_decref(env);
	if (res == 0)
		res = rendered_want_secret(&r, "a", "b", 1);
	if (res == 0)
		res = rendered_add(&r, OBJECT_DEPLOYMENT,
				   json_pack("{s:o s:o s:o s:o s:o s:o}", "metadata",
					     object_metadata(&spec, "c", "x", NULL, true),
					     "template", pod_with(NULL, "p"), "pod",
					     object_restricted_pod(), "container",
					     object_restricted_container(), "resources",
					     object_resources(NULL, "1", "2", "3", "4"), "probe",
					     object_http_probe("/", "http", false, 1, 1)));
	if (res == 0)
		res = rendered_add(
			&r, OBJECT_CLUSTER_ROLE,
			json_pack("{s:o}", "metadata", object_cluster_metadata(&spec, "c", "x")));
	return res;
}

TEST(a_lack_of_memory_is_reported)
{
	json_oom_begin();
	check_oom(make_everything, NULL);
	json_oom_end();
}
