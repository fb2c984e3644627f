/*
 * Uploads through the real agent on the real engine: the API and SQL return exactly what was
 * uploaded. CLUSTER_AGENT names the binary, CHDB_LIBRARY the engine, TEST_DATA the folder of
 * recorded profiles.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "cluster-agent/store/store_chdb.h"
#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "test/lib/unit.h"
#include "test/pipeline/agent_process.h"

#define S ((int64_t)NS_PER_S)
#define CPU "ebpf:cpu:nanoseconds"
#define TEXT(s) ((struct profile_string){(s), sizeof(s) - 1})

static struct agent_process agent;
static const char *type_name = CPU; /* type that profiles are made with and queried by */
static int64_t t0_ns;               /* end of the profiles, a whole second in the recent past */

static struct profile_string copy(struct arena *a, const char *s)
{
	struct profile_string ret = {.data = arena_strndup(a, s, strlen(s)), .len = strlen(s)};

	assert_non_null(ret.data);
	return ret;
}

/*
 * n_stacks stacks of depth frames each, root "app"; stack i has the leaf
 * "leaf<i> file<i>.c:<i + 1>" and the value (i + 1) × 10 ms.
 */
static void make_profile(struct buf *out, uint32_t n_stacks, uint32_t depth)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p = {
		.arena = &arena,
		.n_types = 1,
		.n_functions = n_stacks + depth,
		.n_locations = n_stacks + depth,
		.n_samples = n_stacks,
		.period_type = {TEXT("cpu"), TEXT("nanoseconds")},
		.period = 10000000,
		.time_ns = t0_ns,
		.duration_ns = 10 * S,
	};
	struct profile_value_type type = {{type_name, strlen(type_name)}, TEXT("nanoseconds")};
	struct profile_string comments[] = {TEXT("lost:ring_full=3"), TEXT("runtime:java:off=2"),
					    TEXT("unwind:complete=2"),
					    TEXT("unwind:no_table:lib.so=1")};

	arena_init(&arena, (size_t)256 << 20);
	p.types = &type;
	p.comments = comments;
	p.n_comments = ARRAY_SIZE(comments);
	p.functions = arena_calloc(&arena, p.n_functions, sizeof(*p.functions));
	p.locations = arena_calloc(&arena, p.n_locations, sizeof(*p.locations));
	p.samples = arena_calloc(&arena, p.n_samples, sizeof(*p.samples));
	assert_true(p.functions && p.locations && p.samples);
	for (uint32_t i = 0; i < p.n_functions; i++) {
		struct profile_line *line = arena_calloc(&arena, 1, sizeof(*line));
		char name[64], file[64];
		bool leaf = i < n_stacks;

		assert_non_null(line);
		snprintf(name, sizeof(name), leaf ? "leaf%u" : "frame %u", leaf ? i : i - n_stacks);
		snprintf(file, sizeof(file), leaf ? "file%u.c" : "", i);
		p.functions[i] = (struct profile_function){copy(&arena, name), copy(&arena, file)};
		*line = (struct profile_line){.function = i, .line = leaf ? i + 1 : 0};
		p.locations[i] = (struct profile_location){.lines = line, .n_lines = 1};
	}
	for (uint32_t i = 0; i < n_stacks; i++) {
		uint32_t *locations = arena_calloc(&arena, depth, sizeof(*locations));
		int64_t *value = arena_alloc(&arena, sizeof(*value));

		assert_true(locations && value);
		locations[0] = i;
		for (uint32_t d = 1; d < depth; d++)
			locations[d] = n_stacks + d;
		*value = (int64_t)(i + 1) * 10000000;
		p.samples[i] = (struct profile_sample){locations, depth, value};
	}
	assert_int_equal(pprof_encode(&p, out), 0);
}

static void post_expecting(long status, const char *params, const void *body, size_t len)
{
	CLEANUP(reply_fini) struct reply r;

	agent_post(&agent, params, NULL, body, len, &r);
	if (r.status != status)
		fail_msg("%s: %ld %s", params, r.status, r.body.data ? r.body.data : "");
}

