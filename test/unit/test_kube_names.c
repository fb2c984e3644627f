#include "common/text/kube_names.h"

#include <errno.h>

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

static void controllers_stand_for_workloads(void **state)
{
	static const struct {
		const char *kind, *name, *pod, *want;
	} cases[] = {
		{"ReplicaSet", "web-7d4b9c6f55", "web-7d4b9c6f55-x2x4z", "web"},
		{"ReplicaSet", "handmade", "handmade-x2x4z", "handmade"},
		{"ReplicaSet", "web-", "web--x2x4z", "web-"},
		{"Job", "hello-28283967", "hello-28283967-khz2f", "hello"},
		{"Job", "migrate", "migrate-khz2f", "migrate"},
		{"StatefulSet", "db-0", "db-0-0", "db-0"},
		{"Workflow", "train-x", "train-x-step", "train-x"},
		{"Node", "node1", "etcd-node1", "etcd"},
		{"Node", "node1", "etcd", "etcd"},
		{"Node", "node1", "-node1", "-node1"},
		{"Node", "node1", "node1", "node1"},
		{"ReplicaSet", "a/b", "web", ""},
		{"ReplicaSet", NULL, "web", ""},
		{NULL, "web-7d4b9c6f55", "web", ""},
		{"Node", "node1", NULL, ""},
		{"Node", "node1", "a b", ""},
	};
	char ret[KUBE_PART_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		kube_owner_name(ret, cases[i].kind, cases[i].name, cases[i].pod);
		assert_string_equal(ret, cases[i].want);
	}
}

/* 28283967 minutes after the epoch */
#define CRON_S (INT64_C(28283967) * 60)
#define DAY_S (INT64_C(24) * 3600)

struct naming_case {
	struct kube_pod pod;
	int64_t now_s;
	const char *own_id, *own_service, *coroot_id, *coroot_service;
};

static const struct naming_case naming_cases[] = {
	/* a rule matches: both the same, whatever the owner */
	{{"shop", "web-7d4b9c6f55-x2x4z", "nginx", "another", NULL},
	 0,
	 "/k8s/shop/web-7d4b9c6f55-x2x4z/nginx",
	 "/k8s/shop/web",
	 "/k8s/shop/web-7d4b9c6f55-x2x4z/nginx",
	 "/k8s/shop/web"},
	/* a Deployment's pod whose name was cut off at 63 bytes, by its owner only */
	{{"shop", "a-long-name0x2x4z", "nginx", "a-long-name0", "node1"},
	 0,
	 "/k8s/shop/a-long-name0x2x4z/nginx",
	 "/k8s/shop/a-long-name0",
	 "/k8s/shop/a-long-name0x2x4z/nginx",
	 "/k8s/shop/a-long-name0x2x4z/nginx"},
	{{"kube-system", "etcd-edge", "etcd", NULL, "edge"},
	 0,
	 "/k8s/kube-system/etcd-edge/etcd",
	 "/k8s/kube-system/etcd",
	 "/k8s/kube-system/etcd-edge/etcd",
	 "/k8s/kube-system/etcd-edge/etcd"},
	/* by its name it could be a replica */
	{{"kube-system", "etcd-worker-2", "etcd", "etcd", "worker-2", true},
	 0,
	 "/k8s/kube-system/etcd-worker-2/etcd",
	 "/k8s/kube-system/etcd",
	 "/k8s/kube-system/etcd-worker-2/etcd",
	 "/k8s/kube-system/etcd-worker"},
	{{"kube-system", "etcd-worker-2", "etcd", NULL, "worker-2", true},
	 0,
	 "/k8s/kube-system/etcd-worker-2/etcd",
	 "/k8s/kube-system/etcd",
	 "/k8s/kube-system/etcd-worker-2/etcd",
	 "/k8s/kube-system/etcd-worker"},
	{{"kube-system", "etcd-worker-2", "etcd", NULL, "worker-2"},
	 0,
	 "/k8s/kube-system/etcd-worker-2/etcd",
	 "/k8s/kube-system/etcd-worker",
	 "/k8s/kube-system/etcd-worker-2/etcd",
	 "/k8s/kube-system/etcd-worker"},
	/* Coroot's expressions know no dots; in the random part there are none */
	{{"shop", "web.v2-7d4b9c6f55-x2x4z", "nginx", "web.v2", NULL},
	 0,
	 "/k8s/shop/web.v2-7d4b9c6f55-x2x4z/nginx",
	 "/k8s/shop/web.v2",
	 "/k8s/shop/web.v2-7d4b9c6f55-x2x4z/nginx",
	 "/k8s/shop/web.v2-7d4b9c6f55-x2x4z/nginx"},
	{{"shop", "db.eu-0", "db", "db.eu", NULL},
	 0,
	 "/k8s/shop/db.eu-0/db",
	 "/k8s/shop/db.eu",
	 "/k8s/shop/db.eu-0/db",
	 "/k8s/shop/db.eu-0/db"},
	{{"my_shop", "db-0", "db", "db", NULL},
	 0,
	 "/k8s/my_shop/db-0/db",
	 "/k8s/my_shop/db",
	 "/k8s/my_shop/db-0/db",
	 "/k8s/my_shop/db-0/db"},
	{{"default", "bare", "main", "", ""},
	 0,
	 "/k8s/default/bare/main",
	 "/k8s/default/bare",
	 "/k8s/default/bare/main",
	 "/k8s/default/bare/main"},
	/* a cron job's, now, six days later and before, and eight days later */
	{{"default", "hello-28283967-khz2f", "xz", "hello", "node1"},
	 CRON_S,
	 "/k8s/default/hello-28283967-khz2f/xz",
	 "/k8s/default/hello",
	 "/k8s-cronjob/default/hello/xz",
	 "/k8s-cronjob/default/hello/xz"},
	{{"default", "hello-28283967-khz2f", "xz", "hello", "node1"},
	 CRON_S + 6 * DAY_S,
	 "/k8s/default/hello-28283967-khz2f/xz",
	 "/k8s/default/hello",
	 "/k8s-cronjob/default/hello/xz",
	 "/k8s-cronjob/default/hello/xz"},
	{{"default", "hello-28283967-khz2f", "xz", "hello", "node1"},
	 CRON_S - 6 * DAY_S,
	 "/k8s/default/hello-28283967-khz2f/xz",
	 "/k8s/default/hello",
	 "/k8s-cronjob/default/hello/xz",
	 "/k8s-cronjob/default/hello/xz"},
	{{"default", "hello-28283967-khz2f", "xz", "hello", "node1"},
	 CRON_S + 8 * DAY_S,
	 "/k8s/default/hello-28283967-khz2f/xz",
	 "/k8s/default/hello",
	 "/k8s/default/hello-28283967-khz2f/xz",
	 "/k8s/default/hello"},
	/* the container is not known */
	{{"default", "bare", NULL, NULL, NULL},
	 0,
	 NULL,
	 "/k8s/default/bare",
	 NULL,
	 "/k8s/default/bare"},
};

