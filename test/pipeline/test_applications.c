/*
 * The start page's questions, through the real agent on the real engine: which applications there
 * are, how busy they were, step by step, and whose functions moved.
 */
#include <math.h>
#include <signal.h>

#include "common/flame/frame_text.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"
#include "test/pipeline/agent_process.h"

#define S ((int64_t)NS_PER_S)
#define MINUTES 10
#define DAY_S 86400
#define EBPF "ebpf:cpu:nanoseconds"
#define SCRAPED "go:profile_cpu:nanoseconds"
#define HEAP "go:heap_inuse_space:bytes"
/* quotes, backslashes and what SQL might mistake for something else */
#define ODD_NAME "std::map<int, char const*>::operator[]('\\\\n', \"{x:String}\")"

static struct agent_process agent;
static int64_t t0_ns; /* start of the ten minutes that the tests ask about */

struct upload {
	const char *type;
	const char *labels;
	int from_s, to_s; /* after t0 */
	const char *leaf;
	int64_t value;
	int line;         /* of the leaf */
	const char *file; /* likewise; NULL: leaf.go */
};

static void post(const struct upload *u)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf body;
	CLEANUP(reply_fini) struct reply reply;
	struct profile_value_type type = {{u->type, strlen(u->type)}, {"count", 5}};
	const char *file = u->file ? u->file : "leaf.go";
	struct profile_function functions[] = {{{u->leaf, strlen(u->leaf)}, {file, strlen(file)}},
					       {{"main", 4}, {"main.go", 7}}};
	struct profile_line lines[] = {{.line = u->line}, {.function = 1, .line = 1}};
	struct profile_location locations[] = {{.lines = &lines[0], .n_lines = 1},
					       {.lines = &lines[1], .n_lines = 1}};
	uint32_t stack[] = {0, 1};
	int64_t value = u->value;
	struct profile_sample sample = {stack, 2, &value};
	const struct profile p = {
		.arena = &arena,
		.types = &type,
		.n_types = 1,
		.functions = functions,
		.n_functions = 2,
		.locations = locations,
		.n_locations = 2,
		.samples = &sample,
		.n_samples = 1,
		.time_ns = t0_ns + u->to_s * S,
		.duration_ns = (u->to_s - u->from_s) * S,
	};

	arena_init(&arena, 1 << 20);
	buf_init(&body, 1 << 20);
	assert_int_equal(pprof_encode(&p, &body), 0);
	agent_post(&agent, u->labels, NULL, body.data, body.len, &reply);
	if (reply.status != 200)
		fail_msg("%ld %s", reply.status, reply.body.data ? reply.body.data : "");
}

/* A profile per minute for n minutes. */
static void post_minutely(struct upload u, int n)
{
	for (int i = 0; i < n; i++, u.from_s += 60, u.to_s += 60)
		post(&u);
}

/* from_s, to_s: after t0 */
static json_t *ask_range(const char *endpoint, int from_s, int to_s, const char *more)
{
	long long t0_ms = (long long)(t0_ns / (int64_t)NS_PER_MS);
	char path[512];

	snprintf(path, sizeof(path), "/api/%s?from=%lld&to=%lld%s", endpoint,
		 t0_ms + from_s * 1000LL, t0_ms + to_s * 1000LL, more);
	return agent_get_json(&agent, path);
}

static json_t *ask(const char *endpoint, const char *more)
{
	return ask_range(endpoint, 0, MINUTES * 60, more);
}

static void assert_json(const json_t *object, const char *key, const char *expected)
{
	AUTO_FREE char *text = json_dumps(json_object_get(object, key),
					  JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));

	assert_non_null(text);
	assert_string_equal(text, expected);
}

static const json_t *row_of(const json_t *list, const char *key, const char *service)
{
	size_t i;
	json_t *row;

	json_array_foreach (json_object_get(list, key), i, row)
		if (strcmp(json_string_value(json_object_get(row, "service")), service) == 0)
			return row;
	fail_msg("no %s", service);
	return NULL;
}