static json_t *get(const char *api, const char *service, const char *more)
{
	char path[512];
	long long end_ms = (long long)(t0_ns / (int64_t)NS_PER_MS);

	snprintf(path, sizeof(path), "/api/%s?service=%s&type=%s&from=%lld&to=%lld%s", api, service,
		 type_name, end_ms - 20000, end_ms + 10000, more);
	return agent_get_json(&agent, path);
}

static json_int_t int_at(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	if (!json_is_integer(v))
		fail_msg("%s is not an integer", key);
	return json_integer_value(v);
}

static json_int_t total_of(const char *service)
{
	json_t *flame = get("flamegraph", service, "");
	json_int_t total = int_at(flame, "total");

	json_decref(flame);
	return total;
}

static void assert_json(const json_t *object, const char *key, const char *expected)
{
	AUTO_FREE char *text = json_dumps(json_object_get(object, key),
					  JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));

	assert_non_null(text);
	assert_string_equal(text, expected);
}

static void a_profile_comes_out_of_the_api_as_it_went_in(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	json_t *flame, *timeline;

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 2, 3);
	post_expecting(200, "service.name=exact&container.id=/docker/c1&host.name=n1", b.data,
		       b.len);
	flame = get("flamegraph", "exact", "");
	assert_json(flame, "names", "[\"total\",\"frame 2\",\"frame 1\",\"leaf0\",\"leaf1\"]");
	assert_json(flame, "files", "[\"\",\"file0.c\",\"file1.c\"]");
	assert_json(flame, "nodes",
		    "{\"name\":[0,1,2,3,4],\"file\":[0,0,0,1,2],\"depth\":[0,1,2,3,3],"
		    "\"total\":[30000000,30000000,30000000,10000000,20000000],"
		    "\"self\":[0,0,0,10000000,20000000],\"inlined\":[]}");
	assert_json(flame, "quality",
		    "{\"scope\":\"selection\",\"samples\":3,\"truncated\":0,\"lost\":3,"
		    "\"lostReasons\":{\"ring_full\":3},\"runtimes\":{\"java:off\":2},"
		    "\"unwinding\":{\"complete\":2,\"no_table:lib.so\":1}}");
	assert_json(flame, "other", "{\"nodes\":0,\"value\":0}");
	assert_json(flame, "stacks", "2");
	json_decref(flame);

	/* 30 ms of CPU spread over the 10 s before t0: 3 of 6 steps of 5 s … */
	timeline = get("timeline", "exact", "&points=6");
	assert_json(timeline, "values", "[null,null,0.003,0.003,null,null]");
	assert_json(timeline, "unit", "\"cores\"");
	assert_json(timeline, "instances", "[{\"id\":\"/docker/c1\",\"value\":0.003}]");
	json_decref(timeline);
}

static void instances_are_distinguished(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	json_t *timeline, *flame;

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 2, 3);
	post_expecting(200, "service.name=many&container.id=/u/x&host.name=n1", b.data, b.len);
	post_expecting(200, "service.name=many&container.id=/u/x&host.name=n2", b.data, b.len);
	timeline = get("timeline", "many", "&points=6&instance=/u/x@n2");
	assert_json(timeline, "values", "[null,null,0.003,0.003,null,null]");
	assert_json(timeline, "instances",
		    "[{\"id\":\"/u/x@n1\",\"value\":0.003},{\"id\":\"/u/x@n2\",\"value\":0.003}]");
	json_decref(timeline);
	flame = get("flamegraph", "many", "&instance=/u/x@n1");
	assert_int_equal(int_at(flame, "total"), 30000000);
	assert_int_equal(int_at(json_object_get(flame, "quality"), "lost"), 3);
	json_decref(flame);
	flame = get("flamegraph", "many", "");
	assert_int_equal(int_at(flame, "total"), 60000000);
	/* every node reports its own losses */
	assert_int_equal(int_at(json_object_get(flame, "quality"), "lost"), 6);
	json_decref(flame);
	flame = get("flamegraph", "many", "&instance=/u/nobody");
	assert_int_equal(int_at(flame, "total"), 0);
	json_decref(flame);
}

