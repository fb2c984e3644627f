#include "cluster-agent/operator/render/component.h"

#include <errno.h>

#include "cluster-agent/operator/render/rendered.h"
#include "test/lib/json_oom.h"
#include "test/lib/unit.h"

static const struct coroot_spec spec = {.name = "main", .namespace = "coroot", .uid = "u-1"};
static const struct operator_images images = {.pull_secret = NULL};
static const struct render_input input = {.spec = &spec, .images = &images};
static const struct coroot_pod nothing = {0};

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

/* What a place becomes. */
static json_t *filled(const struct component *c, const char *place)
{
	json_t *template = json_string(place), *ret = NULL;

	assert_int_equal(c->error, 0);
	assert_int_equal(object_template_fill(&ret, template, &c->scope), 0);
	json_decref(template);
	return ret;
}

TEST(metadata_names_the_owner)
{
	CLEANUP(component_fini) struct component c;

	component_begin(&c, &input, "coroot", &nothing, "i");
	assert_json(filled(&c, "<metadata>"),
		    "{\"name\":\"main-coroot\",\"namespace\":\"coroot\",\"labels\":{"
		    "\"app.kubernetes.io/managed-by\":\"coroot-operator\","
		    "\"app.kubernetes.io/part-of\":\"main\","
		    "\"app.kubernetes.io/component\":\"coroot\","
		    "\"coroot.com/owner-uid\":\"u-1\"},"
		    "\"ownerReferences\":[{\"apiVersion\":\"coroot.com/v1\",\"kind\":\"Coroot\","
		    "\"name\":\"main\",\"uid\":\"u-1\",\"controller\":true,"
		    "\"blockOwnerDeletion\":true}]}");
}

TEST(claims_may_have_no_owner_and_annotations)
{
	CLEANUP(component_fini) struct component c;
	json_t *annotations = json_pack("{s:s}", "a", "b");
	const struct coroot_storage storage = {"1Gi", NULL, true, annotations};
	json_t *claims;

	component_begin(&c, &input, "coroot", &nothing, "i");
	component_storage(&c, &storage, NULL);
	component_replicas(&c, 1);
	claims = filled(&c, "<claims>");
	assert_int_equal(json_array_size(claims), 1);
	assert_json(json_incref(json_object_get(json_array_get(claims, 0), "metadata")),
		    "{\"name\":\"data-main-coroot-0\",\"namespace\":\"coroot\",\"labels\":{"
		    "\"app.kubernetes.io/managed-by\":\"coroot-operator\","
		    "\"app.kubernetes.io/part-of\":\"main\","
		    "\"app.kubernetes.io/component\":\"coroot\","
		    "\"coroot.com/owner-uid\":\"u-1\"},\"annotations\":{\"a\":\"b\"}}");
	json_decref(claims);
	json_decref(annotations);
}

TEST(cluster_metadata_has_the_namespace_in_its_name)
{
	CLEANUP(component_fini) struct component c;

	component_begin(&c, &input, "node-agent", &nothing, "i");
	assert_json(filled(&c, "<clusterMetadata>"),
		    "{\"name\":\"coroot.main.node-agent\",\"labels\":{"
		    "\"app.kubernetes.io/managed-by\":\"coroot-operator\","
		    "\"app.kubernetes.io/part-of\":\"main\","
		    "\"app.kubernetes.io/component\":\"coroot-node-agent\","
		    "\"coroot.com/owner-uid\":\"u-1\"}}");
}

TEST(a_name_that_is_too_long_is_replaced_by_its_hash)
{
	CLEANUP(component_fini) struct component c;
	char name[250];
	const struct coroot_spec long_spec = {.name = name, .namespace = "coroot", .uid = "u"};
	const struct render_input in = {.spec = &long_spec, .images = &images};
	json_t *made;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	component_begin(&c, &in, "node-agent", &nothing, "i");
	made = filled(&c, "<clusterObject>");
	assert_int_equal(json_string_length(made), 16 + strlen(".node-agent"));
	assert_string_equal(json_string_value(made) + 16, ".node-agent");
	json_decref(made);
}

TEST(resources_are_filled_map_by_map)
{
	CLEANUP(component_fini) struct component own = {0}, none = {0}, keeper = {0};
	json_t *user = json_pack("{s:{s:s}}", "limits", "cpu", "2");
	const struct coroot_pod pod = {.resources = user};

	component_begin(&own, &input, "node-agent", &pod, "i");
	assert_json(filled(&own, "<resources>"),
		    "{\"limits\":{\"cpu\":\"2\"},"
		    "\"requests\":{\"cpu\":\"100m\",\"memory\":\"200Mi\"}}");
	component_begin(&none, &input, "node-agent", &nothing, "i");
	assert_json(filled(&none, "<resources>"),
		    "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"200Mi\"},"
		    "\"limits\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}}");
	component_begin(&keeper, &input, "clickhouse-keeper", &nothing, "i");
	assert_json(filled(&keeper, "<resources>"),
		    "{\"requests\":{\"cpu\":\"50m\",\"memory\":\"128Mi\"},"
		    "\"limits\":{\"memory\":\"1Gi\"}}");
	json_decref(user);
}

