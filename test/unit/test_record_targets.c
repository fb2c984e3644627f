#include <errno.h>

#include "node-agent/record/record_targets.h"
#include "test/lib/unit.h"

static struct record_targets *make(const char *comm, const char *container, bool by_id)
{
	const struct record_targets_config cfg = {comm, container, by_id};
	struct record_targets *t = NULL;

	assert_int_equal(record_targets_new(&t, &cfg), 0);
	return t;
}

TEST(children_of_targets_are_targets_until_they_exit)
{
	CLEANUP(record_targets_freep) struct record_targets *t = make(NULL, NULL, true);

	assert_int_equal(record_targets_add(t, 10), 0);
	assert_int_equal(record_targets_fork(t, 10, 11), 0);
	assert_int_equal(record_targets_fork(t, 11, 12), 0);
	assert_int_equal(record_targets_fork(t, 20, 21), 0);
	assert_true(record_targets_may_want(t, 12, "any"));
	assert_false(record_targets_may_want(t, 21, "any"));
	assert_int_equal(record_targets_count(t), 3);
	record_targets_exit(t, 10);
	record_targets_exit(t, 21);
	assert_false(record_targets_may_want(t, 10, "any"));
	assert_int_equal(record_targets_count(t), 2);
}

TEST(a_name_is_compared_as_far_as_the_kernel_keeps_it)
{
	CLEANUP(record_targets_freep)
	struct record_targets *t = make("a-name-of-more-than-15-bytes", NULL, false);

	assert_true(record_targets_may_want(t, 1, "a-name-of-more-"));
	assert_false(record_targets_may_want(t, 1, "a-name-of-more"));
	assert_false(record_targets_may_want(t, 1, "another"));
}

TEST(a_container_is_named_by_the_beginning_of_its_id_or_its_whole_name)
{
	static const struct workload docker = {
		.service = "/docker/0123456789ab",
		.container_id = "/docker/0123456789ab",
		.runtime_id = "0123456789abcdef",
	};
	static const struct workload bare = {
		.service = "/process/x", .container_id = "/process/x", .runtime_id = ""};
	static const struct cgroup_path inside = {CGROUP_DOCKER, "0123456789abcdef", ""};
	static const struct cgroup_path other = {CGROUP_DOCKER, "1123456789abcdef", ""};
	static const char *const names[] = {"0123", "0123456789abcdef", "/docker/0123456789ab"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(record_targets_freep)
		struct record_targets *t = make(NULL, names[i], false);

		assert_true(record_targets_may_want(t, 1, "any"));
		assert_true(record_targets_may_want_cgroup(t, &inside));
		assert_false(record_targets_may_want_cgroup(t, &other));
		assert_false(record_targets_may_want_cgroup(t, &(struct cgroup_path){0}));
		assert_true(record_targets_want_workload(t, &docker));
		assert_false(record_targets_want_workload(t, &bare));
	}
}

static int use(void *arg)
{
	const struct record_targets_config cfg = {.by_id = true};
	CLEANUP(record_targets_freep) struct record_targets *t = NULL;
	int r = record_targets_new(&t, &cfg);

	(void)arg;
	if (r == 0)
		r = record_targets_add(t, 1);
	return r == 0 ? record_targets_fork(t, 1, 2) : r;
}

TEST(every_failed_allocation_is_reported)
{
	check_oom(use, NULL);
}