static void strange_names_stay_as_they_are(void **state)
{
	CLEANUP(buf_fini) struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 1, 1);
	/* a\b'c"d<tab>e {x:String} */
	post_expecting(200, "service.name=a%5Cb%27c%22d%09e%20%7Bx:String%7D%20%25", b.data, b.len);
	assert_int_equal(total_of("a%5Cb%27c%22d%09e%20%7Bx:String%7D%20%25"), 10000000);
	assert_int_equal(total_of("a%5Cb%27c%22d"), 0);
	/* a name that is not UTF-8 could be listed but not be queried */
	post_expecting(200, "service.name=f%FCr&host.name=%FF", b.data, b.len);
	assert_int_equal(total_of("f%3Fr"), 10000000);
}

static void the_same_upload_counts_once(void **state)
{
	CLEANUP(buf_fini) struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 2, 3);
	for (int i = 0; i < 3; i++)
		post_expecting(200, "service.name=twice", b.data, b.len);
	assert_int_equal(total_of("twice"), 30000000);
	/* another label makes it another upload */
	post_expecting(200, "service.name=twice&host.name=n2", b.data, b.len);
	assert_int_equal(total_of("twice"), 60000000);
}

static void five_thousand_stacks_are_all_there(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	json_t *flame;

	(void)state;
	buf_init(&b, (size_t)16 << 20);
	make_profile(&b, 5000, 35);
	post_expecting(200, "service.name=large", b.data, b.len);
	flame = get("flamegraph", "large", "&maxNodes=100");
	assert_int_equal(int_at(flame, "stacks"), 5000);
	assert_int_equal(int_at(flame, "stacksCut"), 0);
	/* (1 + … + 5000) × 10 ms */
	assert_int_equal(int_at(flame, "total"), INT64_C(12502500) * 10000000);
	/* root and 34 shared frames are among the 100 nodes, so are the 65 largest leaves */
	assert_int_equal(int_at(json_object_get(flame, "other"), "nodes"), 5000 - 65);
	json_decref(flame);
}

struct parallel {
	const struct buf *body;
	int i;
	long status;
};

static void *post_one(void *ctx)
{
	CLEANUP(reply_fini) struct reply r;
	struct parallel *p = ctx;
	char params[64];

	snprintf(params, sizeof(params), "service.name=parallel&host.name=n%d", p->i);
	agent_post(&agent, params, NULL, p->body->data, p->body->len, &r);
	p->status = r.status;
	return NULL;
}

static void fifty_uploads_at_once_are_all_stored(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	struct parallel jobs[50];
	pthread_t threads[ARRAY_SIZE(jobs)];

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 200, 20);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = (struct parallel){.body = &b, .i = (int)i};
		assert_int_equal(pthread_create(&threads[i], NULL, post_one, &jobs[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(jobs[i].status, 200);
	}
	assert_int_equal(total_of("parallel"), INT64_C(50) * 20100 * 10000000);
}

static void assert_unknown(const char *service)
{
	json_t *flame = get("flamegraph", service, "");

	assert_int_equal(int_at(flame, "total"), 0);
	assert_int_equal(int_at(flame, "stacks"), 0);
	assert_int_equal(int_at(json_object_get(flame, "quality"), "samples"), 0);
	json_decref(flame);
}

static void hostile_bodies_are_refused_and_leave_nothing(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(buf_fini) struct buf bomb;
	AUTO_FREE char *zeros = calloc(1, LIMIT_UPLOAD_INFLATED_BYTES + 1);

	(void)state;
	assert_non_null(zeros);
	buf_init(&b, 1 << 20);
	buf_init(&bomb, (size_t)4 << 20);
	make_profile(&b, 20, 5);
	for (size_t len = 1; len < b.len; len += 37)
		post_expecting(400, "service.name=hostile", b.data, len);
	post_expecting(400, "service.name=hostile", "not a profile", 13);
	post_expecting(400, "service.name=hostile", "\x1f\x8b garbage", 10);
	assert_int_equal(gzip_deflate(zeros, LIMIT_UPLOAD_INFLATED_BYTES + 1, 1, &bomb), 0);
	post_expecting(413, "service.name=hostile", bomb.data, bomb.len);
	post_expecting(413, "service.name=hostile", zeros, LIMIT_UPLOAD_BYTES + 1);
	for (size_t i = 10; i + 8 < b.len; i += 11) {
		CLEANUP(reply_fini) struct reply r;

		b.data[i] = (char)(b.data[i] ^ 0x55);
		agent_post(&agent, "service.name=hostile", NULL, b.data, b.len, &r);
		assert_int_equal(r.status, 400);
	}
	assert_unknown("hostile");
	assert_int_equal(kill(agent.pid, 0), 0);
}

static void incomplete_uploads_are_refused(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(reply_fini) struct reply r;

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 2, 3);
	agent_post(&agent, "host.name=n1", NULL, b.data, b.len, &r);
	assert_int_equal(r.status, 400);
	assert_string_equal(r.body.data, "query parameter service.name is missing\n");
	post_expecting(400, "service.name=", b.data, b.len);
	post_expecting(400, "service.name=empty", "", 0);
	assert_unknown("empty");
}

