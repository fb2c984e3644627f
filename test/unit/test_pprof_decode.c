#include <errno.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "test/lib/unit.h"

#define CORPUS "test/fuzz/corpus/pprof_decode/"

struct fixture {
	uint8_t *data;
	size_t len;
	struct arena arena;
	struct profile p;
	struct err err;
};

static struct fixture fx;

/*
 * Loads a file of the fuzz corpus into a block of exactly its size, so that ASan detects reads
 * beyond it.
 */
static void load(const char *name)
{
	char path[128];
	long len;
	FILE *f;

	snprintf(path, sizeof(path), CORPUS "%s", name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s: cannot open; run this from the top folder", path);
	fseek(f, 0, SEEK_END);
	len = ftell(f);
	rewind(f);
	free(fx.data);
	fx.data = malloc(len > 0 ? (size_t)len : 1);
	fx.len = (size_t)len;
	assert_non_null(fx.data);
	assert_int_equal(fread(fx.data, 1, fx.len, f), fx.len);
	fclose(f);
}

static int decode(const char *name)
{
	load(name);
	arena_fini(&fx.arena);
	memset(&fx.err, 0, sizeof(fx.err));
	return pprof_decode(&fx.p, &fx.arena, fx.data, fx.len, &fx.err);
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&fx.arena, LIMIT_PPROF_ARENA_BYTES);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&fx.arena);
	free(fx.data);
	memset(&fx, 0, sizeof(fx));
	return 0;
}

static const char *function_name(uint32_t index)
{
	return fx.p.functions[index].name.data;
}

static void reads_every_field(void **state)
{
	(void)state;
	assert_int_equal(decode("small"), 0);
	/* nothing points into the input */
	memset(fx.data, 0xff, fx.len);
	assert_int_equal(fx.p.n_types, 1);
	assert_string_equal(fx.p.types[0].type.data, "ebpf:cpu:nanoseconds");
	assert_int_equal(fx.p.types[0].type.len, 20);
	assert_string_equal(fx.p.types[0].unit.data, "nanoseconds");
	assert_string_equal(fx.p.period_type.type.data, "ebpf:cpu:nanoseconds");
	assert_int_equal(fx.p.period, 10000000);
	assert_true(fx.p.time_ns == INT64_C(1700000000000000000));
	assert_true(fx.p.duration_ns == INT64_C(60000000000));
	assert_int_equal(fx.p.n_comments, 1);
	assert_string_equal(fx.p.comments[0].data, "lost:ring_full=3");

	assert_int_equal(fx.p.n_functions, 1);
	assert_string_equal(function_name(0), "main");
	assert_string_equal(fx.p.functions[0].file.data, "main.c");
	assert_int_equal(fx.p.n_locations, 2);
	assert_int_equal(fx.p.locations[0].address, 0x1001);
	assert_int_equal(fx.p.locations[0].n_lines, 1);
	assert_int_equal(fx.p.locations[0].lines[0].function, 0);
	assert_int_equal(fx.p.locations[0].lines[0].line, 10);
	assert_int_equal(fx.p.locations[1].n_lines, 0);
	assert_int_equal(fx.p.n_samples, 1);
	assert_int_equal(fx.p.samples[0].n_locations, 2);
	assert_int_equal(fx.p.samples[0].locations[0], 0);
	assert_int_equal(fx.p.samples[0].locations[1], 1);
	assert_int_equal(fx.p.samples[0].values[0], 5);
}

static void reads_gzip_of_one_and_more_members(void **state)
{
	(void)state;
	assert_int_equal(decode("small-gzip"), 0);
	assert_string_equal(function_name(0), "main");
	assert_int_equal(decode("two-members"), 0);
	assert_string_equal(function_name(0), "main");
}

