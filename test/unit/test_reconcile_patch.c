#include "cluster-agent/operator/reconcile/reconcile_patch.h"

#include <errno.h>

#include "cluster-agent/operator/reconcile/secret_maker.h"
#include "test/lib/json_oom.h"
#include "test/lib/unit.h"

static json_t *load(const char *text)
{
	json_t *v = json_loads(text, 0, NULL);

	assert_non_null(v);
	return v;
}

/* Frees both. */
static void assert_json(json_t *got, const char *wanted)
{
	json_t *v = load(wanted);
	char *text = json_dumps(got, JSON_COMPACT);

	if (!json_equal(got, v))
		fail_msg("%s, not %s", text, wanted);
	free(text);
	json_decref(got);
	json_decref(v);
}

TEST(the_finalizer_is_added_to_others_and_removed_alone)
{
	json_t *r = load("{\"metadata\":{\"resourceVersion\":\"7\",\"finalizers\":[\"x/y\"]}}");
	json_t *with = load("{\"metadata\":{\"resourceVersion\":\"8\",\"finalizers\":"
			    "[\"coroot.com/operator\",\"x/y\",\"coroot.com/operator\"]}}");
	json_t *none = load("{\"metadata\":{\"resourceVersion\":\"9\"}}");

	assert_false(reconcile_patch_has_finalizer(r));
	assert_true(reconcile_patch_has_finalizer(with));
	assert_false(reconcile_patch_has_finalizer(none));
	assert_json(reconcile_patch_finalizers(r, true),
		    "{\"metadata\":{\"resourceVersion\":\"7\",\"finalizers\":"
		    "[\"x/y\",\"coroot.com/operator\"]}}");
	assert_json(reconcile_patch_finalizers(with, false),
		    "{\"metadata\":{\"resourceVersion\":\"8\",\"finalizers\":[\"x/y\"]}}");
	assert_json(reconcile_patch_finalizers(none, true),
		    "{\"metadata\":{\"resourceVersion\":\"9\",\"finalizers\":"
		    "[\"coroot.com/operator\"]}}");
	json_decref(r);
	json_decref(with);
	json_decref(none);
}

static enum object_holder holder(const char *metadata)
{
	json_t *o = json_pack("{s:o}", "metadata", load(metadata));
	enum object_holder h = reconcile_patch_holder(o, "u1");

	json_decref(o);
	return h;
}

#define LABEL "\"labels\":{\"app.kubernetes.io/managed-by\":\"coroot-operator\"}"
#define SET_LABEL \
	"\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\"f:app.kubernetes.io/managed-by\":{}}}}"
#define APPLIED "{\"manager\":\"coroot-operator\",\"operation\":\"Apply\"," SET_LABEL "}"
#define UPDATED "{\"manager\":\"manager\",\"operation\":\"Update\"," SET_LABEL "}"

TEST(objects_of_others_are_told_apart)
{
	assert_int_equal(holder("{}"), OBJECT_HOLDER_FOREIGN);
	assert_int_equal(holder("{\"labels\":{\"app.kubernetes.io/managed-by\":\"Helm\"},"
				"\"ownerReferences\":[{\"uid\":\"u2\"}]}"),
			 OBJECT_HOLDER_FOREIGN);
	assert_int_equal(holder("{" LABEL "}"), OBJECT_HOLDER_OURS);
	/* somebody has removed the label */
	assert_int_equal(holder("{\"ownerReferences\":[{\"uid\":\"u1\"}]}"), OBJECT_HOLDER_OURS);
	assert_int_equal(holder("{\"labels\":{\"coroot.com/owner-uid\":\"u1\"}}"),
			 OBJECT_HOLDER_OURS);
	assert_int_equal(holder("{" LABEL ",\"managedFields\":[" UPDATED "]}"),
			 OBJECT_HOLDER_UPSTREAM);
	assert_int_equal(holder("{" LABEL ",\"managedFields\":[" UPDATED "," APPLIED "]}"),
			 OBJECT_HOLDER_OURS);
	assert_int_equal(holder("{" LABEL ",\"managedFields\":[{\"manager\":\"kube-controller\","
				"\"operation\":\"Update\",\"fieldsV1\":{\"f:spec\":{}}}]}"),
			 OBJECT_HOLDER_OURS);
}

TEST(upstreams_fields_become_our_earlier_apply)
{
	json_t *o = load(
		"{\"apiVersion\":\"apps/v1\",\"metadata\":{\"resourceVersion\":\"7\","
		"\"managedFields\":[" UPDATED ",{\"manager\":\"kube-controller-manager\","
		"\"operation\":\"Update\",\"subresource\":\"status\"},"
		"{\"manager\":\"old\",\"operation\":\"Update\",\"time\":\"then\",\"fieldsV1\":{"
		"\"f:metadata\":{\"f:labels\":{\"f:app.kubernetes.io/managed-by\":{},\"f:x\":{}}},"
		"\"f:spec\":{\"f:y\":{}}}}]}}");

	assert_json(reconcile_patch_take_over(o),
		    "{\"metadata\":{\"resourceVersion\":\"7\",\"managedFields\":["
		    "{\"manager\":\"kube-controller-manager\",\"operation\":\"Update\","
		    "\"subresource\":\"status\"},"
		    "{\"manager\":\"coroot-operator\",\"operation\":\"Apply\","
		    "\"apiVersion\":\"apps/v1\",\"time\":\"then\",\"fieldsType\":\"FieldsV1\","
		    "\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{"
		    "\"f:app.kubernetes.io/managed-by\":{},\"f:x\":{}}},\"f:spec\":{\"f:y\":{}}}}]"
		    "}}");
	json_decref(o);
}

