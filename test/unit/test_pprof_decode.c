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

TEST_FIXTURE(reads_every_field, set_up, tear_down)
{
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

	/* and the one that names the second location */
	assert_int_equal(fx.p.n_functions, 2);
	assert_string_equal(function_name(0), "main");
	assert_string_equal(fx.p.functions[0].file.data, "main.c");
	assert_int_equal(fx.p.n_locations, 2);
	assert_int_equal(fx.p.locations[0].address, 0x1001);
	assert_int_equal(fx.p.locations[0].n_lines, 1);
	assert_int_equal(fx.p.locations[0].lines[0].function, 0);
	assert_int_equal(fx.p.locations[0].lines[0].line, 10);
	assert_int_equal(fx.p.locations[1].n_lines, 1);
	assert_int_equal(fx.p.n_samples, 1);
	assert_int_equal(fx.p.samples[0].n_locations, 2);
	assert_int_equal(fx.p.samples[0].locations[0], 0);
	assert_int_equal(fx.p.samples[0].locations[1], 1);
	assert_int_equal(fx.p.samples[0].values[0], 5);
}

TEST_FIXTURE(reads_gzip_of_one_and_more_members, set_up, tear_down)
{
	assert_int_equal(decode("small-gzip"), 0);
	assert_string_equal(function_name(0), "main");
	assert_int_equal(decode("two-members"), 0);
	assert_string_equal(function_name(0), "main");
}

TEST_FIXTURE(reads_a_heap_profile_of_go, set_up, tear_down)
{
	static const char *const types[] = {"alloc_objects", "alloc_space", "inuse_objects",
					    "inuse_space"};
	int64_t in_grow = 0;

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

TEST_FIXTURE(reads_a_cpu_profile_of_go, set_up, tear_down)
{
	int64_t total = 0;

	assert_int_equal(decode("go-cpu.pb.gz"), 0);
	assert_int_equal(fx.p.n_types, 2);
	assert_string_equal(fx.p.types[1].type.data, "cpu");
	assert_string_equal(fx.p.types[1].unit.data, "nanoseconds");
	for (uint32_t i = 0; i < fx.p.n_samples; i++)
		total += fx.p.samples[i].values[1];
	assert_in_range(total, 100000000, 400000000);
}

TEST_FIXTURE(ids_may_have_any_value_and_order, set_up, tear_down)
{
	const uint32_t *locations;

	assert_int_equal(decode("sparse-ids"), 0);
	locations = fx.p.samples[0].locations;
	assert_int_equal(fx.p.locations[locations[0]].n_lines, 1);
	assert_int_equal(fx.p.locations[locations[1]].n_lines, 2);
	/* function 5 is the second of the file */
	assert_int_equal(fx.p.locations[locations[1]].lines[0].function, 1);
	assert_int_equal(fx.p.locations[locations[1]].lines[1].function, 0);
}

TEST_FIXTURE(fields_may_come_in_any_order_and_spelling, set_up, tear_down)
{
	assert_int_equal(decode("strings-first"), 0);
	assert_string_equal(function_name(0), "main");
	assert_int_equal(fx.p.n_samples, 1);

	assert_int_equal(decode("unpacked-lists"), 0);
	assert_int_equal(fx.p.samples[0].n_locations, 2);
	assert_int_equal(fx.p.samples[0].values[0], 0);
	assert_int_equal(fx.p.n_comments, 2);
	assert_string_equal(fx.p.comments[1].data, "main");

	assert_int_equal(decode("unknown-fields"), 0);
	assert_int_equal(decode("labels"), 0);
}

TEST_FIXTURE(strings_are_bytes, set_up, tear_down)
{
	assert_int_equal(decode("not-utf8"), 0);
	assert_string_equal(fx.p.types[0].type.data, "a\xff");
	assert_int_equal(fx.p.functions[0].name.len, 3);
	assert_memory_equal(fx.p.functions[0].name.data, "a\0b", 4);
}

TEST_FIXTURE(errors_come_with_a_sentence, set_up, tear_down)
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
		/* all samples are broken */
		{"no-such-location", -EBADMSG, "not a valid pprof: no location of id 3"},
		{"wrong-value-count", -EBADMSG,
		 "not a valid pprof: number of values of a sample: 2"},
		{"too-many-types", -EFBIG, "more than 64 sample types"},
		{"difference", -EBADMSG,
		 "the profile is a difference of two (samples have the label pprof::base); send "
		 "the two profiles themselves"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = decode(cases[i].name);

		if (r != cases[i].r || strcmp(fx.err.msg, cases[i].msg) != 0)
			fail_msg("%s: %d, %s", cases[i].name, r, fx.err.msg);
	}
}

