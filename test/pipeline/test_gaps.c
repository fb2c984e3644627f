/*
 * What scraped profiles look like on the timeline. Each covers 10 s of a minute, different ones for
 * each pod. Through the real agent on the real engine.
 */
#include <signal.h>

#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"
#include "test/pipeline/agent_process.h"

#define S ((int64_t)NS_PER_S)
#define MINUTES 10
#define TEXT(s) ((struct profile_string){(s), sizeof(s) - 1})

static struct agent_process agent;
static int64_t t0_ns; /* start of the ten minutes that the test queries */

struct sample {
	const char *type;
	const char *labels;
	int from_s, to_s; /* after t0 */
	int64_t value;
};

static void post(const struct sample *s)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf body;
	CLEANUP(reply_fini) struct reply reply;
	struct profile_value_type type = {{s->type, strlen(s->type)}, TEXT("count")};
	struct profile_function function = {TEXT("leaf"), TEXT("leaf.go")};
	struct profile_line line = {.line = 1};
	struct profile_location location = {.lines = &line, .n_lines = 1};
	uint32_t index = 0;
	int64_t value = s->value;
	struct profile_sample sample = {&index, 1, &value};
	const struct profile p = {
		.arena = &arena,
		.types = &type,
		.n_types = 1,
		.functions = &function,
		.n_functions = 1,
		.locations = &location,
		.n_locations = 1,
		.samples = &sample,
		.n_samples = 1,
		.time_ns = t0_ns + s->to_s * S,
		.duration_ns = (s->to_s - s->from_s) * S,
	};

	arena_init(&arena, 1 << 20);
	buf_init(&body, 1 << 20);
	assert_int_equal(pprof_encode(&p, &body), 0);
	agent_post(&agent, s->labels, NULL, body.data, body.len, &reply);
	if (reply.status != 200)
		fail_msg("%ld %s", reply.status, reply.body.data ? reply.body.data : "");
}

/* Uploads a profile per minute, also before and after the ten minutes. */
static void post_minutely(struct sample s)
{
	for (int i = -1; i <= MINUTES; i++) {
		struct sample at = s;

		at.from_s += 60 * i;
		at.to_s += 60 * i;
		post(&at);
	}
}

static json_t *timeline_of(const char *service, const char *type, const char *more)
{
	long long from_ms = (long long)(t0_ns / (int64_t)NS_PER_MS);
	char path[512];

	snprintf(path, sizeof(path),
		 "/api/timeline?service=%s&type=%s&from=%lld&to=%lld&points=%d%s", service, type,
		 from_ms, from_ms + MINUTES * 60000, MINUTES, more);
	return agent_get_json(&agent, path);
}

static void assert_json(const json_t *object, const char *key, const char *expected)
{
	AUTO_FREE char *text = json_dumps(json_object_get(object, key),
					  JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));

	assert_non_null(text);
	assert_string_equal(text, expected);
}

TEST(pods_scraped_at_different_moments_add_up)
{
	static const char cpu[] = "go:profile_cpu:nanoseconds";
	json_t *t, *apps;
	char path[128];

	post_minutely((struct sample){cpu, "service.name=/k8s/shop/a&namespace=shop&pod=a1", 0, 10,
				      10 * S});
	post_minutely((struct sample){cpu, "service.name=/k8s/shop/a&namespace=shop&pod=a2", 30, 40,
				      20 * S});
	t = timeline_of("/k8s/shop/a", cpu, "");
	assert_json(t, "unit", "\"cores\"");
	assert_json(t, "values", "[3,3,3,3,3,3,3,3,3,3]");
	assert_json(t, "instances",
		    "[{\"id\":\"shop/a2\",\"value\":2},{\"id\":\"shop/a1\",\"value\":1}]");
	json_decref(t);
	t = timeline_of("/k8s/shop/a", cpu, "&instance=shop/a2");
	assert_json(t, "values", "[2,2,2,2,2,2,2,2,2,2]");
	json_decref(t);

	snprintf(path, sizeof(path), "/api/applications?from=%lld&to=%lld",
		 (long long)(t0_ns / (int64_t)NS_PER_MS),
		 (long long)(t0_ns / (int64_t)NS_PER_MS) + MINUTES * 60000);
	apps = agent_get_json(&agent, path);
	assert_json(json_array_get(json_object_get(apps, "applications"), 0), "cores", "3");
	json_decref(apps);
}

TEST(a_profile_stands_until_the_next_of_its_instance_began)
{
	static const char cpu[] = "go:profile_cpu:nanoseconds";
	static const char labels[] = "service.name=gaps&namespace=shop&pod=g";
	/* one scrape failed between the first two; the last belongs to a restarted pod */
	static const struct sample samples[] = {{cpu, labels, 60, 70, 10 * S},
						{cpu, labels, 180, 190, 20 * S},
						{cpu, labels, 480, 490, 30 * S}};
	json_t *t;

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		post(&samples[i]);
	t = timeline_of("gaps", cpu, "");
	assert_json(t, "values", "[null,1,1,2,null,null,null,null,3,null]");
	json_decref(t);
}

TEST(the_newest_profile_stands_as_long_as_those_before_it)
{
	static const char cpu[] = "go:profile_cpu:nanoseconds";
	static const char labels[] = "service.name=newest&namespace=shop&pod=n";
	json_t *t;

	post(&(struct sample){cpu, labels, 420, 430, 10 * S});
	post(&(struct sample){cpu, labels, 480, 490, 20 * S});
	t = timeline_of("newest", cpu, "");
	assert_json(t, "values", "[null,null,null,null,null,null,null,1,2,null]");
	json_decref(t);
}

