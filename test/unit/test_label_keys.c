#include "common/kubernetes/label_keys.h"

#include <errno.h>

#include "test/lib/unit.h"

TEST(keys_are_separated_by_commas)
{
	struct label_keys k;

	assert_int_equal(label_keys_parse(&k, "app.kubernetes.io/version, team,team", NULL), 0);
	assert_int_equal(k.n, 2);
	assert_string_equal(k.keys[0], "app.kubernetes.io/version");
	assert_string_equal(k.keys[1], "team");
	label_keys_fini(&k);
	assert_int_equal(label_keys_parse(&k, NULL, NULL), 0);
	assert_int_equal(k.n, 0);
	label_keys_fini(&k);
	assert_int_equal(label_keys_parse(&k, " , ", NULL), 0);
	assert_int_equal(k.n, 0);
	label_keys_fini(&k);
}

TEST(what_is_no_key_is_refused)
{
	static const struct {
		const char *list, *want;
	} cases[] = {
		{"a=b", "\"a=b\" is not the key of a label"},
		{"team,host.name", "profiles have a label \"host.name\" of their own"},
		{"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "more than 16 keys"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {""};
		struct label_keys k;

		assert_int_equal(label_keys_parse(&k, cases[i].list, &err), -EINVAL);
		assert_string_equal(err.msg, cases[i].want);
	}
}

TEST(a_pod_has_values)
{
	json_t *pod = json_loads("{\"metadata\":{\"labels\":{\"v\":\"1.2\",\"e\":\"\",\"n\":3}}}",
				 0, NULL);

	assert_non_null(pod);
	assert_string_equal(label_keys_value(pod, "v"), "1.2");
	assert_null(label_keys_value(pod, "e"));
	assert_null(label_keys_value(pod, "n"));
	assert_null(label_keys_value(pod, "x"));
	json_decref(pod);
}