static int64_t seconds_at(const json_t *object, const char *key)
{
	int64_t ms = json_integer_value(json_object_get(object, key));

	return ms / 1000 - t0_ns / S;
}

TEST(an_application_says_when_each_type_was_last_seen)
{
	json_t *list;
	const json_t *types, *shop;

	post_minutely((struct upload){EBPF, "service.name=/k8s/shop/web&container.id=/k8s/shop/w/w",
				      0, 60, "serve", 30 * S, 1},
		      MINUTES);
	post_minutely((struct upload){HEAP, "service.name=/k8s/shop/web&namespace=shop&pod=w", 0, 0,
				      "make", 1000, 1},
		      3);
	list = ask("applications", "");
	shop = row_of(list, "applications", "/k8s/shop/web");
	assert_json(shop, "namespace", "\"shop\"");
	assert_json(shop, "cores", "0.5");
	assert_null(json_object_get(shop, "spark"));
	types = json_object_get(shop, "types");
	assert_int_equal(json_array_size(types), 2);
	assert_json(json_array_get(types, 0), "type", "\"" EBPF "\"");
	assert_int_equal(seconds_at(json_array_get(types, 0), "lastSeen"), 600);
	assert_json(json_array_get(types, 1), "type", "\"" HEAP "\"");
	assert_int_equal(seconds_at(json_array_get(types, 1), "lastSeen"), 120);
	assert_int_equal(seconds_at(shop, "lastSeen"), 600);
	assert_int_equal(seconds_at(shop, "firstSeen"), 0);
	json_decref(list);
}

TEST(sparklines_have_cores_per_step_and_gaps)
{
	json_t *list;

	/* two instances of half a core; the second starts late, neither fits the steps */
	post_minutely(
		(struct upload){EBPF, "service.name=steps&container.id=a", 30, 90, "f", 30 * S, 1},
		3);
	post_minutely(
		(struct upload){EBPF, "service.name=steps&container.id=b", 90, 150, "f", 30 * S, 1},
		2);
	/* 10 s of each minute, one scrape failed */
	post(&(struct upload){SCRAPED, "service.name=held&pod=a", 70, 80, "f", 10 * S, 1});
	post(&(struct upload){SCRAPED, "service.name=held&pod=a", 190, 200, "f", 20 * S, 1});
	list = ask("applications", "&points=10");
	assert_json(row_of(list, "applications", "steps"), "spark",
		    "[0.5,0.75,1,1,null,null,null,null,null,null]");
	assert_json(row_of(list, "applications", "held"), "spark",
		    "[null,1,1,2,null,null,null,null,null,null]");
	json_decref(list);
}

/* Steps shorter than the scrape interval: each instance stands for the time until its next one. */
TEST(a_sparkline_adds_instances_that_are_scraped_in_turn)
{
	json_t *list;

	post_minutely((struct upload){SCRAPED, "service.name=turns&pod=a", 0, 10, "f", 1 * S, 1},
		      4);
	post_minutely((struct upload){SCRAPED, "service.name=turns&pod=b", 30, 40, "f", 2 * S, 1},
		      4);
	list = ask("applications", "&points=20");
	assert_json(row_of(list, "applications", "turns"), "spark",
		    "[0.1,0.3,0.3,0.3,0.3,0.3,0.3,0.3,null,null,null,null,null,null,null,null,null,"
		    "null,null,null]");
	json_decref(list);
}

