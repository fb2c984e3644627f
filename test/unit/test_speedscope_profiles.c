#include <errno.h>

#include "cluster-agent/push/json_spans.h"
#include "cluster-agent/push/speedscope_profiles.h"
#include "common/data/buf.h"
#include "common/limits.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define FRAMES                                                                        \
	"\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"app.py\",\"line\":3}," \
	"{\"name\":\"a "                                                              \
	"\\\"\\u00e9\\\"\",\"file\":null,\"line\":null},{\"name\":\"b\",\"col\":1}]}"
#define FILE_OF(profiles)                            \
	"{\"$schema\":\"https://www.speedscope.app/" \
	"file-format-schema.json\",\"profiles\":[" profiles "]," FRAMES "}"
#define SAMPLED(unit, samples, weights)                                                \
	"{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"" unit "\",\"startValue\":0," \
	"\"endValue\":9,\"samples\":[" samples "],\"weights\":[" weights "]}"
#define EVENTED(unit, start, end, events)                                               \
	"{\"events\":[" events "],\"type\":\"evented\",\"name\":\"t\",\"unit\":\"" unit \
	"\",\"startValue\":" #start ",\"endValue\":" #end "}"
#define EVENT(type, at, frame) "{\"type\":\"" #type "\",\"at\":" #at ",\"frame\":" #frame "}"

static const struct folded_unit samples_of_10_ms = {"cpu", "nanoseconds", 10000000, true};

struct fixture {
	struct arena arena;
	struct speedscope_profiles profiles;
	struct err err;
};

static struct fixture fx;

static int read_as(const char *text, const struct folded_unit *unit)
{
	arena_fini(&fx.arena);
	fx.err.msg[0] = '\0';
	return speedscope_profiles_read(&fx.profiles, &fx.arena, text, strlen(text), unit, &fx.err);
}

static void reads(const char *text, size_t n)
{
	if (read_as(text, &samples_of_10_ms) < 0)
		fail_msg("%s: %s", fx.err.msg, text);
	assert_int_equal(fx.profiles.n, n);
	assert_true(speedscope_detect(text, strlen(text)));
}

static void profile_is(size_t i, const char *type, const char *unit, int64_t total)
{
	const struct profile *p = &fx.profiles.items[i];

	assert_int_equal(p->n_types, 1);
	assert_string_equal(p->types[0].type.data, type);
	assert_string_equal(p->types[0].unit.data, unit);
	assert_int_equal(made_profile_sum(p, 0), total);
}

/* The value of the stack "leaf<caller<…", by names. */
static int64_t value_of(size_t profile, const char *stack)
{
	const struct profile *p = &fx.profiles.items[profile];
	int64_t sum = 0;

	for (uint32_t i = 0; i < p->n_samples; i++) {
		char text[256] = "";

		for (uint32_t l = 0; l < p->samples[i].n_locations; l++) {
			const struct profile_location *at =
				&p->locations[p->samples[i].locations[l]];

			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 l ? "<" : "", p->functions[at->lines[0].function].name.data);
		}
		sum += strcmp(text, stack) == 0 ? p->samples[i].values[0] : 0;
	}
	return sum;
}

static uint64_t lost(enum profile_loss loss)
{
	return fx.profiles.items[0].losses.n[loss];
}

TEST(sampled_profiles_are_added_up_by_unit)
{
	const struct profile *p;

	reads(FILE_OF(SAMPLED("seconds", "[0,1],[0,2],[0,1]", "0.01,0.01,0.01") "," SAMPLED(
		      "milliseconds", "[0]", "5.5") "," SAMPLED("none", "[0],[]",
								"3,1") "," SAMPLED("bytes", "[2]",
										   "4096")),
	      3);
	profile_is(0, "cpu", "nanoseconds", 35500000);
	assert_int_equal(value_of(0, "a \"é\"<main"), 20000000);
	assert_int_equal(value_of(0, "b<main"), 10000000);
	assert_int_equal(value_of(0, "main"), 5500000);
	profile_is(1, "cpu", "nanoseconds", 40000000);
	profile_is(2, "alloc_space", "bytes", 4096);
	p = &fx.profiles.items[0];
	assert_int_equal(p->period, 35500000 / 4);
	assert_string_equal(p->functions[0].name.data, "main");
	for (uint32_t i = 0; i < p->n_locations; i++)
		if (strcmp(p->functions[i].name.data, "main") == 0) {
			assert_string_equal(p->functions[i].file.data, "app.py");
			assert_int_equal(p->locations[i].lines[0].line, 3);
		}
	assert_false(profile_losses_any(&p->losses));
}

