#include <errno.h>

#include "node-agent/container/container_name.h"
#include "test/lib/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Of 2026-01-01 00:00:00 UTC: 29453760 minutes. */
#define NOW_S INT64_C(1767225600)

struct name_case {
	enum cgroup_kind kind;
	struct container_facts f;
	const char *container_id, *service;
};

static struct workload *name(enum cgroup_kind kind, const struct container_facts *f,
			     const struct container_name_rules *rules)
{
	struct workload_facts raw_facts = {.exe = ""};
	CLEANUP(workload_unrefp) struct workload *raw = NULL;
	struct workload *named = NULL;

	raw_facts.cgroup = (struct cgroup_path){kind, ID};
	assert_int_equal(workload_new(&raw, &raw_facts), 0);
	assert_int_equal(container_name(&named, raw, f, rules), 0);
	assert_int_equal(named->kind, kind);
	assert_string_equal(named->runtime_id, ID);
	return named;
}

static void check(const struct name_case *c, enum kube_naming naming)
{
	const struct container_name_rules rules = {naming, "node1", NOW_S};
	CLEANUP(workload_unrefp) struct workload *w = name(c->kind, &c->f, &rules);

	assert_string_equal(w->container_id, c->container_id);
	assert_string_equal(w->service, c->service);
}

#define POD(ns, pod_name, container)                                      \
	{                                                                 \
		.namespace = (ns), .pod = (pod_name), .name = (container) \
	}