TEST(a_search_finds_all_words_in_any_case)
{
	json_t *list, *all;
	double cores;

	all = ask("applications", "");
	cores = json_number_value(
		json_object_get(row_of(all, "applications", "/k8s/shop/web"), "cores"));
	list = ask("applications", "&search=WEB%20shop&points=2");
	assert_json(list, "n", "1");
	/* that others are not listed changes nothing */
	assert_true(fabs(json_number_value(json_object_get(
				 row_of(list, "applications", "/k8s/shop/web"), "cores")) -
			 cores) < 1e-9);
	json_decref(list);
	list = ask("applications", "&search=web%20nothing");
	assert_json(list, "applications", "[]");
	assert_json(list, "n", "0");
	json_decref(list);
	list = ask("applications", "&limit=1");
	assert_int_equal(json_array_size(json_object_get(list, "applications")), 1);
	assert_int_equal(json_integer_value(json_object_get(list, "n")),
			 json_array_size(json_object_get(all, "applications")));
	json_decref(list);
	list = ask("applications", "&service=held");
	assert_json(list, "n", "1");
	assert_non_null(row_of(list, "applications", "held"));
	json_decref(list);
	json_decref(all);
}

static void assert_mover(const json_t *m, const char *service, const char *name, double base,
			 double cores)
{
	assert_string_equal(json_string_value(json_object_get(m, "service")), service);
	assert_string_equal(json_string_value(json_object_get(m, "name")), name);
	assert_true(fabs(json_number_value(json_object_get(m, "baseCores")) - base) < 1e-6);
	assert_true(fabs(json_number_value(json_object_get(m, "cores")) - cores) < 1e-6);
}

/* A minute's profile of today or of yesterday. */
static void post_day(int day, const char *service, const char *type, const char *leaf,
		     int64_t cpu_s, int line)
{
	char labels[128];
	struct upload u = {type, labels, -day * DAY_S, -day * DAY_S + 60, leaf, cpu_s * S / MINUTES,
			   line};

	snprintf(labels, sizeof(labels), "service.name=%s", service);
	post_minutely(u, MINUTES);
}

TEST(movers_are_functions_with_the_largest_change)
{
	json_t *list;
	const json_t *movers;

	list = ask("movers", "");
	assert_json(list, "movers", "[]");
	assert_json(list, "baseCores", "null");
	json_decref(list);

	/* the service uses as much as yesterday, but elsewhere; lines move without a meaning */
	post_day(1, "shift", EBPF, "old", 600, 10);
	post_day(0, "shift", EBPF, ODD_NAME, 480, 20);
	post_day(0, "shift", EBPF, "old", 60, 11);
	/* a service that is measured twice */
	post_day(1, "twice", EBPF, "grow", 60, 1);
	post_day(0, "twice", EBPF, "grow", 180, 1);
	post_day(1, "twice", SCRAPED, "grow", 60, 1);
	post_day(0, "twice", SCRAPED, "grow", 180, 1);
	/* yesterday's eBPF profile is missing: the scraped one has both sides */
	post_day(1, "other", SCRAPED, "same", 120, 1);
	post_day(0, "other", SCRAPED, "same", 60, 1);
	post_day(0, "other", EBPF, "same", 600, 1);

	/* only yesterday */
	post_day(1, "gone", EBPF, "left", 120, 1);

	list = ask("movers", "&limit=100");
	assert_mover(row_of(list, "movers", "gone"), "gone", "left", 0.2, 0);
	json_decref(list);

	list = ask("movers", "&limit=2");
	movers = json_object_get(list, "movers");
	assert_int_equal(json_array_size(movers), 2);
	assert_mover(json_array_get(movers, 0), "shift", "old", 1, 0.1);
	assert_json(json_array_get(movers, 0), "file", "\"leaf.go\"");
	assert_json(json_array_get(movers, 0), "self", "60000000000");
	assert_json(json_array_get(movers, 0), "baseSelf", "600000000000");
	assert_mover(json_array_get(movers, 1), "shift", ODD_NAME, 0, 0.8);
	/* "held", "steps", "turns" and "/k8s/shop/web" use more, but nothing is known of before */
	assert_json(list, "servicesWithoutBase", "4");
	json_decref(list);

	list = ask("movers", "&service=twice");
	movers = json_object_get(list, "movers");
	assert_int_equal(json_array_size(movers), 1);
	assert_mover(json_array_get(movers, 0), "twice", "grow", 0.1, 0.3);
	assert_json(json_array_get(movers, 0), "type", "\"" EBPF "\"");
	json_decref(list);

	list = ask("movers", "&service=other");
	movers = json_object_get(list, "movers");
	assert_int_equal(json_array_size(movers), 1);
	assert_mover(json_array_get(movers, 0), "other", "same", 0.2, 0.1);
	assert_json(json_array_get(movers, 0), "type", "\"" SCRAPED "\"");
	json_decref(list);
}