TEST(calls_and_returns_become_self_time)
{
	reads(FILE_OF(EVENTED(
		      "microseconds", 10, 100,
		      EVENT(O, 10, 0) "," EVENT(O, 20, 1) "," EVENT(C, 25.5, 1) "," EVENT(
			      O, 30, 1) "," EVENT(O, 31,
						  2) "," EVENT(C, 41,
							       2) "," EVENT(C, 42,
									    1) "," EVENT(C, 50,
											 0))),
	      1);
	profile_is(0, "cpu", "nanoseconds", 40000);
	assert_int_equal(value_of(0, "main"), 10000 + 4500 + 8000);
	assert_int_equal(value_of(0, "a \"é\"<main"), 5500 + 1000 + 1000);
	assert_int_equal(value_of(0, "b<a \"é\"<main"), 10000);
	assert_false(profile_losses_any(&fx.profiles.items[0].losses));
	/* what is still open lasts until the end */
	reads(FILE_OF(EVENTED("nanoseconds", 0, 100, EVENT(O, 10, 0) "," EVENT(O, 20, 1))), 1);
	assert_int_equal(value_of(0, "a \"é\"<main"), 80);
}

TEST(what_is_broken_is_left_out_and_counted)
{
	reads(FILE_OF(SAMPLED("none", "[0],[0,3],[0,-1],[0,0.5],7,[1],[2],[0]",
			      "1,1,1,1,1,-4,\"x\"")),
	      1);
	assert_int_equal(made_profile_sum(&fx.profiles.items[0], 0), 10000000);
	assert_int_equal(lost(PROFILE_LOSS_BROKEN_SAMPLES), 6);
	assert_int_equal(lost(PROFILE_LOSS_NEGATIVE_VALUES), 1);
	/* out of order, a return of nothing, one of an outer call, an unknown type and frame */
	reads(FILE_OF(EVENTED("nanoseconds", 0, 100,
			      EVENT(O, 10, 0) "," EVENT(O, 5, 1) "," EVENT(C, 20, 2) "," EVENT(
				      C, 30, 0) "," EVENT(X, 40, 0) "," EVENT(O, 40, 9) ",7")),
	      1);
	assert_int_equal(made_profile_sum(&fx.profiles.items[0], 0), 20);
	assert_int_equal(lost(PROFILE_LOSS_BAD_TIMES), 1);
	assert_int_equal(lost(PROFILE_LOSS_BROKEN_SAMPLES), 1 + 1 + 3);
	reads(FILE_OF("{\"type\":\"other\"}," SAMPLED("none", "[0]", "1e300")), 1);
	assert_int_equal(lost(PROFILE_LOSS_OTHER_TYPES), 1);
	assert_int_equal(lost(PROFILE_LOSS_CLAMPED_VALUES), 1);
	assert_true(fx.profiles.items[0].samples[0].values[0] == INT64_MAX);
}

TEST(the_request_says_what_values_are)
{
	const struct folded_unit wall = {"wall", "nanoseconds", 20000000, true};
	const struct folded_unit inuse = {"inuse_space", "bytes", 1, false};

	assert_int_equal(
		read_as(FILE_OF(SAMPLED("none", "[0]", "2") "," SAMPLED("nanoseconds", "[0]", "7")),
			&wall),
		0);
	profile_is(0, "wall", "nanoseconds", 7);
	profile_is(1, "wall", "nanoseconds", 40000000);
	assert_int_equal(read_as(FILE_OF(SAMPLED("bytes", "[0]", "2")), &inuse), 0);
	profile_is(0, "inuse_space", "bytes", 2);
}

TEST(other_texts_are_refused_with_a_reason)
{
	static const char *const texts[] = {
		"",
		"main 1",
		"{",
		"{}",
		"[]",
		"{\"profiles\":[],\"shared\":{\"frames\":[]}}",
		"{\"profiles\":7,\"shared\":{\"frames\":[]}}",
		"{\"profiles\":[],\"shared\":{}}",
		"{\"profiles\":[],\"shared\":{\"frames\":[7]}}",
		"{\"profiles\":[],\"shared\":{\"frames\":[{\"name\":\"\\ud800\"}]}}",
		"{\"profiles\":[{\"type\":\"sampled\"}],\"shared\":{\"frames\":[]}}",
		"{\"profiles\":[{\"type\":\"evented\",\"events\":{}}],\"shared\":{\"frames\":[]}}",
		"{\"profiles\":[{\"type\":\"sampled\",\"samples\":[[0] [0]]}],"
		"\"shared\":{\"frames\":[{}]}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (read_as(texts[i], &samples_of_10_ms) != -EBADMSG)
			fail_msg("read: %s", texts[i]);
		assert_memory_equal(fx.err.msg, "not a file of speedscope: ", 26);
	}
}

