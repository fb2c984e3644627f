#include "cluster-agent/discover/known_pods.h"

#include <errno.h>

#include "test/lib/unit.h"

static struct scrape_endpoint endpoint = {.kind = PROFILE_KIND_HEAP, .port = 80, .path = "/heap"};

static struct scrape_container container = {"c", "/k8s/ns/pod/c", "c/1"};

static struct scrape_target pod(const char *uid)
{
	return (struct scrape_target){.uid = uid,
				      .namespace = "ns",
				      .pod = "pod",
				      .node = "node",
				      .service = "/k8s/ns/pod",
				      .ip = "10.0.0.1",
				      .containers = &container,
				      .n_containers = 1,
				      .problem = "",
				      .endpoints = &endpoint,
				      .n_endpoints = 1};
}

TEST(only_changes_are_reported)
{
	CLEANUP(known_pods_freep) struct known_pods *k = NULL;
	struct scrape_container other_container = container;
	struct scrape_endpoint other = endpoint;
	struct scrape_target t = pod("a");

	assert_int_equal(known_pods_new(&k, 10), 0);
	assert_int_equal(known_pods_put(k, &t), 1);
	assert_int_equal(known_pods_put(k, &t), 0);

	/* every field counts */
	t.containers = &other_container;
	const char **texts[] = {&t.namespace,
				&t.pod,
				&t.node,
				&t.service,
				&t.ip,
				&t.problem,
				&other_container.name,
				&other_container.coroot_service,
				&other_container.process};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		*texts[i] = "other";
		assert_int_equal(known_pods_put(k, &t), 1);
		assert_int_equal(known_pods_put(k, &t), 0);
	}
	t.endpoints = &other;
	assert_int_equal(known_pods_put(k, &t), 0);
	other.port = 81;
	assert_int_equal(known_pods_put(k, &t), 1);
	other.https = true;
	assert_int_equal(known_pods_put(k, &t), 1);
	other.kind = PROFILE_KIND_CPU;
	assert_int_equal(known_pods_put(k, &t), 1);
	other.path = "/profile";
	assert_int_equal(known_pods_put(k, &t), 1);
	other.container = 1;
	assert_int_equal(known_pods_put(k, &t), 1);
	t.n_endpoints = 0;
	assert_int_equal(known_pods_put(k, &t), 1);
	assert_int_equal(known_pods_put(k, &t), 0);
	assert_int_equal(known_pods_count(k), 1);
}

static void keep_gone(void *ctx, const char *uid)
{
	char *gone = ctx;
	size_t used = strlen(gone);

	snprintf(gone + used, 64 - used, "%s ", uid);
}

TEST(pods_without_a_mark_are_removed)
{
	CLEANUP(known_pods_freep) struct known_pods *k = NULL;
	const struct scrape_target a = pod("a"), b = pod("b"), c = pod("c"), d = pod("d");
	char gone[64] = "";

	assert_int_equal(known_pods_new(&k, 10), 0);
	assert_int_equal(known_pods_put(k, &a), 1);
	assert_int_equal(known_pods_put(k, &b), 1);
	assert_int_equal(known_pods_put(k, &c), 1);
	known_pods_sweep(k, keep_gone, gone);
	assert_string_equal(gone, "");

	known_pods_unmark(k);
	assert_int_equal(known_pods_put(k, &b), 0);
	assert_int_equal(known_pods_put(k, &d), 1);
	known_pods_keep(k, "c");
	known_pods_keep(k, "unheard of");
	known_pods_sweep(k, keep_gone, gone);
	assert_string_equal(gone, "a ");
	assert_int_equal(known_pods_count(k), 3);
	assert_true(known_pods_remove(k, "c"));
	assert_false(known_pods_remove(k, "c"));
	assert_false(known_pods_remove(k, "a"));
	assert_int_equal(known_pods_put(k, &a), 1);
}

TEST(a_pod_that_was_not_taken_in_counts_as_changed)
{
	CLEANUP(known_pods_freep) struct known_pods *k = NULL;
	const struct scrape_target a = pod("a");

	assert_int_equal(known_pods_new(&k, 10), 0);
	assert_int_equal(known_pods_put(k, &a), 1);
	known_pods_mark_unpublished(k, "a");
	known_pods_mark_unpublished(k, "unheard of");
	assert_int_equal(known_pods_put(k, &a), 1);
	assert_int_equal(known_pods_put(k, &a), 0);
}

TEST(the_limit_is_kept)
{
	CLEANUP(known_pods_freep) struct known_pods *k = NULL;
	const struct scrape_target a = pod("a"), b = pod("b"), c = pod("c");

	assert_int_equal(known_pods_new(&k, 2), 0);
	assert_int_equal(known_pods_put(k, &a), 1);
	assert_int_equal(known_pods_put(k, &b), 1);
	assert_int_equal(known_pods_put(k, &c), -ENOSPC);
	assert_int_equal(known_pods_put(k, &a), 0);
	assert_true(known_pods_remove(k, "b"));
	assert_int_equal(known_pods_put(k, &c), 1);
}

static int fill(void *arg)
{
	CLEANUP(known_pods_freep) struct known_pods *k = NULL;
	const struct scrape_target a = pod("a"), b = pod("b");
	int r;

	(void)arg;
	r = known_pods_new(&k, 2);
	if (r == 0)
		r = known_pods_put(k, &a);
	if (r == 1)
		r = known_pods_put(k, &b);
	return r < 0 ? r : 0;
}

TEST(lack_of_memory_is_survived)
{
	check_oom(fill, NULL);
	known_pods_free(NULL);
}