/* Each question is about one service, which has profiles in one of the two ranges only. */
TEST(a_service_that_is_gone_moves_and_one_without_a_past_does_not)
{
	json_t *list;

	list = ask("movers", "&service=gone");
	assert_int_equal(json_array_size(json_object_get(list, "movers")), 1);
	assert_mover(row_of(list, "movers", "gone"), "gone", "left", 0.2, 0);
	assert_json(list, "cores", "0");
	assert_json(list, "baseCores", "0.2");
	json_decref(list);
	list = ask("movers", "&service=held");
	assert_json(list, "movers", "[]");
	assert_json(list, "servicesWithoutBase", "1");
	json_decref(list);
	list = ask("movers", "&service=none");
	assert_json(list, "movers", "[]");
	assert_json(list, "cores", "null");
	json_decref(list);
}

TEST(a_service_younger_than_a_day_is_compared_with_the_time_right_before)
{
	long long before_ms = (long long)(t0_ns / (int64_t)NS_PER_MS) - MINUTES * 60000LL;
	struct upload u = {
		EBPF, "service.name=young", -MINUTES * 60, 60 - MINUTES * 60, "grown", 6 * S, 1};
	const json_t *m;
	json_t *list;

	post_minutely(u, MINUTES);
	u = (struct upload){EBPF, "service.name=young", 0, 60, "grown", 30 * S, 1};
	post_minutely(u, MINUTES);
	list = ask("movers", "&limit=100");
	m = row_of(list, "movers", "young");
	assert_mover(m, "young", "grown", 0.1, 0.5);
	assert_int_equal(json_integer_value(json_object_get(m, "baseFrom")), before_ms);
	/* others are compared with yesterday */
	assert_null(json_object_get(row_of(list, "movers", "shift"), "baseFrom"));
	assert_int_equal(seconds_at(list, "baseFrom"), -DAY_S);
	json_decref(list);
	/* a base that is asked for is the only one */
	list = ask("movers", "&service=young&baseFrom=1&baseTo=2");
	assert_json(list, "movers", "[]");
	assert_json(list, "servicesWithoutBase", "1");
	json_decref(list);
}

/* Of the first profiles, so that a jump stays on the list although it has lasted. */
TEST(a_service_that_is_some_ranges_old_is_compared_with_its_first_profiles)
{
	struct upload u = {
		EBPF, "service.name=jumped", -MINUTES * 300, 60 - MINUTES * 300, "grown", 6 * S, 1};
	const json_t *m;
	json_t *list;

	post_minutely(u, MINUTES);
	u = (struct upload){
		EBPF, "service.name=jumped", -MINUTES * 240, 60 - MINUTES * 240, "grown", 30 * S,
		1};
	post_minutely(u, MINUTES * 5);
	list = ask("movers", "&limit=100");
	m = row_of(list, "movers", "jumped");
	assert_mover(m, "jumped", "grown", 0.1, 0.5);
	assert_int_equal(seconds_at(m, "baseFrom"), -MINUTES * 300);
	assert_int_equal(seconds_at(m, "baseTo"), -MINUTES * 240);
	/* another one, of less age, is compared with the time right before */
	m = row_of(list, "movers", "young");
	assert_mover(m, "young", "grown", 0.1, 0.5);
	assert_int_equal(seconds_at(m, "baseTo"), 0);
	json_decref(list);
}