static void reads_a_heap_profile_of_go(void **state)
{
	static const char *const types[] = {"alloc_objects", "alloc_space", "inuse_objects",
					    "inuse_space"};
	int64_t in_grow = 0;

	(void)state;
	assert_int_equal(decode("go-heap.pb.gz"), 0);
	assert_int_equal(fx.p.n_types, 4);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		assert_string_equal(fx.p.types[i].type.data, types[i]);
	assert_string_equal(fx.p.period_type.type.data, "space");
	assert_int_equal(fx.p.period, 4096);

	for (uint32_t i = 0; i < fx.p.n_samples; i++) {
		const struct profile_sample *s = &fx.p.samples[i];

		for (uint32_t j = 0; j < s->n_locations; j++) {
			const struct profile_location *l = &fx.p.locations[s->locations[j]];

			assert_true(l->n_lines > 0);
			if (strcmp(function_name(l->lines[0].function), "main.grow") == 0) {
				assert_string_equal(fx.p.functions[l->lines[0].function].file.data,
						    "example/main.go");
				in_grow += s->values[3];
				break;
			}
		}
	}
	/* 2000 slices of 1000 to 2999 bytes are 4.2 MB after rounding up; sampled, so roughly */
	assert_in_range(in_grow, 3000000, 6000000);
}

static void reads_a_cpu_profile_of_go(void **state)
{
	int64_t total = 0;

	(void)state;
	assert_int_equal(decode("go-cpu.pb.gz"), 0);
	assert_int_equal(fx.p.n_types, 2);
	assert_string_equal(fx.p.types[1].type.data, "cpu");
	assert_string_equal(fx.p.types[1].unit.data, "nanoseconds");
	for (uint32_t i = 0; i < fx.p.n_samples; i++)
		total += fx.p.samples[i].values[1];
	assert_in_range(total, 100000000, 400000000);
}

static void ids_may_have_any_value_and_order(void **state)
{
	const uint32_t *locations;

	(void)state;
	assert_int_equal(decode("sparse-ids"), 0);
	locations = fx.p.samples[0].locations;
	assert_int_equal(fx.p.locations[locations[0]].n_lines, 1);
	assert_int_equal(fx.p.locations[locations[1]].n_lines, 2);
	/* function 5 is the second of the file */
	assert_int_equal(fx.p.locations[locations[1]].lines[0].function, 1);
	assert_int_equal(fx.p.locations[locations[1]].lines[1].function, 0);
}

static void fields_may_come_in_any_order_and_spelling(void **state)
{
	(void)state;
	assert_int_equal(decode("strings-first"), 0);
	assert_string_equal(function_name(0), "main");
	assert_int_equal(fx.p.n_samples, 1);

	assert_int_equal(decode("unpacked-lists"), 0);
	assert_int_equal(fx.p.samples[0].n_locations, 2);
	assert_int_equal(fx.p.samples[0].values[0], -7);
	assert_int_equal(fx.p.n_comments, 2);
	assert_string_equal(fx.p.comments[1].data, "main");

	assert_int_equal(decode("unknown-fields"), 0);
	assert_int_equal(decode("labels"), 0);
}

static void strings_are_bytes(void **state)
{
	(void)state;
	assert_int_equal(decode("not-utf8"), 0);
	assert_string_equal(fx.p.types[0].type.data, "a\xff");
	assert_int_equal(fx.p.functions[0].name.len, 3);
	assert_memory_equal(fx.p.functions[0].name.data, "a\0b", 4);
}