TEST(depth_costs_nothing)
{
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, 64 * MIB);
	assert_int_equal(buf_addf(&text, "{\"deep\":"), 0);
	for (int i = 0; i < 1000000; i++)
		assert_int_equal(buf_add(&text, "[", 1), 0);
	for (int i = 0; i < 1000000; i++)
		assert_int_equal(buf_add(&text, "]", 1), 0);
	assert_int_equal(buf_addf(&text, ",\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\","
					 "\"samples\":[[0"),
			 0);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(buf_add(&text, ",1", 2), 0);
	assert_int_equal(buf_addf(&text, "]]}]," FRAMES "}"), 0);
	reads(text.data, 1);
	assert_int_equal(fx.profiles.items[0].samples[0].n_locations, LIMIT_PPROF_STACK_DEPTH);
	assert_int_equal(lost(PROFILE_LOSS_CUT_STACKS), 1);
}

/* Looking for an open call costs nothing, however many others are open. */
TEST(a_return_ends_any_number_of_calls)
{
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, 64 * MIB);
	assert_int_equal(buf_addf(&text,
				  "{\"profiles\":[{\"type\":\"evented\",\"unit\":\"nanoseconds\","
				  "\"startValue\":0,\"endValue\":9,\"events\":[" EVENT(O, 0, 0)),
			 0);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(buf_addf(&text, "," EVENT(O, 0, 1)), 0);
	for (int i = 0; i < 300000; i++)
		assert_int_equal(buf_addf(&text, "," EVENT(C, 1, 2)), 0);
	assert_int_equal(buf_addf(&text, "," EVENT(C, 2, 0) "]}]," FRAMES "}"), 0);
	reads(text.data, 1);
	assert_int_equal(made_profile_sum(&fx.profiles.items[0], 0), 2);
	assert_int_equal(lost(PROFILE_LOSS_BROKEN_SAMPLES), 10000 + 300000);
	/* of another profile, nothing is open */
	reads(FILE_OF(EVENTED("nanoseconds", 0, 9, EVENT(O, 0, 0)) "," EVENTED(
		      "nanoseconds", 0, 9, EVENT(C, 1, 0) "," EVENT(O, 1, 1) "," EVENT(C, 3, 0))),
	      1);
	assert_int_equal(value_of(0, "main"), 9);
	assert_int_equal(value_of(0, "a \"é\""), 8);
	assert_int_equal(lost(PROFILE_LOSS_BROKEN_SAMPLES), 2);
}

TEST(names_that_are_too_long_are_cut_and_counted)
{
	CLEANUP(buf_fini) struct buf text;
	const struct profile_string *name;

	buf_init(&text, MIB);
	assert_int_equal(buf_addf(&text, "{\"profiles\":[" SAMPLED(
						 "none", "[0],[0]",
						 "1,1") "],\"shared\":{\"frames\":[{\"name\":\"ab"),
			 0);
	for (unsigned i = 0; i < LIMIT_PPROF_STRING_BYTES / 2; i++)
		assert_int_equal(buf_addf(&text, "é"), 0);
	assert_int_equal(buf_addf(&text, "\"}]}}"), 0);
	reads(text.data, 1);
	name = &fx.profiles.items[0].functions[0].name;
	/* not within the last "é" */
	assert_int_equal(name->len, LIMIT_PPROF_STRING_BYTES - 1);
	assert_string_equal(name->data + name->len - 5, "é…");
	assert_int_equal(lost(PROFILE_LOSS_CUT_STRINGS), 1);
}

TEST(spans_are_the_members_of_json)
{
	static const char text[] = " {\"a\\\"}\" : [1, \"]\\\\\" ,{}] ,\"b\":-1.5e3} ";
	struct json_span all, name, value, item;
	struct json_walk w, inner;
	double number;

	assert_true(json_span_first(text, strlen(text), &all));
	assert_true(json_walk_open(&w, &all, '{'));
	assert_int_equal(json_walk_next(&w, &name, &value), 1);
	assert_true(json_span_is(&name, "a\\\"}"));
	assert_true(json_walk_open(&inner, &value, '['));
	assert_int_equal(json_walk_next(&inner, NULL, &item), 1);
	assert_true(json_span_is(&item, "1"));
	assert_int_equal(json_walk_next(&inner, NULL, &item), 1);
	assert_true(json_span_is(&item, "\"]\\\\\""));
	assert_int_equal(json_walk_next(&inner, NULL, &item), 1);
	assert_true(json_span_is(&item, "{}"));
	assert_int_equal(json_walk_next(&inner, NULL, &item), 0);
	assert_int_equal(json_walk_next(&w, &name, &value), 1);
	assert_true(json_span_number(&value, &number) && number == -1500);
	assert_int_equal(json_walk_next(&w, &name, &value), 0);
}

static int read_again(void *text)
{
	return read_as(text, &samples_of_10_ms);
}

TEST(memory_may_run_out)
{
	char text[] = FILE_OF(SAMPLED("none", "[0,1]", "1"));

	check_oom(read_again, text);
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
	return 0;
}

GROUP_FIXTURE(set_up, tear_down)