TEST(a_service_that_began_in_the_middle_of_the_base_has_not_grown)
{
	const int half_s = MINUTES * 30;
	struct upload u = {
		EBPF, "service.name=middle", half_s - DAY_S, half_s + 60 - DAY_S, "steady", 12 * S,
		1};
	json_t *list;
	const json_t *m;

	post_minutely(u, MINUTES / 2);
	u.from_s = 0;
	u.to_s = 60;
	post_minutely(u, MINUTES);
	u = (struct upload){EBPF, "service.name=middle", 0, 60, "added", 6 * S, 1};
	post_minutely(u, MINUTES / 2);
	list = ask("movers", "&service=middle");
	m = row_of(list, "movers", "middle");
	assert_mover(m, "middle", "added", 0, 0.05);
	json_decref(list);
}

static double cores_of(const json_t *row)
{
	return json_number_value(json_object_get(row, "cores"));
}

/* Profiles begin before the range and end within it: only the time that both share counts. */
TEST(movers_have_the_cores_of_the_applications)
{
	json_t *list, *movers;
	double cores;

	list = ask_range("applications", 90, 2 * MINUTES * 60, "");
	cores = cores_of(row_of(list, "applications", "/k8s/shop/web"));
	assert_true(fabs(cores - 0.5) < 1e-9);
	movers = ask_range("movers", 90, 2 * MINUTES * 60, "&limit=100");
	assert_true(fabs(cores_of(row_of(movers, "movers", "/k8s/shop/web")) - cores) < 1e-9);
	json_decref(movers);
	json_decref(list);
}

/* A year in the range, and ten minutes of yesterday as its base. */
TEST(movers_of_ranges_of_any_length)
{
	long long from_ms = (long long)(t0_ns / (int64_t)NS_PER_MS) - DAY_S * 1000LL;
	char base[128];
	json_t *list;
	const json_t *m;

	snprintf(base, sizeof(base), "&baseFrom=%lld&baseTo=%lld&limit=100", from_ms,
		 from_ms + MINUTES * 60000LL);
	list = ask_range("movers", -365 * DAY_S, DAY_S, base);
	m = row_of(list, "movers", "twice");
	/* twice ten minutes of profiles */
	assert_mover(m, "twice", "grow", 0.1, 0.2);
	json_decref(list);
	list = ask_range("movers", -365 * DAY_S, -364 * DAY_S, base);
	assert_json(list, "cores", "null");
	assert_json(list, "movers", "[]");
	json_decref(list);
}

/* Memory of a pod, once a minute, from minute `from` to before `to` after t0. */
static void post_heap(const char *labels, int from, int to, int64_t mib)
{
	for (int i = from; i < to; i++)
		post(&(struct upload){HEAP, labels, 60 * i, 60 * i, "make", mib << 20, 1});
}

static void assert_level(const json_t *m, int value_mib, int base_mib)
{
	assert_int_equal(json_integer_value(json_object_get(m, "value")), value_mib << 20);
	assert_int_equal(json_integer_value(json_object_get(m, "base")), base_mib << 20);
}