TEST(secrets_are_random_letters_and_digits)
{
	char a[65], b[65];

	assert_int_equal(secret_maker_text(a, 64), 0);
	assert_int_equal(secret_maker_text(b, 64), 0);
	assert_int_equal(strlen(a), 64);
	assert_int_equal(
		strspn(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), 64);
	assert_string_not_equal(a, b);
}

TEST(a_secret_is_made_or_gets_a_key_that_it_lacks)
{
	const struct coroot_spec s = {.name = "coroot", .namespace = "ns", .uid = "u1"};
	const struct wanted_secret w = {"keys", "key", 32};
	json_t *existing = load("{\"metadata\":{\"resourceVersion\":\"7\"},"
				"\"data\":{\"other\":\"eA==\",\"empty\":\"\"}}");
	json_t *body = secret_maker_body(&s, &w, NULL);
	const char *data;

	assert_true(secret_maker_has(existing, "other"));
	assert_true(secret_maker_has(existing, "empty"));
	assert_false(secret_maker_has(existing, "key"));
	assert_false(secret_maker_may_add(existing));
	assert_true(secret_maker_may_add(body));
	data = json_string_value(json_object_get(json_object_get(body, "data"), "key"));
	assert_int_equal(strlen(data), 44);
	json_object_set_new(json_object_get(body, "data"), "key", json_string("x"));
	assert_json(body, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\","
			  "\"metadata\":{\"name\":\"keys\",\"namespace\":\"ns\",\"labels\":{"
			  "\"app.kubernetes.io/managed-by\":\"coroot-operator\","
			  "\"app.kubernetes.io/part-of\":\"coroot\"}},\"data\":{\"key\":\"x\"}}");
	body = secret_maker_body(&s, &w, existing);
	json_object_set_new(json_object_get(body, "data"), "key", json_string("x"));
	assert_json(body, "{\"metadata\":{\"resourceVersion\":\"7\"},\"data\":{\"key\":\"x\"}}");
	json_decref(existing);
	assert_null(secret_maker_body(&s, &(struct wanted_secret){"a", "b", 1000}, NULL));
}

static int make_patches(void *arg)
{
	const struct coroot_spec s = {.name = "coroot", .namespace = "ns", .uid = "u1"};
	const struct wanted_secret w = {"keys", "key", 32};
	json_t *all[] = {
		reconcile_patch_finalizers(arg, true),
		reconcile_patch_take_over(arg),
		secret_maker_body(&s, &w, NULL),
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!all[i])
			r = -ENOMEM;
		json_decref(all[i]);
	}
	return r;
}

#define CLAIM(size) "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"" size "\"}}}}"

TEST(a_claim_never_shrinks)
{
	static const struct {
		const char *there, *wanted, *applied;
	} cases[] = {
		{CLAIM("20Gi"), CLAIM("10Gi"), CLAIM("20Gi")},
		{CLAIM("10Gi"), CLAIM("20Gi"), CLAIM("20Gi")},
		{CLAIM("10240Mi"), CLAIM("10Gi"), CLAIM("10Gi")},
		{CLAIM("1.5T"), CLAIM("999G"), CLAIM("1.5T")},
		{CLAIM("?"), CLAIM("10Gi"), CLAIM("10Gi")},
		{"{}", CLAIM("10Gi"), CLAIM("10Gi")},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *there = load(cases[i].there), *claim = load(cases[i].wanted);

		assert_int_equal(reconcile_patch_keep_size(claim, there), 0);
		assert_json(claim, cases[i].applied);
		json_decref(there);
	}
}

TEST(a_claim_that_stays_loses_its_owner)
{
	json_t *claim = load("{\"metadata\":{\"resourceVersion\":\"7\",\"ownerReferences\":["
			     "{\"uid\":\"u1\"},{\"uid\":\"u2\"},{}]}}");
	json_t *patch;

	assert_int_equal(reconcile_patch_release(&patch, claim, "u1"), 0);
	assert_json(patch, "{\"metadata\":{\"resourceVersion\":\"7\","
			   "\"ownerReferences\":[{\"uid\":\"u2\"},{}]}}");
	assert_int_equal(reconcile_patch_release(&patch, claim, "u3"), 0);
	assert_null(patch);
	json_decref(claim);
}

TEST(memory_may_be_short)
{
	json_t *o = load("{\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\","
			 "\"finalizers\":[\"x\"],\"managedFields\":[" UPDATED "," UPDATED "]}}");

	json_oom_begin();
	check_oom(make_patches, o);
	json_oom_end();
	json_decref(o);
}