/* The examples of Coroot's own tests, and its table of cases. */
TEST(coroot_gets_the_names_of_its_own_agents)
{
	static const struct name_case cases[] = {
		{CGROUP_CONTAINERD, POD("coroot", "coroot-node-agent-np9pk", "node-agent"),
		 "/k8s/coroot/coroot-node-agent-np9pk/node-agent", "/k8s/coroot/coroot-node-agent"},
		{CGROUP_CRIO, POD("default", "cassandra-main-12", "cassandra"),
		 "/k8s/default/cassandra-main-12/cassandra", "/k8s/default/cassandra-main"},
		/* a job's number that is no time within a week of now */
		{CGROUP_KUBEPODS, POD("default", "hello-28283967-khz2f", "xz"),
		 "/k8s/default/hello-28283967-khz2f/xz", "/k8s/default/hello"},
		{CGROUP_KUBEPODS, POD("default", "hello-29453700-khz2f", "xz"),
		 "/k8s-cronjob/default/hello/xz", "/k8s-cronjob/default/hello/xz"},
		{CGROUP_KUBEPODS, POD("shop", "web-7d4b9c6f55-x2x4z", "nginx"),
		 "/k8s/shop/web-7d4b9c6f55-x2x4z/nginx", "/k8s/shop/web"},
		{CGROUP_KUBEPODS, POD("shop", "bare", "sh"), "/k8s/shop/bare/sh",
		 "/k8s/shop/bare/sh"},
		{CGROUP_DOCKER,
		 {.name = "/web", .path = "/swarm/shop/web/2"},
		 "/swarm/shop/web/2",
		 "/swarm/shop/web/2"},
		{CGROUP_DOCKER,
		 {.name = "x", .path = "/nomad/default/shop/web/0a1b/nginx"},
		 "/nomad/default/shop/web/0a1b/nginx",
		 "/nomad/default/shop/web/0a1b/nginx"},
		{CGROUP_DOCKER, {.name = "/web"}, "/docker/web", "/docker/web"},
		{CGROUP_KUBEPODS,
		 {.namespace = "shop", .pod = "web-x2x4z", .sandbox = true},
		 "/k8s/shop/web-x2x4z/sandbox",
		 "/k8s/shop/web"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(&cases[i], KUBE_NAMING_COROOT);
}

TEST(our_receiver_gets_a_service_per_application)
{
	static const struct name_case cases[] = {
		{CGROUP_KUBEPODS, POD("default", "hello-29453700-khz2f", "xz"),
		 "/k8s/default/hello-29453700-khz2f/xz", "/k8s/default/hello"},
		{CGROUP_KUBEPODS, POD("shop", "web-7d4b9c6f55-x2x4z", "nginx"),
		 "/k8s/shop/web-7d4b9c6f55-x2x4z/nginx", "/k8s/shop/web"},
		{CGROUP_KUBEPODS, POD("shop", "bare", "sh"), "/k8s/shop/bare/sh", "/k8s/shop/bare"},
		{CGROUP_KUBEPODS,
		 {.namespace = "shop", .pod = "train-step", .name = "a", .owner = "train"},
		 "/k8s/shop/train-step/a",
		 "/k8s/shop/train"},
		/* what is known comes before what the name looks like */
		{CGROUP_KUBEPODS,
		 {.namespace = "shop", .pod = "web-2", .name = "a", .owner = "other"},
		 "/k8s/shop/web-2/a",
		 "/k8s/shop/other"},
		{CGROUP_KUBEPODS, POD("shop", "shop-db-x2x4z", "c"), "/k8s/shop/shop-db-x2x4z/c",
		 "/k8s/shop/shop-db"},
		{CGROUP_KUBEPODS, POD("kube-system", "etcd-node1", "etcd"),
		 "/k8s/kube-system/etcd-node1/etcd", "/k8s/kube-system/etcd"},
		{CGROUP_PODMAN, {.name = "web"}, "/podman/web", "/podman/web"},
		/* nobody runs pods with podman but who wants to pose as one */
		{CGROUP_PODMAN,
		 {.namespace = "shop", .pod = "pay-0", .name = "web"},
		 "/podman/web",
		 "/podman/web"},
		{CGROUP_CONTAINERD, {.name = "web"}, "/containerd/web", "/containerd/web"},
		{CGROUP_KUBEPODS,
		 {.name = "web", .runtime = "docker"},
		 "/docker/web",
		 "/docker/web"},
		{CGROUP_CONTAINER,
		 {.name = "web", .runtime = "podman"},
		 "/podman/web",
		 "/podman/web"},
		{CGROUP_DOCKER, {.name = "web", .runtime = "podman"}, "/docker/web", "/docker/web"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(&cases[i], KUBE_NAMING_OWN);
}

TEST(texts_that_are_no_names_are_ignored)
{
	static const struct name_case cases[] = {
		{CGROUP_CONTAINERD, {0}, "/containerd/0123456789ab", "/containerd/0123456789ab"},
		{CGROUP_DOCKER, {.name = ""}, "/docker/0123456789ab", "/docker/0123456789ab"},
		{CGROUP_DOCKER, {.name = "/"}, "/docker/0123456789ab", "/docker/0123456789ab"},
		{CGROUP_DOCKER, {.name = "a/b"}, "/docker/0123456789ab", "/docker/0123456789ab"},
		{CGROUP_DOCKER, {.name = "a\nb"}, "/docker/0123456789ab", "/docker/0123456789ab"},
		{CGROUP_DOCKER, {.name = "a\xff"}, "/docker/0123456789ab", "/docker/0123456789ab"},
		{CGROUP_DOCKER, {.name = "w\xc3\xb6"}, "/docker/w\xc3\xb6", "/docker/w\xc3\xb6"},
		/* nobody poses as a pod, or as a unit */
		{CGROUP_DOCKER,
		 {.name = "x", .path = "/k8s/shop/web/nginx"},
		 "/docker/x",
		 "/docker/x"},
		{CGROUP_DOCKER,
		 {.name = "x", .path = "/system.slice/sshd.service"},
		 "/docker/x",
		 "/docker/x"},
		{CGROUP_DOCKER, {.name = "x", .path = "/swarm//a/1"}, "/docker/x", "/docker/x"},
		{CGROUP_DOCKER,
		 {.name = "x", .path = "/swarm/a\x1b[1m/b/1"},
		 "/docker/x",
		 "/docker/x"},
		/* a pod that cannot be named is not taken for a container outside pods either */
		{CGROUP_DOCKER, POD("shop", "../../x", "x"), "/docker/0123456789ab",
		 "/docker/0123456789ab"},
		{CGROUP_DOCKER, POD("shop\n", "web", "x"), "/docker/0123456789ab",
		 "/docker/0123456789ab"},
		{CGROUP_DOCKER, POD("shop", "web", "a/b"), "/docker/0123456789ab",
		 "/docker/0123456789ab"},
		{CGROUP_DOCKER, POD(NULL, "web", "x"), "/docker/0123456789ab",
		 "/docker/0123456789ab"},
		{CGROUP_KUBEPODS,
		 {.namespace = "shop", .pod = "bare", .name = "a", .owner = "x/y"},
		 "/k8s/shop/bare/a",
		 "/k8s/shop/bare"},
	};
	char longest[300];
	struct name_case too_long = {
		CGROUP_DOCKER, {.name = longest}, "/docker/0123456789ab", "/docker/0123456789ab"};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(&cases[i], KUBE_NAMING_OWN);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	check(&too_long, KUBE_NAMING_OWN);
}

TEST(labels_come_from_the_facts)
{
	const struct container_name_rules rules = {KUBE_NAMING_OWN, NULL, NOW_S};
	struct container_facts f = {
		.namespace = "shop",
		.pod = "web-x2x4z",
		.pod_uid = "7a1c",
		.name = "nginx",
		.image = "docker.io/library/nginx:1.27",
		.profiling_disabled = true,
	};
	CLEANUP(workload_unrefp) struct workload *w = name(CGROUP_KUBEPODS, &f, &rules);
	CLEANUP(workload_unrefp) struct workload *bad = NULL, *plain = NULL;

	assert_string_equal(w->namespace, "shop");
	assert_string_equal(w->pod, "web-x2x4z");
	assert_string_equal(w->container, "nginx");
	assert_string_equal(w->pod_uid, "7a1c");
	assert_string_equal(w->image, "docker.io/library/nginx:1.27");
	assert_true(w->profiling_disabled);

	/* what is known besides the name is kept without it */
	f.name = NULL;
	f.image = "a\nb";
	bad = name(CGROUP_KUBEPODS, &f, &rules);
	assert_string_equal(bad->container_id, "/kubepods/0123456789ab");
	assert_string_equal(bad->image, "");
	assert_string_equal(bad->pod, "");
	assert_true(bad->profiling_disabled);

	f = (struct container_facts){.name = "/db", .image = "postgres"};
	plain = name(CGROUP_DOCKER, &f, &rules);
	assert_string_equal(plain->container, "db");
	assert_string_equal(plain->namespace, "");
	assert_false(plain->profiling_disabled);
}

TEST(a_service_is_a_guess_until_the_owner_is_known)
{
	struct container_facts f = POD("shop", "web-x2x4z", "nginx");

	assert_true(container_facts_have_name(&f));
	assert_true(container_facts_are_guess(&f));
	f.owner = "web x";
	assert_true(container_facts_are_guess(&f));
	f.owner = "web";
	assert_false(container_facts_are_guess(&f));
	f = (struct container_facts){.name = "web"};
	assert_true(container_facts_have_name(&f));
	assert_false(container_facts_are_guess(&f));
	f.name = NULL;
	assert_false(container_facts_have_name(&f));
	assert_false(container_kind_has_names(CGROUP_SYSTEMD));
	assert_false(container_kind_has_names(CGROUP_NONE));
	assert_true(container_kind_has_names(CGROUP_KUBEPODS));
}

TEST(a_container_of_which_only_the_pod_is_known_has_a_likely_name)
{
	const struct container_name_rules rules = {.naming = KUBE_NAMING_OWN};
	struct container_facts f = {.namespace = "shop",
				    .pod = "web-x2x4z",
				    .owner = "web",
				    .image = "shop:1",
				    .likely_name = "0123456789ab"};
	const struct {
		const char *comm, *name;
		bool sandbox;
		const char *want, *image;
	} cases[] = {
		{"nginx", NULL, false, "/k8s/shop/web-x2x4z/0123456789ab", "shop:1"},
		{"pause", NULL, false, "/k8s/shop/web-x2x4z/sandbox", ""},
		{"nginx", "web", false, "/k8s/shop/web-x2x4z/web", "shop:1"},
		{"pause", "web", false, "/k8s/shop/web-x2x4z/web", "shop:1"},
		{"nginx", NULL, true, "/k8s/shop/web-x2x4z/sandbox", "shop:1"},
	};

	assert_true(container_facts_have_name(&f));
	assert_true(container_facts_are_guess(&f));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(workload_unrefp) struct workload *raw = NULL, *named = NULL;
		const struct workload_facts of = {
			.exe = "", .comm = cases[i].comm, .cgroup = {CGROUP_KUBEPODS, "id", "uid"}};

		f.name = cases[i].name;
		f.sandbox = cases[i].sandbox;
		assert_int_equal(workload_new(&raw, &of), 0);
		assert_int_equal(container_name(&named, raw, &f, &rules), 0);
		assert_string_equal(named->container_id, cases[i].want);
		assert_string_equal(named->service, "/k8s/shop/web");
		assert_string_equal(named->image, cases[i].image);
		assert_int_equal(container_facts_are_guess(&f), !f.name && !f.sandbox);
	}
}

static int name_one(void *arg)
{
	const struct container_name_rules rules = {KUBE_NAMING_OWN, NULL, NOW_S};
	const struct container_facts f = POD("shop", "web-x2x4z", "nginx");
	CLEANUP(workload_unrefp) struct workload *named = NULL;

	return container_name(&named, arg, &f, &rules);
}

TEST(survives_lack_of_memory)
{
	struct workload_facts facts = {.exe = ""};
	CLEANUP(workload_unrefp) struct workload *raw = NULL;

	facts.cgroup = (struct cgroup_path){CGROUP_KUBEPODS, ID};
	assert_int_equal(workload_new(&raw, &facts), 0);
	check_oom(name_one, raw);
}
