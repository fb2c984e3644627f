#include <errno.h>

#include "cluster-agent/query/read/stack_dictionary.h"
#include "test/lib/unit.h"

#define F(s)                                      \
	{                                         \
		.text = (s), .len = sizeof(s) - 1 \
	}

static const struct flame_frame ab[] = {F("a x.c:1"), F("b x.c:2")};
static const struct flame_frame cb[] = {F("c x.c:3"), F("b x.c:2")};

TEST(stacks_come_back_with_the_same_id_for_the_same_text)
{
	CLEANUP(stack_dictionary_freep) struct stack_dictionary *d = NULL;
	const struct flame_frame *frames;
	uint32_t id_of_b;
	size_t n;

	assert_int_equal(stack_dictionary_new(&d, NULL), 0);
	assert_int_equal(stack_dictionary_add(d, 1, ab, 2), 0);
	assert_int_equal(stack_dictionary_add(d, UINT64_MAX, cb, 2), 0);
	assert_int_equal(stack_dictionary_add(d, 3, NULL, 0), 0);
	/* what a hash stands for never changes */
	assert_int_equal(stack_dictionary_add(d, 1, cb, 1), 0);
	assert_int_equal(stack_dictionary_get(d, 1, &frames, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(frames[0].text, "a x.c:1");
	assert_int_equal(frames[0].len, 7);
	id_of_b = frames[1].id;
	assert_true(frames[0].id > 0 && id_of_b > 0 && frames[0].id != id_of_b);
	assert_int_equal(stack_dictionary_get(d, UINT64_MAX, &frames, &n), 0);
	assert_string_equal(frames[0].text, "c x.c:3");
	assert_int_equal(frames[1].id, id_of_b);
	assert_int_equal(stack_dictionary_get(d, 3, &frames, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(stack_dictionary_get(d, 4, &frames, &n), -ENOENT);
	assert_true(stack_dictionary_has(d, 3) && !stack_dictionary_has(d, 4));
}

TEST(is_usable_after_each_limit)
{
	static const struct stack_dictionary_limits limits[] = {
		{.max_stacks = 1},
		{.max_frames = 3},
		{.max_text_bytes = 4000},
	};
	char text[4096];
	const struct flame_frame large[] = {F("a x.c:1"), {.text = text, .len = sizeof(text)}};

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		CLEANUP(stack_dictionary_freep) struct stack_dictionary *d = NULL;
		const struct flame_frame *frames;
		size_t n;

		assert_int_equal(stack_dictionary_new(&d, &limits[i]), 0);
		assert_int_equal(stack_dictionary_add(d, 1, ab, i == 2 ? 0 : 2), 0);
		assert_int_equal(stack_dictionary_add(d, 2, i == 2 ? large : cb, 2), -EFBIG);
		assert_false(stack_dictionary_has(d, 2));
		assert_int_equal(stack_dictionary_get(d, 1, &frames, &n), 0);
		assert_int_equal(n, i == 2 ? 0 : 2);
	}
}

static int fill(void *arg)
{
	CLEANUP(stack_dictionary_freep) struct stack_dictionary *d = NULL;
	const struct flame_frame *frames;
	size_t n;
	int r = stack_dictionary_new(&d, NULL);

	(void)arg;
	for (uint64_t i = 0; r == 0 && i < 1500; i++) {
		char text[32];
		struct flame_frame two[] = {F("main m.c:1"), {.text = text}};

		two[1].len = (size_t)snprintf(text, sizeof(text), "f%u m.c:2", (unsigned)i);
		r = stack_dictionary_add(d, i * 77, two, 2);
	}
	return r == 0 ? stack_dictionary_get(d, 77, &frames, &n) : r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(fill, NULL);
}