static void check_name(int r, const char *got, const char *want)
{
	assert_int_equal(r, want ? 0 : -EINVAL);
	if (want)
		assert_string_equal(got, want);
}

static void each_naming_names_container_and_service(void **state)
{
	char ret[KUBE_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(naming_cases); i++) {
		const struct naming_case *c = &naming_cases[i];
		int r = kube_container_id(ret, &c->pod, KUBE_NAMING_OWN, c->now_s);

		check_name(r, ret, c->own_id);
		r = kube_service_name(ret, &c->pod, KUBE_NAMING_OWN, c->now_s);
		check_name(r, ret, c->own_service);
		r = kube_container_id(ret, &c->pod, KUBE_NAMING_COROOT, c->now_s);
		check_name(r, ret, c->coroot_id);
		r = kube_service_name(ret, &c->pod, KUBE_NAMING_COROOT, c->now_s);
		check_name(r, ret, c->coroot_service);
	}
}

static void names_that_are_not_valid_are_refused(void **state)
{
	static const struct kube_pod bad[] = {
		{NULL, "web", "c", NULL, NULL},       {"", "web", "c", NULL, NULL},
		{"ns", NULL, "c", NULL, NULL},        {"ns", "", "c", NULL, NULL},
		{"n/s", "web", "c", NULL, NULL},      {"ns", "we b", "c", NULL, NULL},
		{"ns", "web", "c\n", NULL, NULL},     {"ns", "web", "c", "a/b", NULL},
		{"ns", "w\xc3\xb6", "c", NULL, NULL},
	};
	char ret[KUBE_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(kube_service_name(ret, &bad[i], KUBE_NAMING_OWN, 0), -EINVAL);
		assert_int_equal(kube_container_id(ret, &bad[i], KUBE_NAMING_OWN, 0), -EINVAL);
	}
}

static void the_longest_names_fit(void **state)
{
	char part[KUBE_PART_BYTES], too_long[KUBE_PART_BYTES + 1], ret[KUBE_NAME_BYTES];
	const struct kube_pod pod = {part, part, part, part, NULL};

	(void)state;
	memset(part, 'a', sizeof(part) - 1);
	part[sizeof(part) - 1] = '\0';
	memset(too_long, 'a', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	assert_int_equal(kube_container_id(ret, &pod, KUBE_NAMING_COROOT, 0), 0);
	assert_int_equal(strlen(ret), strlen("/k8s///") + 3 * strlen(part));
	assert_false(kube_part_is_valid(too_long));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners_are_named_as_in_coroot),
		cmocka_unit_test(names_need_no_end),
		cmocka_unit_test(controllers_stand_for_workloads),
		cmocka_unit_test(each_naming_names_container_and_service),
		cmocka_unit_test(names_that_are_not_valid_are_refused),
		cmocka_unit_test(the_longest_names_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
