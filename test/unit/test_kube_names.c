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

TEST(a_name_alone_loses_only_what_kubernetes_has_added)
{
	static const struct {
		const char *pod, *owner;
	} cases[] = {
		/* DaemonSets of one chart, and the Deployment of its name */
		{"shop-db-x2x4z", "shop-db"},
		{"shop-be-x2x4z", "shop-be"},
		{"shop-fe-x2x4z", "shop-fe"},
		{"shop-7d4b9c6f55-x2x4z", "shop"},
		{"cache-a-x2x4z", "cache-a"},
		{"cache-b-x2x4z", "cache-b"},
		{"gpu-a100-x2x4z", "gpu-a100"},
		{"report-1-x2x4z", "report-1"},
		{"shard-2-x2x4z", "shard-2"},
		{"ad-deadbeef-x2x4z", "ad-deadbeef"},
		{"build-2024-x2x4z", "build-2024"},
		{"coroot-node-agent-np9pk", "coroot-node-agent"},
		/* hashes have 8 to 10 characters */
		{"web-7d4b9c6f-x2x4z", "web"},
		{"web-7d4b9c6f5-x2x4z", "web"},
		{"web-7d4b9c6-x2x4z", "web-7d4b9c6"},
		{"web-7d4b9c6f551-x2x4z", "web-7d4b9c6f551"},
		{"web-7d4b9c6f555-x2x4z", "web-7d4b9c6f555"},
		{"web-7d4b9c6a-x2x4z", "web-7d4b9c6a"},
		/* no name is left for the Deployment, so it is a DaemonSet */
		{"7d4b9c6f55-x2x4z", "7d4b9c6f55"},
		/* cron jobs: minutes, neither seconds nor other numbers */
		{"hello-28283967-khz2f", "hello"},
		{"hello-2828396-khz2f", "hello-2828396"},
		{"hello-282839670-khz2f", "hello-282839670"},
		{"hello-1606780800-khz2f", "hello-1606780800"},
		/* a number and a hash: only the last is Kubernetes' */
		{"hello-28283967-7d4b9c6f55-khz2f", "hello-28283967"},
		/* "a", "e" and "1" are not in Kubernetes' suffixes */
		{"web-x2x4a", ""},
		{"web-x2x4", ""},
		{"web-xx2x4z", ""},
		{"-x2x4z", ""},
		/* StatefulSets; five digits that are safe characters could be a DaemonSet's */
		{"cassandra-main-12", "cassandra-main"},
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

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_owner(cases[i].pod, cases[i].owner);
}

TEST(names_need_no_end)
{
	assert_int_equal(kube_owner_len("web-2-rest", 5), 3);
	assert_int_equal(kube_owner_len("web-\0", 5), 0);
}

#define HASH(h)                                         \
	{                                               \
		.values[KUBE_LABEL_TEMPLATE_HASH] = (h) \
	}
#define ROLLOUT(h)                                     \
	{                                              \
		.values[KUBE_LABEL_ROLLOUT_HASH] = (h) \
	}
#define CONFIG(name)                                           \
	{                                                      \
		.values[KUBE_LABEL_DEPLOYMENT_CONFIG] = (name) \
	}
#define JOB(name)                                \
	{                                        \
		.values[KUBE_LABEL_JOB] = (name) \
	}
#define OLD_JOB(name)                                \
	{                                            \
		.values[KUBE_LABEL_OLD_JOB] = (name) \
	}
#define STATEFUL(pod)                                           \
	{                                                       \
		.values = {                                     \
			[KUBE_LABEL_STATEFUL_POD] = (pod),      \
			[KUBE_LABEL_REVISION] = "db-7d4b9c6f55" \
		}                                               \
	}
#define REVISION(h)                                \
	{                                          \
		.values[KUBE_LABEL_REVISION] = (h) \
	}

TEST(controllers_stand_for_workloads)
{
	static const struct {
		const char *kind, *name, *pod, *want;
		struct kube_labels labels;
	} cases[] = {
		{"ReplicaSet", "web-7d4b9c6f55", "web-7d4b9c6f55-x2x4z", "web", HASH("7d4b9c6f55")},
		/* one in 430 hashes */
		{"ReplicaSet", "web-7d4b", "web-7d4b-x2x4z", "web", HASH("7d4b")},
		{"ReplicaSet", "web-7d4b9c6f55", "x", "web", ROLLOUT("7d4b9c6f55")},
		/* nobody's but its own */
		{"ReplicaSet", "shard-1", "shard-1-x2x4z", "shard-1", {{0}}},
		{"ReplicaSet", "web-7d4b9c6f55", "x", "web-7d4b9c6f55", {{0}}},
		{"ReplicaSet", "web-7d4b9c6f55", "x", "web-7d4b9c6f55", HASH("")},
		{"ReplicaSet", "web-7d4b9c6f55", "x", "web-7d4b9c6f55", HASH("6f55")},
		{"ReplicaSet", "7d4b9c6f55", "x", "7d4b9c6f55", HASH("7d4b9c6f55")},
		{"ReplicaSet", "-7d4b9c6f55", "x", "-7d4b9c6f55", HASH("7d4b9c6f55")},
		{"ReplicaSet", "handmade", "handmade-x2x4z", "handmade", {{0}}},
		{"ReplicaSet", "web-", "web--x2x4z", "web-", {{0}}},
		{"ReplicationController", "shop-3", "shop-3-x2x4z", "shop", CONFIG("shop")},
		{"ReplicationController", "shop-3", "shop-3-x2x4z", "shop-3", CONFIG("web")},
		{"ReplicationController", "shop-3", "shop-3-x2x4z", "shop-3", {{0}}},
		{"Job", "hello-28283967", "hello-28283967-khz2f", "hello", {{0}}},
		{"Job", "report-1", "report-1-khz2f", "report-1", {{0}}},
		{"Job", "export-1606780800", "x", "export-1606780800", {{0}}},
		{"Job", "28283967", "28283967-khz2f", "28283967", {{0}}},
		{"Job", "migrate", "migrate-khz2f", "migrate", {{0}}},
		{"DaemonSet", "shop-db", "shop-db-x2x4z", "shop-db", REVISION("7d4b9c6f55")},
		{"DaemonSet", "cache-bcdf4567", "x", "cache-bcdf4567", REVISION("7d4b9c6f55")},
		{"StatefulSet", "db-0", "db-0-0", "db-0", {{0}}},
		{"StatefulSet", "db-28283967", "x", "db-28283967", HASH("28283967")},
		{"Workflow", "train-x", "train-x-step", "train-x", {{0}}},
		{"Node", "node1", "etcd-node1", "etcd", {{0}}},
		{"Node", "node1", "etcd", "etcd", {{0}}},
		{"Node", "node1", "-node1", "-node1", {{0}}},
		{"Node", "node1", "node1", "node1", {{0}}},
		{"ReplicaSet", "a/b", "web", "", {{0}}},
		{"ReplicaSet", NULL, "web", "", {{0}}},
		{NULL, "web-7d4b9c6f55", "web", "", {{0}}},
		{"Node", "node1", NULL, "", {{0}}},
		{"Node", "node1", "a b", "", {{0}}},
	};
	char ret[KUBE_PART_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		kube_owner_name(ret, cases[i].kind, cases[i].name, cases[i].pod, &cases[i].labels);
		assert_string_equal(ret, cases[i].want);
	}
	kube_owner_name(ret, "ReplicaSet", "web-7d4b9c6f55", "web-7d4b9c6f55-x2x4z", NULL);
	assert_string_equal(ret, "web-7d4b9c6f55");
}

#define FORTY "a-name-of-a-workload-that-is-too-long-fo"

TEST(labels_name_the_controller_that_set_them)
{
	static const struct {
		const char *pod, *want;
		struct kube_labels labels;
	} cases[] = {
		{"web-7d4b9c6f55-x2x4z", "web", HASH("7d4b9c6f55")},
		{"web-7d4b-x2x4z", "web", HASH("7d4b")},
		{"web-7d4b9c6f55-x2x4z", "web", ROLLOUT("7d4b9c6f55")},
		{"web-7d4b9c6f55-x2x4z", "", HASH("6f55")},
		{"web-7d4b9c6f55-x2x4a", "", HASH("7d4b9c6f55")},
		{"7d4b9c6f55-x2x4z", "", HASH("7d4b9c6f55")},
		/* names of 63 characters, which lack the dash or some of the hash */
		{FORTY "r-names-7d4b9c6f5"
		       "x2x4z",
		 "", HASH("7d4b9c6f55")},
		{FORTY "r-pods7-7d4b9c6f55"
		       "x2x4z",
		 FORTY "r-pods7", HASH("7d4b9c6f55")},
		{FORTY "r-pods-11-7d4b9c6f"
		       "x2x4z",
		 FORTY "r-pods-11", HASH("7d4b9c6f55")},
		{FORTY "r-the-name-of-it-7"
		       "x2x4z",
		 FORTY "r-the-name-of-it", HASH("7d4b9c6f55")},
		{"report-1-x2x4z", "report-1", JOB("report-1")},
		{"hello-28283967-khz2f", "hello", JOB("hello-28283967")},
		{"hello-28283967-khz2f", "hello", OLD_JOB("hello-28283967")},
		/* indexed, and both at once */
		{"train-0-khz2f", "train", JOB("train")},
		{FORTY "r-its-pod-282"
		       "khz2f",
		 FORTY "r-its-pod", JOB(FORTY "r-its-pod-28283967")},
		{"other-khz2f", "", JOB("train")},
		{"trainer-khz2f", "", JOB("train")},
		{"a/b-khz2f", "", JOB("a/b")},
		{"db-0-2", "db-0", STATEFUL("db-0-2")},
		{"db-x2x4z", "", STATEFUL("db-0")},
		{"shop-db-x2x4z", "shop-db", REVISION("7d4b9c6f55")},
		{"cache-bcdf4567-x2x4z", "cache-bcdf4567", REVISION("7d4b9c6f55")},
		{"cache", "", REVISION("7d4b9c6f55")},
		{"shop-3-x2x4z", "shop", CONFIG("shop")},
		{"shop-3-x2x4z", "", CONFIG("web")},
		{"web-2", "", {{0}}},
		{"web-x2x4z", "", {{0}}},
		{"", "", HASH("7d4b9c6f55")},
		{"a b-7d4b9c6f55-x2x4z", "", HASH("7d4b9c6f55")},
	};
	char ret[KUBE_PART_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		kube_owner_by_labels(ret, cases[i].pod, &cases[i].labels);
		if (strcmp(ret, cases[i].want) != 0)
			fail_msg("%s: \"%s\", not \"%s\"", cases[i].pod, ret, cases[i].want);
	}
}

/* In a pod's name of 63 characters, neither a dash nor a hash has room. */
TEST(pods_of_a_name_of_58_characters_share_its_beginning)
{
	static const struct {
		const char *pod, *want;
		struct kube_labels labels;
	} cases[] = {
		{FORTY "r-the-name-of-it-4"
		       "x2x4z",
		 FORTY "r-the-name-of-it-4", HASH("7d4b9c6f55")},
		{FORTY "r-the-name-of-it-4"
		       "bcdfg",
		 FORTY "r-the-name-of-it-4", ROLLOUT("98765bcdf")},
		{FORTY "r-daemons-of-it-xy"
		       "x2x4z",
		 FORTY "r-daemons-of-it-xy", REVISION("7d4b9c6f55")},
		{FORTY "r-daemons-of-it-x-"
		       "x2x4z",
		 FORTY "r-daemons-of-it-x", REVISION("7d4b9c6f55")},
		/* nothing random at the end, a shorter name, and nobody who made it */
		{FORTY "r-daemons-of-it-xy"
		       "x2x4a",
		 "", REVISION("7d4b9c6f55")},
		{FORTY "r-daemons-of-it-x"
		       "x2x4z",
		 "", REVISION("7d4b9c6f55")},
		{FORTY "r-daemons-of-it-xy"
		       "x2x4z",
		 "", REVISION("")},
	};
	char ret[KUBE_PART_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		kube_owner_by_labels(ret, cases[i].pod, &cases[i].labels);
		if (strcmp(ret, cases[i].want) != 0)
			fail_msg("%s: \"%s\", not \"%s\"", cases[i].pod, ret, cases[i].want);
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
	/* the owner counts in our own naming only */
	{{"shop", "web-7d4b9c6f55-x2x4z", "nginx", "another", NULL},
	 0,
	 "/k8s/shop/web-7d4b9c6f55-x2x4z/nginx",
	 "/k8s/shop/another",
	 "/k8s/shop/web-7d4b9c6f55-x2x4z/nginx",
	 "/k8s/shop/web"},
	{{"shop", "web-2", "nginx", "web-2", NULL},
	 0,
	 "/k8s/shop/web-2/nginx",
	 "/k8s/shop/web-2",
	 "/k8s/shop/web-2/nginx",
	 "/k8s/shop/web"},
	/* Coroot takes these for hashes */
	{{"shop", "shop-db-x2x4z", "c", NULL, NULL},
	 0,
	 "/k8s/shop/shop-db-x2x4z/c",
	 "/k8s/shop/shop-db",
	 "/k8s/shop/shop-db-x2x4z/c",
	 "/k8s/shop/shop"},
	{{"shop", "web-0-x2x4z", "c", NULL, NULL},
	 0,
	 "/k8s/shop/web-0-x2x4z/c",
	 "/k8s/shop/web-0",
	 "/k8s/shop/web-0-x2x4z/c",
	 "/k8s/shop/web"},
	{{"shop", "a-b-c-f-bcdfg", "c", NULL, NULL},
	 0,
	 "/k8s/shop/a-b-c-f-bcdfg/c",
	 "/k8s/shop/a-b-c-f",
	 "/k8s/shop/a-b-c-f-bcdfg/c",
	 "/k8s/shop/a-b-c"},
	/* neither eleven hex digits nor a g are a hash, for Coroot */
	{{"shop", "web-7d4b9c6f551-x2x4z", "c", NULL, NULL},
	 0,
	 "/k8s/shop/web-7d4b9c6f551-x2x4z/c",
	 "/k8s/shop/web-7d4b9c6f551",
	 "/k8s/shop/web-7d4b9c6f551-x2x4z/c",
	 "/k8s/shop/web-7d4b9c6f551"},
	{{"shop", "web-bcdfghjk-x2x4z", "c", NULL, NULL},
	 0,
	 "/k8s/shop/web-bcdfghjk-x2x4z/c",
	 "/k8s/shop/web",
	 "/k8s/shop/web-bcdfghjk-x2x4z/c",
	 "/k8s/shop/web-bcdfghjk"},
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

TEST(each_naming_names_container_and_service)
{
	char ret[KUBE_NAME_BYTES];

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

TEST(names_that_are_not_valid_are_refused)
{
	static const struct kube_pod bad[] = {
		{NULL, "web", "c", NULL, NULL},       {"", "web", "c", NULL, NULL},
		{"ns", NULL, "c", NULL, NULL},        {"ns", "", "c", NULL, NULL},
		{"n/s", "web", "c", NULL, NULL},      {"ns", "we b", "c", NULL, NULL},
		{"ns", "web", "c\n", NULL, NULL},     {"ns", "web", "c", "a/b", NULL},
		{"ns", "w\xc3\xb6", "c", NULL, NULL},
	};
	char ret[KUBE_NAME_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(kube_service_name(ret, &bad[i], KUBE_NAMING_OWN, 0), -EINVAL);
		assert_int_equal(kube_container_id(ret, &bad[i], KUBE_NAMING_OWN, 0), -EINVAL);
	}
}

TEST(the_longest_names_fit)
{
	char part[KUBE_PART_BYTES], too_long[KUBE_PART_BYTES + 1], ret[KUBE_NAME_BYTES];
	const struct kube_pod pod = {part, part, part, part, NULL};

	memset(part, 'a', sizeof(part) - 1);
	part[sizeof(part) - 1] = '\0';
	memset(too_long, 'a', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	assert_int_equal(kube_container_id(ret, &pod, KUBE_NAMING_COROOT, 0), 0);
	assert_int_equal(strlen(ret), strlen("/k8s///") + 3 * strlen(part));
	assert_false(kube_part_is_valid(too_long));
}