/* It comes from a host whose clock is wrong. */
static void a_profile_of_the_far_past_or_future_is_stored_when_it_arrives(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	int64_t before_ns = t0_ns;

	(void)state;
	buf_init(&b, 1 << 20);
	t0_ns = before_ns - 8 * 86400 * S;
	make_profile(&b, 2, 3);
	post_expecting(200, "service.name=old", b.data, b.len);
	b.len = 0;
	t0_ns = before_ns + 7200 * S;
	make_profile(&b, 2, 3);
	post_expecting(200, "service.name=young", b.data, b.len);
	t0_ns = (int64_t)clock_realtime_ns();
	assert_int_equal(total_of("old"), 30000000);
	assert_int_equal(total_of("young"), 30000000);
	t0_ns = before_ns;
}

/* A profile as Go writes it, with the types renamed as a scraper does. */
static void post_recorded(const char *name, const char *path_part)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf file;
	CLEANUP(buf_fini) struct buf out;
	struct profile p;
	char path[512];

	arena_init(&arena, (size_t)64 << 20);
	buf_init(&file, 1 << 20);
	buf_init(&out, 1 << 20);
	snprintf(path, sizeof(path), "%s/%s", getenv("TEST_DATA"), name);
	assert_int_equal(fs_read_at(AT_FDCWD, path, &file), 0);
	assert_int_equal(pprof_decode(&p, &arena, file.data, file.len, NULL), 0);
	for (uint32_t i = 0; i < p.n_types; i++) {
		char type[64];

		snprintf(type, sizeof(type), "go:%s_%s:%s", path_part, p.types[i].type.data,
			 p.types[i].unit.data);
		p.types[i].type = copy(&arena, strstr(type, "_samples") ? "" : type);
	}
	p.time_ns = t0_ns;
	p.duration_ns = 10 * S;
	assert_int_equal(pprof_encode(&p, &out), 0);
	post_expecting(200, "service.name=go&namespace=ns&pod=p-1&node=n1", out.data, out.len);
}

static bool has_name(const json_t *flame, const char *name)
{
	const json_t *names = json_object_get(flame, "names");
	size_t i;
	json_t *v;

	json_array_foreach (names, i, v)
		if (strcmp(json_string_value(v), name) == 0)
			return true;
	return false;
}

static void profiles_of_go_are_stored_with_their_names(void **state)
{
	char path[256];
	json_t *flame, *timeline;
	long long end_ms = (long long)(t0_ns / (int64_t)NS_PER_MS);

	(void)state;
	post_recorded("go_cpu.pb.gz", "profile");
	post_recorded("go_heap.pb.gz", "heap");
	snprintf(path, sizeof(path),
		 "/api/flamegraph?service=go&type=go:profile_cpu:nanoseconds&from=%lld&to=%lld",
		 end_ms - 10000, end_ms);
	flame = agent_get_json(&agent, path);
	assert_true(has_name(flame, "main.hash") && has_name(flame, "main.order"));
	assert_true(int_at(flame, "total") > 0);
	json_decref(flame);
	snprintf(path, sizeof(path),
		 "/api/timeline?service=go&type=go:heap_inuse_space:bytes&from=%lld&to=%lld"
		 "&points=2",
		 end_ms - 10000, end_ms);
	timeline = agent_get_json(&agent, path);
	assert_json(timeline, "unit", "\"bytes\"");
	/* main.allocate keeps 2000 × 4 KiB, within the error of the runtime's sampling */
	assert_true(json_number_value(json_array_get(json_object_get(timeline, "values"), 0)) >
		    5e6);
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(timeline, "instances"), 0), "id")),
		"ns/p-1");
	json_decref(timeline);
}