TEST(what_leaks_is_found_by_levels_of_all_applications)
{
	const int day = -DAY_S / 60;
	json_t *list, *levels, *first;

	post_heap("service.name=leaky&namespace=x&pod=a", 0, MINUTES, 300);
	/* at other seconds, also of what ended last */
	for (int i = 0; i < MINUTES; i++)
		post(&(struct upload){HEAP, "service.name=leaky&namespace=x&pod=b", 60 * i + 35,
				      60 * i + 35, "make", 200 << 20, 1});
	post_heap("service.name=leaky&namespace=x&pod=c", day, day + MINUTES, 200);
	/* a rollout: two pods, but not at once */
	post_heap("service.name=rolled&namespace=x&pod=a", 0, MINUTES / 2, 100);
	post_heap("service.name=rolled&namespace=x&pod=b", MINUTES / 2, MINUTES, 100);
	post_heap("service.name=rolled&namespace=x&pod=c", day, day + MINUTES, 100);
	/* younger than a day */
	post_heap("service.name=young&namespace=x&pod=a", -MINUTES, 0, 50);
	post_heap("service.name=young&namespace=x&pod=a", 0, MINUTES, 80);
	/* without any past, and smaller than before */
	post_heap("service.name=first&namespace=x&pod=a", 0, MINUTES, 900);
	post_heap("service.name=less&namespace=x&pod=a", 0, MINUTES, 100);
	post_heap("service.name=less&namespace=x&pod=a", day, day + MINUTES, 500);
	list = ask("levels", "&limit=100");
	levels = json_object_get(list, "levels");
	assert_int_equal(json_array_size(levels), 2);
	first = json_array_get(levels, 0);
	assert_json(first, "service", "\"leaky\"");
	assert_json(first, "type", "\"" HEAP "\"");
	assert_level(first, 500, 200);
	assert_null(json_object_get(first, "baseFrom"));
	assert_level(row_of(list, "levels", "young"), 80, 50);
	assert_int_equal(seconds_at(row_of(list, "levels", "young"), "baseFrom"), -MINUTES * 60);
	assert_int_equal(seconds_at(list, "baseFrom"), -DAY_S);
	json_decref(list);
	list = ask("levels", "&limit=1");
	assert_int_equal(json_array_size(json_object_get(list, "levels")), 1);
	json_decref(list);
}

/* Each of the three agents measures a tenth of a core while it runs. */
static void assert_late(const char *more)
{
	json_t *list = ask_range("applications", 3405, 3600, more);

	assert_json(row_of(list, "applications", "late"), "cores", "0.191667");
	json_decref(list);
	list = ask_range("applications", 3300, 3600, more);
	assert_json(row_of(list, "applications", "late"), "spark", "[0.1,0.1167,0.2,null,null]");
	json_decref(list);
}

TEST(a_timeline_says_up_to_when_all_agents_have_reported)
{
	struct upload u = {EBPF, "service.name=late&host.name=a", 3410, 3470, "f", 6 * S, 1};
	json_t *line;

	post_minutely(u, 2);
	line = ask_range("timeline", 3000, 3600, "&service=late&type=" EBPF "&points=60");
	assert_null(json_object_get(line, "completeTo"));
	json_decref(line);
	/* another agent has not sent its last minute yet, and a third one has nothing any more */
	u.labels = "service.name=late&host.name=b";
	u.from_s -= 5;
	u.to_s -= 5;
	post(&u);
	u.labels = "service.name=late&host.name=c";
	u.from_s -= 60;
	u.to_s -= 60;
	post(&u);
	line = ask_range("timeline", 3000, 3600, "&service=late&type=" EBPF "&points=60");
	assert_int_equal(seconds_at(line, "completeTo"), 3465);
	json_decref(line);
	assert_late("&service=late&points=5");
	assert_late("&points=5");
}

static int start(void **state)
{
	(void)state;
	t0_ns = (int64_t)clock_realtime_ns() / S * S - 3600 * S;
	agent_process_init(&agent);
	agent_process_start(&agent, NULL);
	return 0;
}

static int finish(void **state)
{
	(void)state;
	assert_int_equal(agent_process_stop(&agent, SIGTERM), 0);
	agent_process_fini(&agent);
	return 0;
}