TEST(ports_of_a_pod_are_instances)
{
	static const char cpu[] = "go:profile_cpu:nanoseconds";
	json_t *t;

	post_minutely((struct sample){cpu, "service.name=ports&namespace=s&pod=p&port=80", 0, 10,
				      10 * S});
	post_minutely((struct sample){cpu, "service.name=ports&namespace=s&pod=p&port=81", 20, 30,
				      5 * S});
	t = timeline_of("ports", cpu, "");
	assert_json(t, "values", "[1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5]");
	assert_json(t, "instances", "[{\"id\":\"s/p\",\"value\":1.5}]");
	json_decref(t);
}

/* The labels that both agents send of one pod. */
#define POD_LABELS "namespace=s&pod=p&k8s.namespace.name=s&k8s.pod.name=p"

TEST(a_pod_is_chosen_by_its_name_in_either_agents_profiles)
{
	static const char sampled[] = "ebpf:cpu:nanoseconds",
			  scraped[] = "go:profile_cpu:nanoseconds";
	static const char *const names[] = {"s/p", "/k8s/s/p/web", "s/p@n", "/k8s/s/p/web@n"};
	static const char *const others[] = {"s/q",       "/k8s/s/q/web", "s/p/",       "s",
					     "/k8s/s/p/", "/s/p",         "/k8s//p/web"};
	char params[64];
	json_t *t;

	for (int i = 0; i < MINUTES; i++) {
		post(&(struct sample){sampled,
				      "service.name=/k8s/s/both&container.id=/k8s/s/p/web&"
				      "host.name=n&" POD_LABELS,
				      i * 60, i * 60 + 60, 60 * S});
		post(&(struct sample){sampled,
				      "service.name=/k8s/s/both&container.id=/k8s/s/p2/web&"
				      "host.name=n&namespace=s&pod=p2",
				      i * 60, i * 60 + 60, 240 * S});
	}
	post_minutely((struct sample){scraped, "service.name=/k8s/s/both&node=n&" POD_LABELS, 0, 10,
				      20 * S});
	post_minutely((struct sample){scraped, "service.name=/k8s/s/both&node=n&namespace=s&pod=p2",
				      0, 10, 80 * S});
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(params, sizeof(params), "&instance=%s", names[i]);
		t = timeline_of("/k8s/s/both", sampled, params);
		assert_json(t, "values", "[1,1,1,1,1,1,1,1,1,1]");
		json_decref(t);
		t = timeline_of("/k8s/s/both", scraped, params);
		assert_json(t, "values", "[2,2,2,2,2,2,2,2,2,2]");
		json_decref(t);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		snprintf(params, sizeof(params), "&instance=%s", others[i]);
		t = timeline_of("/k8s/s/both", sampled, params);
		assert_json(t, "values", "[null,null,null,null,null,null,null,null,null,null]");
		json_decref(t);
		t = timeline_of("/k8s/s/both", scraped, params);
		assert_json(t, "values", "[null,null,null,null,null,null,null,null,null,null]");
		json_decref(t);
	}
}

TEST(levels_are_averaged_per_instance_and_added)
{
	static const char goroutines[] = "go:goroutine_goroutine:count";
	json_t *t;

	post_minutely(
		(struct sample){goroutines, "service.name=levels&namespace=s&pod=p", 0, 60, 10});
	post_minutely(
		(struct sample){goroutines, "service.name=levels&namespace=s&pod=q", -30, 30, 30});
	t = timeline_of("levels", goroutines, "");
	assert_json(t, "unit", "\"count\"");
	assert_json(t, "values", "[40,40,40,40,40,40,40,40,40,40]");
	json_decref(t);
}

TEST(waiting_is_not_counted_in_cores)
{
	static const char delay[] = "go:block_delay:nanoseconds";
	json_t *t;

	post_minutely(
		(struct sample){delay, "service.name=waits&namespace=s&pod=p", 0, 60, 150 * S});
	t = timeline_of("waits", delay, "");
	assert_json(t, "unit", "\"seconds per second\"");
	assert_json(t, "values", "[2.5,2.5,2.5,2.5,2.5,2.5,2.5,2.5,2.5,2.5]");
	json_decref(t);
}

TEST(what_the_node_agent_sends_is_left_as_it_is)
{
	static const char cpu[] = "ebpf:cpu:nanoseconds";
	static const char labels[] = "service.name=node&container.id=/k8s/s/p/c&host.name=n1";
	json_t *t;

	/* an idle pod sends nothing */
	post(&(struct sample){cpu, labels, 0, 60, 60 * S});
	post(&(struct sample){cpu, labels, 120, 180, 60 * S});
	t = timeline_of("node", cpu, "");
	assert_json(t, "values", "[1,null,1,null,null,null,null,null,null,null]");
	json_decref(t);
}

static int start(void **state)
{
	(void)state;
	t0_ns = ((int64_t)clock_realtime_ns() / S - 800) * S;
	agent_process_init(&agent);
	agent_process_start(&agent, NULL);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	assert_int_equal(agent_process_stop(&agent, SIGTERM), 0);
	agent_process_fini(&agent);
	return 0;
}

GROUP_FIXTURE(start, stop)
