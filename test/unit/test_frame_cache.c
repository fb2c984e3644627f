#include <errno.h>

#include "node-agent/symbol/frame_cache.h"
#include "test/lib/unit.h"

/* The location of a function alone. */
static int intern(struct frame_cache *c, const char *function, const char *file,
		  const struct symbol_location **ret)
{
	const struct symbol_frame frame = {.function = function, .file = file};

	return frame_cache_intern(c, &frame, 1, ret);
}

static int intern_spare(struct frame_cache *c, const char *function, const char *file,
			const struct symbol_location **ret)
{
	const struct symbol_frame frame = {.function = function, .file = file};

	return frame_cache_intern_spare(c, &frame, ret);
}

TEST(equal_frames_are_one_location)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = NULL;
	struct symbol_frame frames[] = {{"inlined", "b.go", 7}, {"outer", "a.go", 8}};
	const struct symbol_location *both, *again, *outer, *other_line;
	const char *text;

	assert_int_equal(frame_cache_new(&c, 65536, 64), 0);
	assert_int_equal(frame_cache_intern(c, frames, 2, &both), 0);
	assert_int_equal(frame_cache_intern(c, frames, 2, &again), 0);
	assert_int_equal(frame_cache_intern(c, frames + 1, 1, &outer), 0);
	frames[0].line = 9;
	assert_int_equal(frame_cache_intern(c, frames, 2, &other_line), 0);
	assert_ptr_equal(both, again);
	assert_ptr_not_equal(both, outer);
	assert_ptr_not_equal(both, other_line);
	assert_int_equal(both->n, 2);
	assert_int_equal(both->frames[0].line, 7);
	assert_string_equal(symbol_location_outermost(both)->function, "outer");
	assert_ptr_equal(both->frames[1].function, outer->frames[0].function);
	assert_int_equal(frame_cache_text(c, "outer", &text), 0);
	assert_ptr_equal(text, outer->frames[0].function);
}

TEST(equal_texts_are_one_location)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = NULL;
	const struct symbol_location *a, *b, *other;

	assert_int_equal(frame_cache_new(&c, 65536, 64), 0);
	assert_int_equal(intern(c, "main", "[a]", &a), 0);
	assert_int_equal(intern(c, "main", "[a]", &b), 0);
	assert_int_equal(intern(c, "main", "[b]", &other), 0);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, other);
	assert_ptr_equal(a->frames[0].function, other->frames[0].function);
	assert_string_equal(other->frames[0].file, "[b]");
}

TEST(an_address_belongs_to_its_object)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = NULL;
	const struct symbol_location *a, *b;

	assert_int_equal(frame_cache_new(&c, 65536, 64), 0);
	assert_int_equal(intern(c, "a", "", &a), 0);
	assert_int_equal(intern(c, "b", "", &b), 0);
	frame_cache_put(c, 1, 0x1000, a);
	frame_cache_put(c, 2, 0x1000, b);
	assert_ptr_equal(frame_cache_get(c, 1, 0x1000), a);
	assert_ptr_equal(frame_cache_get(c, 2, 0x1000), b);
	assert_null(frame_cache_get(c, 3, 0x1000));
	assert_null(frame_cache_get(c, 1, 0x1001));
}

/* With many more addresses than places, the frame found is never another address's. */
TEST(addresses_are_forgotten_but_never_mixed_up)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = NULL;
	const struct symbol_location *frames[100];
	size_t found = 0;

	assert_int_equal(frame_cache_new(&c, 65536, 64), 0);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		char name[8];

		snprintf(name, sizeof(name), "f%zu", i);
		assert_int_equal(intern(c, name, "", &frames[i]), 0);
	}
	for (uint64_t a = 0; a < 10000; a++)
		frame_cache_put(c, 1, a, frames[a % ARRAY_SIZE(frames)]);
	for (uint64_t a = 0; a < 10000; a++) {
		const struct symbol_location *f = frame_cache_get(c, 1, a);

		assert_true(!f || f == frames[a % ARRAY_SIZE(frames)]);
		found += f != NULL;
	}
	assert_true(found > 0 && found <= 64);
	assert_ptr_equal(frame_cache_get(c, 1, 9999), frames[99]);
}