/* Files of functions that are all called alike. */
static const char *const files[] = {
	"",
	"main.go",
	"/main.go",
	"//main.go",
	"[libc.so.6]",
	"runtime/proc.go",
	"/usr/lib/go-1.19/src/runtime/proc.go",
	"/root/go/pkg/mod/example.com/yaml@v1.2.3/scan.go",
	"example.com/yaml@v1.3.0-rc.1/scan.go",
	"example.com/yaml@v1.3.0/print.go",
	"/c/registry/src/index-6f17d22bba15001f/serde-1.0.200/lib.rs",
	"/c/registry/src/index-6f17d22bba15001f/serde-1.0.201/lib.rs",
	"/usr/lib/python3.11/threading.py",
	"/usr/lib/python3.12/threading.py",
	"/app/node_modules/@scope/index.js",
	"/app/node_modules/@scope@2.0/index.js",
	"/app/node_modules/scope/index.js",
	"/2024/a2.c",
	"/2025/a2.c",
	"/2025/a3.c",
	"a/",
	"b:7/c:8.c",
	"/x/b:7-1/c:8.c",
	"größe-2/straße.c",
	"/größe/größe/straße.c",
};

static size_t key_of(size_t i, char buf[FRAME_FILE_KEY_MAX], const char **ret)
{
	return frame_file_key(files[i], strlen(files[i]), buf, ret);
}

static bool are_one(size_t a, size_t b)
{
	char a_buf[FRAME_FILE_KEY_MAX], b_buf[FRAME_FILE_KEY_MAX];
	const char *a_key, *b_key;
	size_t len = key_of(a, a_buf, &a_key);

	return key_of(b, b_buf, &b_key) == len && memcmp(a_key, b_key, len) == 0;
}

/* The first of all files that are one with file i. */
static size_t first_of(size_t i)
{
	size_t first = i;

	for (size_t k = 0; k < ARRAY_SIZE(files); k++)
		if (are_one(i, k) && strcmp(files[k], files[first]) < 0)
			first = k;
	return first;
}

/* Twice half a core, for the first and the last two minutes of an hour. */
TEST(movers_of_several_instances_with_a_gap_have_the_cores_of_a_comparison)
{
	struct upload u = {EBPF,   "service.name=gap&host.name=a&container.id=/x/a",
			   -3600,  -3540,
			   "spin", 30 * S,
			   1};
	char base[128];
	json_t *list;
	const json_t *m;

	for (int host = 0; host < 2; host++) {
		u.labels = host ? "service.name=gap&host.name=b&container.id=/x/b" : u.labels;
		u.value = 30 * S;
		u.from_s = -7200 + 35 * host;
		u.to_s = u.from_s + 60;
		post_minutely(u, 2);
		u.from_s += 3480;
		u.to_s += 3480;
		post_minutely(u, 2);
		u.value = 45 * S;
		u.from_s += 3600;
		u.to_s += 3600;
		post_minutely(u, 2);
	}
	snprintf(base, sizeof(base), "&baseFrom=%lld&baseTo=%lld&limit=100&service=gap",
		 (long long)(t0_ns / (int64_t)NS_PER_MS) - 7200000LL,
		 (long long)(t0_ns / (int64_t)NS_PER_MS) - 3500000LL);
	list = ask_range("movers", -140, 100, base);
	m = row_of(list, "movers", "gap");
	assert_in_range((uintmax_t)(1000 * json_real_value(json_object_get(m, "baseCores"))), 900,
			1100);
	assert_in_range((uintmax_t)(1000 * json_real_value(json_object_get(m, "cores"))), 1100,
			1600);
	json_decref(list);
}

/* One of two pods has yet to be scraped for the last time. */
TEST(levels_end_where_all_instances_have_reported)
{
	json_t *line;

	for (int i = 0; i < 3; i++) {
		post(&(struct upload){HEAP, "service.name=tail&namespace=x&pod=a", 3300 + 60 * i,
				      3360 + 60 * i, "make", 400, 1});
		if (i < 2)
			post(&(struct upload){HEAP, "service.name=tail&namespace=x&pod=b",
					      3335 + 60 * i, 3395 + 60 * i, "make", 400, 1});
	}
	line = ask_range("timeline", 3000, 3600, "&service=tail&type=" HEAP "&points=60");
	assert_int_equal(seconds_at(line, "completeTo"), 3455);
	json_decref(line);
}

