/*
 * More than the agent can take at once: uploads whose rows are thousands of times as large as the
 * uploads. CLUSTER_AGENT names the binary, CHDB_LIBRARY the engine.
 */
#include <pthread.h>
#include <signal.h>

#include "cluster-agent/store/store.h"
#include "common/limits.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"
#include "test/pipeline/agent_process.h"

#define CPU "ebpf:cpu:nanoseconds"
#define TEXT(s) ((struct profile_string){(s), sizeof(s) - 1})
#define NAME_BYTES 50000u
#define N_UPLOADS 12
#define MAX_NOISE 2000u
#define ROWS(table) "\ncoroot_cluster_agent_store_rows_total{table=\"" table "\"} "

static struct agent_process agent;
static int64_t t0_ns;

/* Text that does not compress. */
static void fill_noise(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		text[i] = (char)('!' + random() % 90);
}

/*
 * Makes n stacks of a leaf of their own and one common frame of NAME_BYTES; every value is 1. The
 * names of leafs begin with n_noise random characters.
 */
static void make_profile(struct buf *out, uint32_t n, uint32_t n_noise)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile_value_type type = {TEXT(CPU), TEXT("nanoseconds")};
	struct profile p = {
		.arena = &arena,
		.types = &type,
		.n_types = 1,
		.n_functions = n + 1,
		.n_locations = n + 1,
		.n_samples = n,
		.time_ns = t0_ns,
		.duration_ns = 10 * (int64_t)NS_PER_S,
	};
	char *name;

	arena_init(&arena, (size_t)64 << 20);
	p.functions = arena_calloc(&arena, p.n_functions, sizeof(*p.functions));
	p.locations = arena_calloc(&arena, p.n_locations, sizeof(*p.locations));
	p.samples = arena_calloc(&arena, p.n_samples, sizeof(*p.samples));
	name = arena_alloc(&arena, NAME_BYTES);
	assert_true(p.functions && p.locations && p.samples && name);
	memset(name, 'x', NAME_BYTES);
	for (uint32_t i = 0; i <= n; i++) {
		struct profile_line *line = arena_calloc(&arena, 1, sizeof(*line));
		char leaf[MAX_NOISE + 16];
		int len;

		fill_noise(leaf, n_noise);
		len = (int)n_noise + snprintf(leaf + n_noise, 16, "leaf%u", i);
		assert_non_null(line);
		line->function = i;
		p.locations[i] = (struct profile_location){.lines = line, .n_lines = 1};
		p.functions[i].name = (struct profile_string){
			arena_strndup(&arena, leaf, (size_t)len), (size_t)len};
		p.functions[i].file = TEXT("a.c");
	}
	p.functions[n].name = (struct profile_string){name, NAME_BYTES};
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *locations = arena_calloc(&arena, 2, sizeof(*locations));
		int64_t *value = arena_alloc(&arena, sizeof(*value));

		assert_true(locations && value);
		locations[0] = i;
		locations[1] = n;
		*value = 1;
		p.samples[i] = (struct profile_sample){locations, 2, value};
	}
	assert_int_equal(pprof_encode(&p, out), 0);
}

struct sender {
	const struct buf *body;
	size_t i;
	unsigned n_refused; /* answers with 503 and Retry-After */
	long status;        /* of the last answer */
};

static void post(const struct sender *s, struct reply *ret)
{
	char params[64];

	snprintf(params, sizeof(params), "service.name=large%zu", s->i);
	agent_post(&agent, params, NULL, s->body->data, s->body->len, ret);
}

static void *post_until_stored(void *ctx)
{
	struct sender *s = ctx;

	for (;;) {
		CLEANUP(reply_fini) struct reply r;

		post(s, &r);
		s->status = r.status;
		if (r.status != 503 || strcmp(r.retry_after, "5") != 0)
			return NULL;
		s->n_refused++;
		usleep(200000);
	}
}