/* two pods for 10 s, then one of them for another 10 s */
static void a_level_is_averaged_over_time_and_added_over_instances(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(buf_fini) struct buf later;
	json_t *flame, *timeline;

	(void)state;
	buf_init(&b, 1 << 20);
	buf_init(&later, 1 << 20);
	type_name = "go:heap_inuse_space:bytes";
	make_profile(&b, 2, 3);
	t0_ns += 10 * S;
	make_profile(&later, 2, 3);
	t0_ns -= 10 * S;
	post_expecting(200, "service.name=level&namespace=ns&pod=p1", b.data, b.len);
	post_expecting(200, "service.name=level&namespace=ns&pod=p2", b.data, b.len);
	post_expecting(200, "service.name=level&namespace=ns&pod=p1", later.data, later.len);
	flame = get("flamegraph", "level", "");
	assert_int_equal(int_at(flame, "total"), 45000000);
	json_decref(flame);
	timeline = get("timeline", "level", "&points=3");
	assert_json(timeline, "values", "[null,60000000,30000000]");
	assert_json(timeline, "unit", "\"bytes\"");
	assert_json(
		timeline, "instances",
		"[{\"id\":\"ns/p1\",\"value\":30000000},{\"id\":\"ns/p2\",\"value\":15000000}]");
	json_decref(timeline);
	type_name = CPU;
}

static void bad_questions_are_answered_with_a_sentence(void **state)
{
	static const struct {
		const char *path;
		long status;
		const char *body;
	} cases[] = {
		{"/api/flamegraph?type=x", 400, "{\"error\":\"service is missing\"}"},
		{"/api/timeline?service=x&type=y&points=0", 400,
		 "{\"error\":\"points is not a number from 1 to 5000\"}"},
		{"/api/applications?from=9&to=3", 400, "{\"error\":\"from is not before to\"}"},
		{"/api/types?typo=1", 400,
		 "{\"error\":\"typo is not a parameter here; there are none\"}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(reply_fini) struct reply r;

		agent_get(&agent, cases[i].path, &r);
		assert_int_equal(r.status, cases[i].status);
		assert_string_equal(r.body.data, cases[i].body);
	}
}

static const json_t *application_of(const json_t *list, const char *service)
{
	const json_t *found = NULL, *apps = json_object_get(list, "applications");
	size_t i;
	json_t *app;

	json_array_foreach (apps, i, app)
		if (strcmp(json_string_value(json_object_get(app, "service")), service) == 0)
			found = app;
	assert_non_null(found);
	return found;
}

static void applications_are_listed_with_their_types_and_cores(void **state)
{
	char path[128], types[128];
	long long end_ms = (long long)(t0_ns / (int64_t)NS_PER_MS);
	json_t *list;

	(void)state;
	snprintf(path, sizeof(path), "/api/applications?from=%lld&to=%lld", end_ms - 10000, end_ms);
	list = agent_get_json(&agent, path);
	snprintf(types, sizeof(types), "[{\"type\":\"" CPU "\",\"lastSeen\":%lld}]", end_ms);
	assert_json(application_of(list, "exact"), "types", types);
	assert_json(application_of(list, "exact"), "cores", "0.003");
	assert_json(application_of(list, "level"), "cores", "null");
	/* profiles that were stored when they arrived are later */
	assert_true(int_at(list, "lastSeen") >= end_ms + 10000);
	/* sorted by cores */
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(list, "applications"), 0), "service")),
		"large");
	json_decref(list);
	/* there is nothing in the range, but something before it */
	snprintf(path, sizeof(path), "/api/applications?from=%lld&to=%lld", end_ms - 90000,
		 end_ms - 80000);
	list = agent_get_json(&agent, path);
	assert_json(list, "applications", "[]");
	assert_true(int_at(list, "lastSeen") >= end_ms + 10000);
	json_decref(list);
}

static void what_was_answered_survives_sigkill(void **state)
{
	CLEANUP(buf_fini) struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 100, 10);
	post_expecting(200, "service.name=killed", b.data, b.len);
	agent_process_stop(&agent, SIGKILL);
	agent_process_start(&agent, NULL);
	assert_int_equal(total_of("killed"), INT64_C(5050) * 10000000);
	/* the new process has forgotten the stacks; storing them again does no harm */
	post_expecting(200, "service.name=killed&host.name=n2", b.data, b.len);
	assert_int_equal(total_of("killed"), 2 * INT64_C(5050) * 10000000);
}

