#include <errno.h>

#include "cluster-agent/push/foreign_types.h"
#include "cluster-agent/query/read/profile_ids.h"
#include "cluster-agent/query/read/profile_types.h"
#include "test/lib/unit.h"

#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

static bool has(const char *id, const char *type)
{
	struct profile_id_types t;

	assert_int_equal(profile_id_types(&t, id), 0);
	for (size_t i = 0; i < t.n_items; i++)
		if (strcmp(t.items[i], type) == 0)
			return true;
	return false;
}

static const char *id_of(const char *type)
{
	size_t n;
	const struct profile_id *ids = profile_ids(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(ids[i].type, type) == 0)
			return ids[i].id;
	return NULL;
}

TEST(all_types_that_we_know_have_an_id_that_leads_back)
{
	size_t n;
	const struct profile_type *types = profile_types(&n);

	for (size_t i = 0; i < n; i++) {
		const char *id = id_of(types[i].type);

		/* what is not in the table is asked for under its own name */
		assert_true(has(id ? id : types[i].type, types[i].type));
		assert_true(has(types[i].type, types[i].type));
	}
}

/* Grafana divides levels that it does not know by time. */
TEST(levels_have_ids_that_grafana_knows_as_levels)
{
	size_t n;
	const struct profile_type *types = profile_types(&n);

	for (size_t i = 0; i < n; i++) {
		const char *id = id_of(types[i].type);

		if (types[i].aggregation != PROFILE_AGGREGATION_AVG)
			continue;
		assert_non_null(id);
		assert_true(strncmp(id, "memory:inuse_", 13) == 0 ||
			    strncmp(id, "goroutine:", 10) == 0);
	}
}

TEST(each_type_is_listed_once_with_five_parts)
{
	size_t n;
	const struct profile_id *ids = profile_ids(&n);

	for (size_t i = 0; i < n; i++) {
		const char *part;
		size_t len;

		for (unsigned k = 0; k < PROFILE_ID_PARTS; k++) {
			profile_id_part(ids[i].id, k, &part, &len);
			assert_true(len > 0);
		}
		assert_int_equal(part[len], '\0');
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(ids[i].type, ids[k].type);
		assert_true(has(ids[i].id, ids[i].type));
	}
}

TEST(what_answers_for_cpu_time_is_the_profiler_of_the_kernel)
{
	struct profile_id_types t;

	assert_int_equal(profile_id_types(&t, CPU), 0);
	assert_string_equal(t.items[0], "ebpf:cpu:nanoseconds");
	assert_true(t.n_items > 3);
	assert_true(has(CPU ":delta", "go:profile_cpu:nanoseconds"));
}

TEST(types_that_nobody_knows_are_asked_for_by_name)
{
	struct profile_id_types t;

	assert_true(has("my:own:things::", "my:own:things"));
	assert_true(has("my:own:things", "my:own:things"));
	assert_int_equal(profile_id_types(&t, "my:own"), -EINVAL);
	assert_int_equal(profile_id_types(&t, "my::things"), -EINVAL);
	assert_int_equal(profile_id_types(&t, ""), -EINVAL);
}

/* What programs of any language push as CPU time, wall time or memory has an id of Pyroscope. */
TEST(pushed_types_have_ids)
{
	for (int s = FOREIGN_NODEJS; s < FOREIGN_EBPF; s++) {
		static const char *const names[] = {"cpu:nanoseconds", "wall:nanoseconds",
						    "heap_inuse_space:bytes",
						    "heap_alloc_objects:count"};

		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			char type[64];

			snprintf(type, sizeof(type), "%s:%s",
				 foreign_source_name((enum foreign_source)s), names[i]);
			assert_non_null(id_of(type));
		}
	}
}
