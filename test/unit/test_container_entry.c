#include "node-agent/container/container_entry.h"

#include "test/lib/unit.h"

static const struct facts_origin api = {.source = 0, .rank = 0, .is_trusted = true};
static const struct facts_origin runtime = {.source = 1, .rank = 0, .is_trusted = true};

static bool is_disabled(struct container_entry *e)
{
	struct container_facts f;

	container_entry_facts(e, &f);
	return f.profiling_disabled;
}

static void put(struct container_entry *e, const struct facts_origin *from, bool disabled,
		bool is_live)
{
	const struct container_facts f = {
		.id = "c1",
		.name = "web",
		.profiling_disabled = disabled,
		.annotation_is_live = is_live,
	};

	assert_true(container_entry_put(e, from, &f) >= 0);
}

static void the_annotation_as_it_is_now_counts(void **state)
{
	struct container_entry *e = container_entry_new("c1");

	(void)state;
	assert_non_null(e);
	put(e, &runtime, true, false);
	assert_true(is_disabled(e));
	/* it has been removed since the pod was made */
	put(e, &api, false, true);
	assert_false(is_disabled(e));
	put(e, &api, true, true);
	assert_true(is_disabled(e));
	put(e, &runtime, false, false);
	assert_true(is_disabled(e));
	put(e, &api, false, true);
	assert_false(is_disabled(e));
	container_entry_free(e);
}

static void the_order_of_sources_does_not_matter(void **state)
{
	struct container_entry *e = container_entry_new("c1");

	(void)state;
	assert_non_null(e);
	put(e, &api, true, false);
	put(e, &runtime, false, true);
	assert_false(is_disabled(e));
	container_entry_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_annotation_as_it_is_now_counts),
		cmocka_unit_test(the_order_of_sources_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