static void *post_until_refused(void *ctx)
{
	struct parallel *p = ctx;
	char params[64];

	for (int i = 0;; i++) {
		CLEANUP(reply_fini) struct reply r;

		__atomic_store_n(&p->i, i, __ATOMIC_RELEASE);
		snprintf(params, sizeof(params), "service.name=last&host.name=n%d", i);
		agent_post(&agent, params, NULL, p->body->data, p->body->len, &r);
		if (r.status != 200)
			return NULL;
	}
}

static void sigterm_stores_what_was_accepted(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	struct parallel p = {.body = &b};
	pthread_t thread;
	int status;

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 10, 5);
	assert_int_equal(pthread_create(&thread, NULL, post_until_refused, &p), 0);
	eventually(__atomic_load_n(&p.i, __ATOMIC_ACQUIRE) >= 3);
	status = agent_process_stop(&agent, SIGTERM);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	agent_process_start(&agent, NULL);
	assert_true(p.i >= 3);
	/* an upload whose answer was lost may be stored; one that was answered must be */
	assert_true(total_of("last") >= p.i * INT64_C(55) * 10000000);
	assert_true(total_of("last") <= (p.i + 1) * INT64_C(55) * 10000000);
}

static void a_wrong_key_is_refused(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	static const char *const keys[] = {NULL, "", "wrong", "secre", "secret1", "secret"};

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 2, 3);
	agent_process_stop(&agent, SIGTERM);
	agent_process_start(&agent, "--api-key=secret");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		CLEANUP(reply_fini) struct reply r;

		agent_post(&agent, "service.name=keyed", keys[i], b.data, b.len, &r);
		assert_int_equal(r.status, i + 1 < ARRAY_SIZE(keys) ? 401 : 200);
	}
	/* reading needs the key, too */
	agent_process_stop(&agent, SIGTERM);
	agent_process_start(&agent, NULL);
	assert_int_equal(total_of("keyed"), 30000000);
}

/* logged is in the only line before the error, or NULL. */
static void assert_refuses_to_start(const char *const *args, const char *reason, const char *logged)
{
	char text[4096], *error = text;

	assert_int_equal(agent_process_try(args, text, sizeof(text)), 1);
	if (logged) {
		error = strchr(text, '\n');
		assert_non_null(error);
		*error++ = '\0';
		assert_non_null(strstr(text, logged));
	}
	if (!strstr(error, reason))
		fail_msg("\"%s\" does not contain \"%s\"", error, reason);
	assert_ptr_equal(strchr(error, '\n'), error + strlen(error) - 1);
}

static void what_prevents_a_start_is_said_in_one_line(void **state)
{
	char dir[128], other[128], taken[64];
	const char *const locked[] = {"a", dir, "--listen=127.0.0.1:0", NULL};
	const char *const busy[] = {"a", other, taken, NULL};
	const char *const unknown[] = {"a", "--no-such-flag", NULL};
	const char *const bad[] = {"a", "--profiles-ttl=soon", NULL};
	const char *const open_sql[] = {"a", other, "--listen=127.0.0.1:0",
					"--clickhouse-listen=0.0.0.0:0", NULL};

	(void)state;
	snprintf(dir, sizeof(dir), "--data-dir=%s", agent.dir);
	snprintf(other, sizeof(other), "--data-dir=%s/data", temp_dir());
	snprintf(taken, sizeof(taken), "--listen=127.0.0.1:%u", agent.port);
	assert_refuses_to_start(locked, agent.dir, "waiting for the other process to end");
	assert_refuses_to_start(busy, taken + strlen("--listen="), NULL);
	assert_refuses_to_start(unknown, "no-such-flag", NULL);
	assert_refuses_to_start(bad, "profiles-ttl", NULL);
	assert_refuses_to_start(open_sql, "key", NULL);
}