static void errors_come_with_a_sentence(void **state)
{
	static const struct {
		const char *name;
		int r;
		const char *msg;
	} cases[] = {
		{"truncated", -EBADMSG, "not a valid pprof: broken field"},
		{"truncated-gzip", -EBADMSG, "not valid gzip"},
		{"empty-gzip", -EBADMSG, "not a valid pprof: empty"},
		{"gzip-in-gzip", -EBADMSG, "not a valid pprof: broken field"},
		{"huge-varint", -EBADMSG, "not a valid pprof: broken field"},
		{"huge-length", -EBADMSG, "not a valid pprof: broken field"},
		{"group", -EBADMSG, "not a valid pprof: broken field"},
		{"field-zero", -EBADMSG, "not a valid pprof: broken field"},
		{"other-wire-type", -EBADMSG, "not a valid pprof: field of another type"},
		{"no-types", -EBADMSG, "not a valid pprof: no sample types"},
		{"no-strings", -EBADMSG, "not a valid pprof: no strings"},
		{"first-string-not-empty", -EBADMSG,
		 "not a valid pprof: the first string is not empty"},
		{"no-such-string", -EBADMSG, "not a valid pprof: no string 99"},
		{"negative-string", -EBADMSG, "not a valid pprof: no string -1"},
		{"no-such-location", -EBADMSG, "not a valid pprof: no location of id 3"},
		{"no-such-function", -EBADMSG, "not a valid pprof: no function of id 9"},
		{"duplicate-location", -EBADMSG, "not a valid pprof: two locations of id 1"},
		{"zero-location", -EBADMSG, "not a valid pprof: location without id"},
		{"wrong-value-count", -EBADMSG,
		 "not a valid pprof: sample with 2 values for 1 types"},
		{"too-deep-stack", -EFBIG, "stack deeper than 4096"},
		{"too-many-types", -EFBIG, "more than 64 sample types"},
		{"too-many-lines", -EFBIG, "location with more than 256 lines"},
		{"long-string", -EFBIG, "string of more than 65536 bytes"},
		{"bomb-of-labels.gz", -EFBIG, "broken sample: too large"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = decode(cases[i].name);

		if (r != cases[i].r || strcmp(fx.err.msg, cases[i].msg) != 0)
			fail_msg("%s: %d, %s", cases[i].name, r, fx.err.msg);
	}
}

static void every_truncation_is_refused_or_a_complete_profile(void **state)
{
	static const char *const names[] = {"small", "go-heap.pb"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t whole;

		load(names[i]);
		whole = fx.len;
		for (size_t len = 0; len < whole; len += 1 + len / 50) {
			AUTO_FREE uint8_t *cut = malloc(len > 0 ? len : 1);
			int r;

			assert_non_null(cut);
			memcpy(cut, fx.data, len);
			arena_clear(&fx.arena);
			r = pprof_decode(&fx.p, &fx.arena, cut, len, &fx.err);
			assert_true(r == 0 || r == -EBADMSG);
		}
	}
}

static void keeps_to_the_limit_of_the_arena(void **state)
{
	(void)state;
	load("bomb-of-samples.gz");
	arena_init(&fx.arena, 1024 * 1024);
	assert_int_equal(pprof_decode(&fx.p, &fx.arena, fx.data, fx.len, &fx.err), -EFBIG);
	assert_string_equal(fx.err.msg, "the profile takes more than 1048576 bytes of memory");
	assert_true(fx.arena.used_bytes <= 1024 * 1024);
	arena_fini(&fx.arena);
	arena_init(&fx.arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(pprof_decode(&fx.p, &fx.arena, fx.data, fx.len, &fx.err), 0);
	assert_int_equal(fx.p.n_samples, 300000);
}

static int decode_loaded(void *arg)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	(void)arg;
	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	return pprof_decode(&p, &arena, fx.data, fx.len, &fx.err);
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	load("go-heap.pb.gz");
	check_oom(decode_loaded, NULL);
	load("deep-stack");
	check_oom(decode_loaded, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_every_field),
		TEST(reads_gzip_of_one_and_more_members),
		TEST(reads_a_heap_profile_of_go),
		TEST(reads_a_cpu_profile_of_go),
		TEST(ids_may_have_any_value_and_order),
		TEST(fields_may_come_in_any_order_and_spelling),
		TEST(strings_are_bytes),
		TEST(errors_come_with_a_sentence),
		TEST(every_truncation_is_refused_or_a_complete_profile),
		TEST(keeps_to_the_limit_of_the_arena),
		TEST(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