/* Compares the stack of a sample with "<name> <file>:<line>;…", leaf first. */
static void assert_stack(uint32_t sample, const char *expected)
{
	const struct profile_sample *s = &fx.p.samples[sample];
	char text[512] = "";
	size_t len = 0;

	assert_true(sample < fx.p.n_samples);
	for (uint32_t i = 0; i < s->n_locations; i++) {
		const struct profile_location *l = &fx.p.locations[s->locations[i]];

		for (uint32_t j = 0; j < l->n_lines; j++) {
			const struct profile_function *fn = &fx.p.functions[l->lines[j].function];

			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %s:%lld;",
						fn->name.data, fn->file.data,
						(long long)l->lines[j].line);
		}
	}
	assert_string_equal(text, expected);
}

static uint64_t lost(enum profile_loss loss)
{
	return fx.p.losses.n[loss];
}

/* As jemalloc and gperftools write it. */
TEST_FIXTURE(addresses_without_names_are_named_by_file_and_offset, set_up, tear_down)
{
	static const char *const leaves[] = {
		"app+0x1010 [app:abc123]:0",
		"app+0x1020 [app:abc123]:0",
		"libm.so.6+0x123 [libm.so.6]:0",
		"0x7f1000000042 [:ffff]:0",
		"0x1234 :0",
		"[unknown] :0",
		"[kernel.kallsyms]+0xffffffff81000010 [kernel.kallsyms]:0",
		"0x99 :0", /* of a mapping that does not exist */
	};
	char text[128];

	assert_int_equal(decode("addresses"), 0);
	assert_int_equal(fx.p.n_samples, ARRAY_SIZE(leaves));
	for (uint32_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		snprintf(text, sizeof(text), "%s;%s;", leaves[i], leaves[0]);
		assert_stack(i, text);
		assert_int_equal(fx.p.samples[i].values[0], 1 << i);
	}
	assert_false(profile_losses_any(&fx.p.losses));
}

TEST_FIXTURE(unnamed_locations_keep_their_place_among_named_ones, set_up, tear_down)
{
	assert_int_equal(decode("unnamed-among-named"), 0);
	assert_int_equal(fx.p.n_samples, 6);
	assert_stack(0, "app+0x20 [app:id]:0;main main.c:7;");
	assert_stack(1, "app+0x30 [app:id]:0;main main.c:7;");
	assert_stack(2, "main main.c:7;");
	assert_stack(3, "_ZN1xE x.cc:1;main main.c:7;");
	assert_stack(4, "app+0x50 [app:id]:2;main main.c:9;");
	assert_stack(5, "[unknown] a.js:5;main main.c:7;");
	assert_false(profile_losses_any(&fx.p.losses));
}

TEST_FIXTURE(names_of_blanks_are_none, set_up, tear_down)
{
	assert_int_equal(decode("blank-names"), 0);
	assert_stack(0, "_ZN1xE x.cc:1;app+0x20 [app:id]:0;");
}

TEST_FIXTURE(a_broken_sample_is_left_out_and_the_rest_kept, set_up, tear_down)
{
	assert_int_equal(decode("broken-samples"), 0);
	assert_int_equal(fx.p.n_samples, 2);
	assert_int_equal(fx.p.samples[0].values[0], 5);
	/* labels are not stored, so one that is broken costs nothing */
	assert_int_equal(fx.p.samples[1].values[0], 6);
	assert_int_equal(lost(PROFILE_LOSS_BROKEN_SAMPLES), 4);
}

TEST_FIXTURE(ids_that_are_not_unique_refer_to_nothing, set_up, tear_down)
{
	assert_int_equal(decode("ambiguous-ids"), 0);
	assert_int_equal(fx.p.n_samples, 3);
	assert_stack(0, "0x10 :1;");
	assert_stack(1, "c :1;");
	assert_stack(2, "0x50 :3;");
	assert_int_equal(lost(PROFILE_LOSS_BROKEN_SAMPLES), 2);
	assert_int_equal(lost(PROFILE_LOSS_BROKEN_NAMES), 2);
	assert_int_equal(decode("duplicate-location"), 0);
	assert_int_equal(decode("zero-location"), 0);
}

TEST_FIXTURE(names_that_do_not_exist_become_addresses, set_up, tear_down)
{
	assert_int_equal(decode("no-such-name"), 0);
	assert_stack(0, "0x77 :1;");
	assert_int_equal(lost(PROFILE_LOSS_BROKEN_NAMES), 1);
	assert_int_equal(decode("no-such-function"), 0);
	assert_int_equal(lost(PROFILE_LOSS_BROKEN_NAMES), 1);
}