static void query_tsv(struct store *s, const char *sql, const char *expected)
{
	CLEANUP(buf_fini) struct buf out;
	const struct store_query q = {.sql = sql, .format = "TSV"};
	struct err err = {""};

	buf_init(&out, 1 << 20);
	if (store_query(s, &q, &out, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
	assert_string_equal(out.data ? out.data : "", expected);
}

/* The last test, as it opens the engine in this process. */
static void the_tables_hold_what_coroot_would_write(void **state)
{
	struct store_chdb_config cfg = {
		.data_dir = agent.dir,
		.profiles_ttl_ns = 7 * 86400 * NS_PER_S,
		.chdb_library = getenv("CHDB_LIBRARY"),
	};
	CLEANUP(store_closep) struct store *s = NULL;
	struct err err = {""};
	char expected[512];

	(void)state;
	agent_process_stop(&agent, SIGTERM);
	if (store_chdb_open(&s, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	query_tsv(s,
		  "SELECT Value, Labels, Stack FROM profiling_samples JOIN profiling_stacks "
		  "ON Hash = StackHash AND profiling_samples.ServiceName = "
		  "profiling_stacks.ServiceName WHERE ServiceName = 'exact' ORDER BY Value",
		  "10000000\t{'container.id':'/docker/c1','host.name':'n1'}\t"
		  "['leaf0 file0.c:1','frame 1 :0','frame 2 :0']\n"
		  "20000000\t{'container.id':'/docker/c1','host.name':'n1'}\t"
		  "['leaf1 file1.c:2','frame 1 :0','frame 2 :0']\n");
	snprintf(expected, sizeof(expected), CPU "\t%lld\t%lld\n", (long long)(t0_ns - 10 * S),
		 (long long)t0_ns);
	query_tsv(s,
		  "SELECT DISTINCT Type, toUnixTimestamp64Nano(Start), toUnixTimestamp64Nano(End) "
		  "FROM profiling_samples WHERE ServiceName = 'exact'",
		  expected);
	snprintf(expected, sizeof(expected), "%lld\n", (long long)(t0_ns + 3600 * S));
	query_tsv(s,
		  "SELECT DISTINCT toUnixTimestamp64Nano(LastSeen) FROM profiling_stacks "
		  "WHERE ServiceName = 'exact'",
		  expected);
	query_tsv(s,
		  "SELECT count() FROM profiling_samples WHERE ServiceName IN "
		  "('hostile', 'empty')",
		  "0\n");
	/* 50 uploads have the same 200 stacks, whose rows were not stored 50 times */
	query_tsv(
		s,
		"SELECT count() >= 200 AND count() <= 2000, uniqExact(Hash) FROM profiling_stacks "
		"WHERE ServiceName = 'parallel'",
		"1\t200\n");
}

static int start(void **state)
{
	(void)state;
	t0_ns = ((int64_t)clock_realtime_ns() / S - 30) / 10 * 10 * S;
	agent_process_init(&agent);
	agent_process_start(&agent, NULL);
	return 0;
}

static int finish(void **state)
{
	(void)state;
	agent_process_fini(&agent);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_comes_out_of_the_api_as_it_went_in),
		cmocka_unit_test(instances_are_distinguished),
		cmocka_unit_test(strange_names_stay_as_they_are),
		cmocka_unit_test(the_same_upload_counts_once),
		cmocka_unit_test(five_thousand_stacks_are_all_there),
		cmocka_unit_test(fifty_uploads_at_once_are_all_stored),
		cmocka_unit_test(hostile_bodies_are_refused_and_leave_nothing),
		cmocka_unit_test(incomplete_uploads_are_refused),
		cmocka_unit_test(a_profile_of_the_far_past_or_future_is_stored_when_it_arrives),
		cmocka_unit_test(profiles_of_go_are_stored_with_their_names),
		cmocka_unit_test(a_level_is_averaged_over_time_and_added_over_instances),
		cmocka_unit_test(applications_are_listed_with_their_types_and_cores),
		cmocka_unit_test(bad_questions_are_answered_with_a_sentence),
		cmocka_unit_test(what_was_answered_survives_sigkill),
		cmocka_unit_test(sigterm_stores_what_was_accepted),
		cmocka_unit_test(what_prevents_a_start_is_said_in_one_line),
		cmocka_unit_test(a_wrong_key_is_refused),
		cmocka_unit_test(the_tables_hold_what_coroot_would_write),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
