#include <errno.h>

#include "common/data/intern.h"
#include "test/lib/unit.h"

TEST(the_empty_string_is_zero_from_the_start)
{
	CLEANUP(intern_freep) struct intern *in = NULL;
	uint32_t id = 7;
	size_t len = 7;

	assert_int_equal(intern_new(&in, 100), 0);
	assert_int_equal(intern_count(in), 1);
	assert_string_equal(intern_get(in, 0, &len), "");
	assert_int_equal(len, 0);
	assert_int_equal(intern_add(in, "x", 0, &id), 0);
	assert_int_equal(id, 0);
	assert_int_equal(intern_count(in), 1);
}

TEST(equal_strings_share_an_id)
{
	CLEANUP(intern_freep) struct intern *in = NULL;
	uint32_t id;
	size_t len;

	assert_int_equal(intern_new(&in, 1000000), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 1; i <= 5000; i++) {
			char text[16];
			int n = snprintf(text, sizeof(text), "name %u", i);

			assert_int_equal(intern_add(in, text, (size_t)n, &id), 0);
			assert_int_equal(id, i);
		}
	}
	assert_int_equal(intern_count(in), 5001);
	assert_string_equal(intern_get(in, 4321, &len), "name 4321");
	assert_int_equal(len, 9);
}

TEST(bytes_count_not_text)
{
	CLEANUP(intern_freep) struct intern *in = NULL;
	uint32_t a, b, c;
	size_t len;

	assert_int_equal(intern_new(&in, 100), 0);
	assert_int_equal(intern_add(in, "a\0b", 3, &a), 0);
	assert_int_equal(intern_add(in, "a\0c", 3, &b), 0);
	assert_int_equal(intern_add(in, "a", 1, &c), 0);
	assert_int_equal(a, 1);
	assert_int_equal(b, 2);
	assert_int_equal(c, 3);
	assert_memory_equal(intern_get(in, b, &len), "a\0c", 4);
	assert_int_equal(len, 3);
}

TEST(keeps_to_its_limit)
{
	CLEANUP(intern_freep) struct intern *in = NULL;
	uint32_t id;

	assert_int_equal(intern_new(&in, 10), 0);
	assert_int_equal(intern_add(in, "12345", 5, &id), 0);
	assert_int_equal(intern_add(in, "1234", 4, &id), -EFBIG);
	assert_int_equal(intern_add(in, "123", 3, &id), 0);
	assert_int_equal(id, 2);
	assert_int_equal(intern_add(in, "1", 1, &id), -EFBIG);
	/* adding a known string needs no memory */
	assert_int_equal(intern_add(in, "12345", 5, &id), 0);
	assert_int_equal(id, 1);
}

static int add_many(void *arg)
{
	CLEANUP(intern_freep) struct intern *in = NULL;
	uint32_t id;
	int r;

	(void)arg;
	r = intern_new(&in, 100000);
	for (uint32_t i = 0; r == 0 && i < 1000; i++) {
		r = intern_add(in, (const char *)&i, sizeof(i), &id);
		/* a failed addition leaves the others and no gap */
		if (r < 0) {
			assert_int_equal(intern_count(in), i + 1);
			for (uint32_t j = 0; j < i; j++) {
				assert_int_equal(intern_add(in, (const char *)&j, 4, &id), 0);
				assert_int_equal(id, j + 1);
			}
		}
	}
	return r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(add_many, NULL);
}