TEST_FIXTURE(negative_values_count_as_0, set_up, tear_down)
{
	assert_int_equal(decode("negative-values"), 0);
	assert_int_equal(fx.p.samples[0].values[0], 5);
	assert_int_equal(fx.p.samples[0].values[1], 0);
	assert_int_equal(fx.p.samples[1].values[0], 0);
	assert_int_equal(fx.p.samples[1].values[1], 9);
	assert_int_equal(lost(PROFILE_LOSS_NEGATIVE_VALUES), 2);
}

static const char *frame_name(const struct profile_sample *s, uint32_t at, uint32_t line)
{
	return function_name(fx.p.locations[s->locations[at]].lines[line].function);
}

TEST_FIXTURE(a_deep_stack_keeps_its_leaf_and_says_that_it_is_cut, set_up, tear_down)
{
	const struct profile_sample *s;

	assert_int_equal(decode("cut-stacks.gz"), 0);
	assert_int_equal(lost(PROFILE_LOSS_CUT_STACKS), 2);
	assert_int_equal(fx.p.n_samples, 3);
	for (uint32_t i = 0; i < 2; i++) {
		s = &fx.p.samples[i];
		assert_int_equal(s->n_locations, LIMIT_PPROF_STACK_DEPTH);
		assert_int_equal(fx.p.locations[s->locations[0]].address, i + 1);
		assert_int_equal(fx.p.locations[s->locations[4094]].address, i + 4095);
		assert_string_equal(frame_name(s, 4095, 0), "[truncated]");
		assert_int_equal(s->values[0], 5 + i);
	}
	s = &fx.p.samples[2];
	assert_int_equal(s->n_locations, LIMIT_PPROF_STACK_DEPTH);
	assert_string_equal(frame_name(s, 4095, 0), "f");
	assert_int_equal(decode("too-deep-stack"), 0);
	assert_int_equal(lost(PROFILE_LOSS_CUT_STACKS), 1);
}

TEST_FIXTURE(a_location_of_many_lines_is_cut, set_up, tear_down)
{
	const struct profile_location *l;

	assert_int_equal(decode("long-location"), 0);
	l = &fx.p.locations[0];
	assert_int_equal(l->n_lines, LIMIT_PPROF_LINES_PER_LOCATION);
	assert_int_equal(l->lines[254].line, 254);
	assert_string_equal(frame_name(&fx.p.samples[0], 0, 254), "in");
	assert_string_equal(frame_name(&fx.p.samples[0], 0, 255), "[truncated]");
	assert_int_equal(lost(PROFILE_LOSS_CUT_LOCATIONS), 1);
	assert_int_equal(decode("too-many-lines"), 0);
	assert_int_equal(lost(PROFILE_LOSS_CUT_LOCATIONS), 1);
}

TEST_FIXTURE(a_long_string_is_cut_between_two_characters, set_up, tear_down)
{
	const struct profile_string *s;

	assert_int_equal(decode("long-strings.gz"), 0);
	/* with that of a label, which is not stored */
	assert_int_equal(lost(PROFILE_LOSS_CUT_STRINGS), 3);
	s = &fx.p.functions[0].name;
	assert_int_equal(s->len, 65532 + 3);
	assert_string_equal(s->data + s->len - 5, "é…");
	s = &fx.p.functions[0].file;
	assert_int_equal(s->len, 65533 + 3);
	assert_string_equal(s->data + s->len - 4, "a…");
	assert_int_equal(fx.p.functions[1].name.len, 65536);
	assert_int_equal(decode("long-string"), 0);
	assert_int_equal(lost(PROFILE_LOSS_CUT_STRINGS), 1);
	assert_int_equal(decode("bomb-of-labels.gz"), 0);
}

TEST_FIXTURE(every_truncation_is_refused_or_a_complete_profile, set_up, tear_down)
{
	static const char *const names[] = {"small", "go-heap.pb"};

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

TEST_FIXTURE(keeps_to_the_limit_of_the_arena, set_up, tear_down)
{
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

TEST_FIXTURE(survives_every_failed_allocation, set_up, tear_down)
{
	load("go-heap.pb.gz");
	check_oom(decode_loaded, NULL);
	load("deep-stack");
	check_oom(decode_loaded, NULL);
	load("addresses");
	check_oom(decode_loaded, NULL);
	load("long-location");
	check_oom(decode_loaded, NULL);
}