TEST(a_probe_uses_the_scheme_of_the_port)
{
	CLEANUP(component_fini) struct component c;

	component_begin(&c, &input, "coroot", &nothing, "i");
	assert_json(filled(&c, "<livenessProbe>"),
		    "{\"httpGet\":{\"path\":\"/healthz\",\"port\":\"http\",\"scheme\":\"HTTP\"},"
		    "\"periodSeconds\":10,\"timeoutSeconds\":5,\"failureThreshold\":6}");
	component_text(&c, "scheme", "HTTPS");
	assert_json(filled(&c, "<readinessProbe>"),
		    "{\"httpGet\":{\"path\":\"/readyz\",\"port\":\"http\",\"scheme\":\"HTTPS\"},"
		    "\"periodSeconds\":10,\"timeoutSeconds\":5,\"failureThreshold\":3}");
}

static json_t *pod_with(const json_t *pull_secrets, const char *pull_secret)
{
	CLEANUP(component_fini) struct component c;
	const struct operator_images with = {.pull_secret = pull_secret};
	const struct render_input in = {.spec = &spec, .images = &with};
	const struct coroot_pod pod = {.image.pull_secrets = pull_secrets};
	json_t *template = json_string("<pod>"), *ret = NULL;

	component_begin(&c, &in, "coroot", &pod, "i");
	c.scope.parts[0] = NULL;
	component_text(&c, "component", "coroot");
	component_number(&c, "graceSeconds", 30);
	component_made(&c, "container", json_pack("{s:s}", "name", "c"));
	if (!template || c.error < 0 || object_template_fill(&ret, template, &c.scope) < 0)
		ret = NULL;
	json_decref(template);
	return ret;
}

TEST(a_pod_has_what_is_given)
{
	assert_json(pod_with(NULL, NULL),
		    "{\"metadata\":{\"labels\":{"
		    "\"app.kubernetes.io/managed-by\":\"coroot-operator\","
		    "\"app.kubernetes.io/part-of\":\"main\","
		    "\"app.kubernetes.io/component\":\"coroot\"}},"
		    "\"spec\":{\"serviceAccountName\":\"main-coroot\","
		    "\"automountServiceAccountToken\":false,"
		    "\"enableServiceLinks\":false,"
		    "\"terminationGracePeriodSeconds\":30,"
		    "\"securityContext\":{\"runAsNonRoot\":true,\"runAsUser\":65534,"
		    "\"runAsGroup\":65534,\"fsGroup\":65534,"
		    "\"fsGroupChangePolicy\":\"OnRootMismatch\","
		    "\"seccompProfile\":{\"type\":\"RuntimeDefault\"}},"
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

	assert_int_equal(
		rendered_add(&r, json_pack("{s:s s:{s:s s:s}}", "kind", "ServiceAccount",
					   "metadata", "name", "main-x", "namespace", "coroot")),
		0);
	assert_int_equal(rendered_add(&r, json_pack("{s:s s:{s:s}}", "kind", "ClusterRole",
						    "metadata", "name", "coroot.main.x")),
			 0);
	assert_int_equal(rendered_add(&r, json_pack("{s:s}", "kind", "Secret")), -EINVAL);
	assert_int_equal(rendered_add(&r, json_pack("{s:{s:s}}", "metadata", "name", "x")),
			 -EINVAL);
	assert_int_equal(rendered_add(&r, json_pack("{s:s s:{s:s}}", "kind", "Job", "metadata",
						    "name", "x")),
			 -EINVAL);
	assert_int_equal(rendered_add(&r, NULL), -ENOMEM);
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
	json_t *pod = pod_with(NULL, "p");
	int res = pod ? 0 : -ENOMEM;

	(void)arg;
	json_decref(pod);
	if (res == 0)
		res = rendered_want_secret(&r, "a", "b", 1);
	if (res == 0)
		res = rendered_add(&r, json_pack("{s:s s:{s:s}}", "kind", "Deployment", "metadata",
						 "name", "x"));
	return res;
}

TEST(a_lack_of_memory_is_reported)
{
	json_decref(pod_with(NULL, NULL)); /* the templates are read once */
	json_oom_begin();
	check_oom(make_everything, NULL);
	json_oom_end();
}
