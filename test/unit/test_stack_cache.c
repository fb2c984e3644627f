#include <pthread.h>

#include "cluster-agent/query/read/stack_cache.h"
#include "test/lib/unit.h"

/* Takes the dictionary, adds n stacks beginning with number from, and puts it back. */
static uint32_t use(struct stack_cache *c, const char *service, uint64_t from, uint64_t n)
{
	struct stack_dictionary *d = NULL;
	uint32_t had;

	assert_int_equal(stack_cache_take(c, service, "", &d), 0);
	had = stack_dictionary_count(d);
	for (uint64_t i = 0; i < n; i++) {
		static const struct flame_frame frame = {"main m.c:1", 10, 0};

		assert_int_equal(stack_dictionary_add(d, from + i, &frame, 1), 0);
	}
	stack_cache_put(c, service, "", d);
	return had;
}

TEST(a_service_has_its_own_and_keeps_it)
{
	CLEANUP(stack_cache_freep) struct stack_cache *c = NULL;
	struct stack_dictionary *d = NULL;

	assert_int_equal(stack_cache_new(&c, 1 << 30), 0);
	assert_int_equal(use(c, "a", 0, 10), 0);
	assert_int_equal(use(c, "b", 0, 5), 0);
	assert_int_equal(use(c, "a", 10, 10), 10);
	assert_int_equal(use(c, "a", 0, 0), 20);
	assert_int_equal(use(c, "b", 0, 0), 5);
	/* a comparison of two services is neither of them */
	assert_int_equal(stack_cache_take(c, "a", "b", &d), 0);
	assert_int_equal(stack_dictionary_count(d), 0);
	stack_cache_put(c, "a", "b", d);
}

TEST(of_two_the_one_that_knows_more_is_kept)
{
	CLEANUP(stack_cache_freep) struct stack_cache *c = NULL;
	struct stack_dictionary *first = NULL;

	assert_int_equal(stack_cache_new(&c, 1 << 30), 0);
	assert_int_equal(use(c, "a", 0, 10), 0);
	assert_int_equal(stack_cache_take(c, "a", "", &first), 0);
	assert_int_equal(use(c, "a", 0, 5), 0);
	stack_cache_put(c, "a", "", first);
	assert_int_equal(stack_cache_take(c, "a", "", &first), 0);
	assert_int_equal(stack_dictionary_count(first), 10);
	assert_int_equal(use(c, "a", 0, 20), 0);
	stack_cache_put(c, "a", "", first);
	assert_int_equal(use(c, "a", 0, 0), 20);
}

TEST(memory_is_bounded)
{
	CLEANUP(stack_cache_freep) struct stack_cache *c = NULL;
	struct stack_dictionary *d = NULL;
	size_t of_one;

	assert_int_equal(stack_cache_new(&c, 1 << 30), 0);
	assert_int_equal(use(c, "a", 0, 1000), 0);
	of_one = stack_cache_bytes(c);
	stack_cache_free(TAKE_PTR(c));
	assert_int_equal(stack_cache_new(&c, of_one * 2), 0);
	use(c, "a", 0, 1000);
	use(c, "b", 0, 1000);
	use(c, "a", 0, 0);
	use(c, "c", 0, 1000);
	assert_true(stack_cache_bytes(c) <= of_one * 2);
	/* b was not used for longest */
	assert_int_equal(use(c, "b", 0, 0), 0);
	assert_int_equal(use(c, "a", 0, 0), 1000);
	/* one that is too large by itself */
	assert_int_equal(use(c, "d", 0, 10000), 0);
	assert_int_equal(use(c, "d", 0, 0), 0);
	for (int i = 0; i < 100; i++) {
		char service[16];

		snprintf(service, sizeof(service), "s%d", i);
		use(c, service, 0, 1);
	}
	assert_true(stack_cache_bytes(c) <= of_one * 2);
	/* without a cache, too */
	assert_int_equal(stack_cache_take(NULL, "a", "", &d), 0);
	stack_cache_put(NULL, "a", "", d);
	stack_cache_put(c, "a", "", NULL);
}

static void *use_often(void *cache)
{
	static const char *const services[] = {"a", "b", "c"};

	for (unsigned i = 0; i < 300; i++)
		use(cache, services[i % 3], i, 20);
	return NULL;
}

TEST(threads_may_share_it)
{
	CLEANUP(stack_cache_freep) struct stack_cache *c = NULL;
	pthread_t threads[4];

	assert_int_equal(stack_cache_new(&c, 1 << 20), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_often, c), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_true(stack_cache_bytes(c) <= 1 << 20);
}