TEST(many_locations_are_all_found_again)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = NULL;
	const struct symbol_location *frames[3000], *again;
	char name[16];

	assert_int_equal(frame_cache_new(&c, 1 << 20, 64), 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(frames); i++) {
		snprintf(name, sizeof(name), "f%zu", i % ARRAY_SIZE(frames));
		assert_int_equal(intern(c, name, name + 1, &again), 0);
		if (i < ARRAY_SIZE(frames))
			frames[i] = again;
		assert_ptr_equal(again, frames[i % ARRAY_SIZE(frames)]);
		assert_string_equal(again->frames[0].function, name);
		assert_string_equal(again->frames[0].file, name + 1);
	}
}

/* Interns texts until one does not fit, and returns its error. */
static int fill(struct frame_cache *c,
		int (*fn)(struct frame_cache *c, const char *function, const char *file,
			  const struct symbol_location **ret))
{
	const struct symbol_location *f;
	char name[16];
	int r = 0;

	for (int i = 0; r == 0 && i < 10000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		r = fn(c, name, "", &f);
	}
	return r;
}

TEST(the_limit_holds_until_the_cycle_ends)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = NULL;
	const struct symbol_location *f;

	assert_int_equal(frame_cache_new(&c, 32768, 64), 0);
	assert_int_equal(intern(c, "a", "", &f), 0);
	assert_int_equal(fill(c, intern), -EFBIG);
	assert_true(frame_cache_bytes(c) < 2 * 32768 + 64 * 64);
	frame_cache_put(c, 1, 1, f);
	frame_cache_end_cycle(c);
	assert_null(frame_cache_get(c, 1, 1));
	assert_int_equal(intern(c, "again", "", &f), 0);
}

TEST(a_full_cache_has_spare_memory_until_the_profile_ends)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = NULL;
	const struct symbol_location *f, *spare;

	assert_int_equal(frame_cache_new(&c, 32768, 64), 0);
	assert_false(frame_cache_is_filling(c));
	assert_int_equal(fill(c, intern), -EFBIG);
	assert_true(frame_cache_is_filling(c));
	assert_int_equal(intern(c, "one more", "", &f), -EFBIG);
	assert_int_equal(intern_spare(c, "one more", "", &spare), 0);
	assert_int_equal(intern(c, "one more", "", &f), 0);
	assert_ptr_equal(f, spare);
	assert_int_equal(fill(c, intern_spare), -EFBIG);
	assert_true(frame_cache_bytes(c) < 2 * 32768 * 3 / 2 + 64 * 64);
	frame_cache_end_profile(c);
	assert_false(frame_cache_is_filling(c));
	assert_int_equal(intern(c, "again", "", &f), 0);
	assert_true(frame_cache_bytes(c) < 32768);
}

TEST(little_use_is_kept_over_the_end_of_a_cycle)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = NULL;
	const struct symbol_location *f;

	assert_int_equal(frame_cache_new(&c, 1 << 20, 64), 0);
	assert_int_equal(intern(c, "kept", "", &f), 0);
	frame_cache_put(c, 1, 1, f);
	frame_cache_end_profile(c);
	frame_cache_end_cycle(c);
	assert_ptr_equal(frame_cache_get(c, 1, 1), f);
}

static int new_and_intern(void *arg)
{
	CLEANUP(frame_cache_freep) struct frame_cache *c = NULL;
	const struct symbol_location *f;
	char name[16];
	int r;

	(void)arg;
	r = frame_cache_new(&c, 65536, 64);
	/* until tables grow */
	for (int i = 0; r == 0 && i < 200; i++) {
		snprintf(name, sizeof(name), "%d", i);
		r = intern(c, name, "file", &f);
	}
	return r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(new_and_intern, NULL);
}