static uint64_t peak_memory_kb(void)
{
	char path[64], line[128];
	unsigned long long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)agent.pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (kb == 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %llu kB", &kb) != 1)
			kb = 0;
	fclose(f);
	assert_true(kb > 0);
	return kb;
}

static json_int_t total_of(size_t i)
{
	long long end_ms = (long long)(t0_ns / (int64_t)NS_PER_MS);
	char path[256];
	json_int_t total;
	json_t *flame;

	snprintf(path, sizeof(path),
		 "/api/flamegraph?service=large%zu&type=" CPU "&from=%lld&to=%lld", i,
		 end_ms - 20000, end_ms);
	flame = agent_get_json(&agent, path);
	total = json_integer_value(json_object_get(flame, "total"));
	json_decref(flame);
	return total;
}

/* Returns how often uploads were refused. */
static unsigned post_at_once(const struct buf *body, size_t first, json_int_t total)
{
	struct sender senders[N_UPLOADS];
	pthread_t threads[N_UPLOADS];
	unsigned n_refused = 0;

	for (size_t i = 0; i < N_UPLOADS; i++) {
		senders[i] = (struct sender){.body = body, .i = first + i};
		assert_int_equal(pthread_create(&threads[i], NULL, post_until_stored, &senders[i]),
				 0);
	}
	for (size_t i = 0; i < N_UPLOADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(senders[i].status, 200);
		n_refused += senders[i].n_refused;
		assert_int_equal(total_of(first + i), total);
	}
	return n_refused;
}

/* One MiB of log and three of uploads. */
static void uploads_that_do_not_fit_are_refused_with_retry_after(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	unsigned n_refused = 0;

	(void)state;
	assert_int_equal(agent_process_stop(&agent, SIGTERM), 0);
	agent_process_start(&agent, "--max-wal-size=1MiB");
	buf_init(&b, 1 << 20);
	make_profile(&b, 150, MAX_NOISE);
	assert_true(b.len > 200000);
	/* one after the other, as on a machine that is stopped in between, they do fit */
	for (size_t round = 0; n_refused == 0 && round < 5; round++)
		n_refused = post_at_once(&b, round * N_UPLOADS, 150);
	assert_true(n_refused > 0);
	assert_true(peak_memory_kb() < 2000000);
}

/* Each is 60 MB of rows, so together they are many inserts. */
static void uploads_of_gigabytes_of_rows_are_stored(void **state)
{
	CLEANUP(buf_fini) struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, 1200, 0);
	assert_true(b.len < 100000);
	(void)post_at_once(&b, 100, 1200);
	assert_true(peak_memory_kb() < 2000000);
}

static void a_profile_larger_than_an_insert_is_stored(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(reply_fini) struct reply r;
	struct sender s = {.body = &b, .i = 200};
	uint32_t n = (uint32_t)(STORE_INSERT_BYTES / NAME_BYTES * 9 / 8);

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, n, 0);
	post(&s, &r);
	assert_int_equal(r.status, 200);
	assert_int_equal(total_of(200), n);
}

/*
 * The largest profile that the node agent makes of a heap: n stacks of 20 frames out of 3000
 * functions with long names, four types, and every value 1.
 */