TEST(movers_are_one_function_in_all_releases)
{
	int64_t expected[ARRAY_SIZE(files)] = {0};
	const json_t *movers, *m;
	size_t n = 0, i;
	json_t *list;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		expected[first_of(i)] += (int64_t)(1 + i) * S;
		post(&(struct upload){EBPF, "service.name=releases", 0, 60, "f",
				      (int64_t)(1 + i) * S, 1 + (int)i, files[i]});
	}
	/* the same amount of CPU time as today, in another release and another folder */
	post(&(struct upload){EBPF, "service.name=releases", -DAY_S, 60 - DAY_S, "f",
			      expected[first_of(7)], 7, "/build/yaml@v0.9/scan.go"});
	list = ask("movers", "&service=releases&limit=100");
	movers = json_object_get(list, "movers");
	json_array_foreach (movers, i, m) {
		const char *file = json_string_value(json_object_get(m, "file"));
		size_t k = 0;

		while (k < ARRAY_SIZE(files) && strcmp(files[k], file) != 0)
			k++;
		if (k < ARRAY_SIZE(files)) {
			assert_int_equal(json_integer_value(json_object_get(m, "self")),
					 expected[k]);
			assert_json(m, "baseSelf", "0");
			expected[k] = 0;
			continue;
		}
		assert_string_equal(file, "/build/yaml@v0.9/scan.go");
		assert_int_equal(json_integer_value(json_object_get(m, "self")),
				 expected[first_of(7)]);
		assert_int_equal(json_integer_value(json_object_get(m, "baseSelf")),
				 expected[first_of(7)]);
		expected[first_of(7)] = 0;
	}
	for (i = 0; i < ARRAY_SIZE(files); i++)
		n += expected[i] != 0;
	assert_int_equal(n, 0);
	json_decref(list);
}

TEST(movers_are_one_function_with_and_without_lines)
{
	const json_t *movers;
	json_t *list;

	/* the same; twice as much; of another language; of two source files */
	post(&(struct upload){EBPF, "service.name=lines", -DAY_S, 60 - DAY_S, "same", 6 * S, 0,
			      "[shop]"});
	post(&(struct upload){EBPF, "service.name=lines", 0, 60, "same", 6 * S, 7, "shop/a.cc"});
	post(&(struct upload){EBPF, "service.name=lines", -DAY_S, 60 - DAY_S, "twice", 6 * S, 0,
			      "[shop]"});
	post(&(struct upload){EBPF, "service.name=lines", 0, 60, "twice", 12 * S, 7, "shop/a.cc"});
	post(&(struct upload){EBPF, "service.name=lines", -DAY_S, 60 - DAY_S, "run", 60 * S, 0,
			      "[shop]"});
	post(&(struct upload){EBPF, "service.name=lines", 0, 60, "run", 60 * S, 7, "shop/a.py"});
	list = ask("movers", "&service=lines&limit=100");
	movers = json_object_get(list, "movers");
	assert_int_equal(json_array_size(movers), 4);
	assert_json(json_array_get(movers, 2), "name", "\"twice\"");
	assert_json(json_array_get(movers, 2), "file", "\"shop/a.cc\"");
	assert_json(json_array_get(movers, 2), "self", "12000000000");
	assert_json(json_array_get(movers, 2), "baseSelf", "6000000000");
	assert_json(json_array_get(movers, 3), "name", "\"same\"");
	assert_json(json_array_get(movers, 3), "self", "6000000000");
	assert_json(json_array_get(movers, 3), "baseSelf", "6000000000");
	json_decref(list);
}

GROUP_FIXTURE(start, finish)
