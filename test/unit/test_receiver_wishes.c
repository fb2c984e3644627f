#include "common/upload/receiver_wishes.h"

#include <errno.h>

#include "test/lib/unit.h"

static int parse(struct receiver_wishes *ret, const char *body)
{
	return receiver_wishes_parse(ret, body, strlen(body));
}

TEST(what_a_receiver_says_is_understood)
{
	static const struct receiver_wishes all[] = {
		{KUBE_NAMING_OWN, true},
		{KUBE_NAMING_OWN, false},
		{KUBE_NAMING_COROOT, true},
		{KUBE_NAMING_COROOT, false},
	};
	struct receiver_wishes w;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_int_equal(parse(&w, receiver_wishes_json(&all[i])), 0);
		assert_int_equal(w.naming, all[i].naming);
		assert_int_equal(w.extra_labels, all[i].extra_labels);
	}
	assert_int_equal(parse(&w, "{\"later\":1,\"naming\":\"own\",\"extraLabels\":true}"), 0);
}

TEST(another_servers_answer_is_refused)
{
	static const char *const bodies[] = {
		"",
		"<!DOCTYPE html><html></html>",
		"ok",
		"[]",
		"{}",
		"null",
		"{\"naming\":\"own\"}",
		"{\"extraLabels\":true}",
		"{\"naming\":\"other\",\"extraLabels\":true}",
		"{\"naming\":1,\"extraLabels\":true}",
		"{\"naming\":\"own\",\"extraLabels\":\"yes\"}",
		"{\"naming\":\"own\",\"extraLabels\":true} and more",
	};
	struct receiver_wishes w = {KUBE_NAMING_COROOT, true};
	char *large = calloc(1, RECEIVER_WISHES_BYTES + 2);

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		assert_int_equal(parse(&w, bodies[i]), -EBADMSG);
	assert_non_null(large);
	memset(large, ' ', RECEIVER_WISHES_BYTES + 1);
	memcpy(large, "{\"naming\":\"own\",\"extraLabels\":true}", 35);
	assert_int_equal(receiver_wishes_parse(&w, large, RECEIVER_WISHES_BYTES + 1), -EBADMSG);
	assert_int_equal(receiver_wishes_parse(&w, large, RECEIVER_WISHES_BYTES), 0);
	free(large);
}

TEST(unknown_receivers_are_taken_for_coroot)
{
	const struct receiver_wishes w = RECEIVER_WISHES_COROOT;

	assert_int_equal(w.naming, KUBE_NAMING_COROOT);
	assert_false(w.extra_labels);
}