static void make_heap(struct buf *out, uint32_t n)
{
	static const char *const types[] = {
		"go:heap_alloc_objects:count", "go:heap_alloc_space:bytes",
		"go:heap_inuse_objects:count", "go:heap_inuse_space:bytes"};
	static const int64_t values[] = {1, 1, 1, 1};
	CLEANUP(arena_fini) struct arena arena;
	struct profile_value_type value_types[ARRAY_SIZE(types)];
	struct profile p = {
		.arena = &arena,
		.types = value_types,
		.n_types = ARRAY_SIZE(types),
		.n_functions = 3000,
		.n_locations = 3000,
		.n_samples = n,
		.time_ns = t0_ns,
		.duration_ns = 60 * (int64_t)NS_PER_S,
	};

	arena_init(&arena, (size_t)256 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct profile_string type = {types[i], strlen(types[i])};

		value_types[i] = (struct profile_value_type){type, TEXT("count")};
	}
	p.functions = arena_calloc(&arena, p.n_functions, sizeof(*p.functions));
	p.locations = arena_calloc(&arena, p.n_locations, sizeof(*p.locations));
	p.samples = arena_calloc(&arena, p.n_samples, sizeof(*p.samples));
	assert_true(p.functions && p.locations && p.samples);
	for (uint32_t i = 0; i < p.n_functions; i++) {
		struct profile_line *line = arena_calloc(&arena, 1, sizeof(*line));
		char text[128];
		int len = snprintf(text, sizeof(text),
				   "github.com/example/company/service/internal/package%u."
				   "(*Server).handleRequest%u",
				   i / 30, i);

		assert_non_null(line);
		line->function = i;
		line->line = (int64_t)i;
		p.locations[i] = (struct profile_location){.lines = line, .n_lines = 1};
		p.functions[i].name = (struct profile_string){
			arena_strndup(&arena, text, (size_t)len), (size_t)len};
		p.functions[i].file = TEXT("/src/company/service/internal/package/server.go");
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *locations = arena_calloc(&arena, 20, sizeof(*locations));

		assert_non_null(locations);
		for (uint32_t d = 0; d < 18; d++)
			locations[d] = (i / (d + 1) + 7 * d) % 3000;
		/* each stack is another one */
		locations[18] = i % 3000;
		locations[19] = i / 3000;
		p.samples[i] = (struct profile_sample){locations, 20, (int64_t *)(uintptr_t)values};
	}
	assert_int_equal(pprof_encode(&p, out), 0);
}

static void the_largest_heap_profile_is_stored(void **state)
{
	static const char labels[] =
		"service.name=heap&host.name=ip-10-0-12-34.eu-central-1.compute.internal"
		"&namespace=production-payments&pod=payment-service-5d4f8b7c9-x2x7q"
		"&container.id=/k8s/production-payments/payment-service-5d4f8b7c9-x2x7q/server"
		"&node=ip-10-0-12-34&port=6060";
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(reply_fini) struct reply r;
	CLEANUP(reply_fini) struct reply metrics;

	(void)state;
	buf_init(&b, LIMIT_UPLOAD_BYTES);
	make_heap(&b, 262144);
	agent_post(&agent, labels, NULL, b.data, b.len, &r);
	assert_int_equal(r.status, 200);
	agent_settle(&agent);
	/* it is the first profile that is stored */
	agent_get(&agent, "/metrics", &metrics);
	assert_non_null(strstr(metrics.body.data, ROWS("stacks") "262144\n"));
	assert_non_null(strstr(metrics.body.data, ROWS("samples") "1048576\n"));
	assert_non_null(strstr(metrics.body.data, ROWS("quality") "4\n"));
	assert_true(peak_memory_kb() < 2000000);
}

static void a_profile_of_too_much_text_is_refused_for_good(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(reply_fini) struct reply r;
	struct sender s = {.body = &b};

	(void)state;
	buf_init(&b, 1 << 20);
	make_profile(&b, (uint32_t)(LIMIT_PROFILE_STACK_TEXT_BYTES / NAME_BYTES) + 1, 0);
	post(&s, &r);
	assert_int_equal(r.status, 413);
	/* the text names the limit */
	assert_non_null(strstr(r.body.data, "1073741824 bytes"));
}

static int start(void **state)
{
	(void)state;
	t0_ns = (int64_t)(clock_realtime_ns() / NS_PER_S * NS_PER_S);
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
		cmocka_unit_test(a_profile_of_too_much_text_is_refused_for_good),
		cmocka_unit_test(the_largest_heap_profile_is_stored),
		cmocka_unit_test(a_profile_larger_than_an_insert_is_stored),
		cmocka_unit_test(uploads_of_gigabytes_of_rows_are_stored),
		cmocka_unit_test(uploads_that_do_not_fit_are_refused_with_retry_after),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
