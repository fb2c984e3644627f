#include "common/text/kube_names.h"
#include "test/lib/unit.h"

static void check_owner(const char *pod, const char *want)
{
	char owner[300];

	snprintf(owner, sizeof(owner), "%.*s", (int)kube_owner_len(pod, strlen(pod)), pod);
	if (strcmp(owner, want) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", pod, owner, want);
}

static void owners_are_named_as_in_coroot(void **state)
{
	static const struct {
		const char *pod, *owner;
	} cases[] = {
		/* those of the reference */
		{"coroot-node-agent-np9pk", "coroot-node-agent"},
		{"cassandra-main-12", "cassandra-main"},
		{"hello-28283967-khz2f", "hello"},
		/* Deployments */
		{"web-7d4b9c6f55-x2x4z", "web"},
		{"web-0-x2x4z", "web"},
		{"a-b-c-f-bcdfg", "a-b-c"},
		/* neither eleven hex digits nor a g are a hash */
		{"web-7d4b9c6f551-x2x4z", "web-7d4b9c6f551"},
		{"web-7d4g-x2x4z", "web-7d4g"},
		/* no name is left for the Deployment, so it is a DaemonSet */
		{"7d4b-x2x4z", "7d4b"},
		/* "a", "e" and "1" are not in Kubernetes' suffixes */
		{"web-x2x4a", ""},
		{"web-x2x4", ""},
		{"web-xx2x4z", ""},
		{"-x2x4z", ""},
		/* StatefulSets; five digits that are safe characters could be a DaemonSet's */
		{"web-2", "web"},
		{"web-24567", "web"},
		{"web-12345678901234567890", "web"},
		{"web-0-1", "web-0"},
		{"web-2x", ""},
		{"web-", ""},
		{"-2", ""},
		{"2", ""},
		{"web", ""},
		{"", ""},
		{"my.app-x2x4z", "my.app"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_owner(cases[i].pod, cases[i].owner);
}

static void names_need_no_end(void **state)
{
	(void)state;
	assert_int_equal(kube_owner_len("web-2-rest", 5), 3);
	assert_int_equal(kube_owner_len("web-\0", 5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners_are_named_as_in_coroot),
		cmocka_unit_test(names_need_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
