/* The scraper against servers on this machine: each "pod" is an address 127.0.0.x. */
#include <errno.h>
#include <jansson.h>
#include <pthread.h>

#include "cluster-agent/scrape/scraper.h"
#include "common/clock.h"
#include "common/http.h"
#include "common/http_server.h"
#include "common/limits.h"
#include "common/pprof_decode.h"
#include "common/pprof_encode.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define LOCK "contentions/count delay/nanoseconds"
#define MAX_PUTS 256
#define PATIENCE_NS (20 * NS_PER_S)

struct put {
	char service[64], pod[64], port[8];
	char types[128];
	uint32_t n_samples;
	int64_t first, last; /* sums of the first and the last type */
	int64_t duration_ns;
};

struct fixture {
	struct loop *loop;
	struct loop_source *timer;
	struct scraper *scraper;
	struct metrics *metrics;
	struct http_server *server;
	bool (*until)(struct fixture *f);
	uint64_t deadline_ns;
	bool timed_out;
	bool owns;
	struct put puts[MAX_PUTS];
	size_t n_puts;
	char token_file[64];

	/* what the server does and sees; its own threads */
	pthread_mutex_t lock;
	int64_t contentions; /* grows with each scrape of the mutex profile */
	bool restarts;       /* the next time it begins anew */
	const char *answer;  /* of /text */
	unsigned answer_status;
	unsigned n_requests;
	char authorization[128], agent[128], query[32], host[64];
	struct http_exchange *kept;
};

/* ---- the pods -------------------------------------------------------------------------- */

static void respond_profile(struct http_exchange *x, const char *types,
			    const struct made_sample *samples, uint32_t n)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;
	struct buf out;
	size_t len;
	char *body;

	arena_init(&arena, MIB);
	buf_init(&out, MIB);
	p = made_profile(&arena, types, samples, n);
	p.duration_ns = (int64_t)NS_PER_S;
	assert_int_equal(pprof_encode(&p, &out), 0);
	body = buf_take(&out, &len);
	http_respond(x, 200, "application/octet-stream", body, len);
}

static void note(char *ret, size_t size, const char *value)
{
	snprintf(ret, size, "%s", value ? value : "-");
}

static void note_request(struct fixture *f, const struct http_exchange *x)
{
	f->n_requests++;
	note(f->authorization, sizeof(f->authorization), http_exchange_header(x, "Authorization"));
	note(f->agent, sizeof(f->agent), http_exchange_header(x, "User-Agent"));
	note(f->host, sizeof(f->host), http_exchange_header(x, "Host"));
	note(f->query, sizeof(f->query), http_exchange_param(x, "seconds"));
}

static void serve_mutex(void *ctx, struct http_exchange *x)
{
	struct made_sample samples[] = {{{1, 2}, 2, {0}}, {{3}, 1, {1, 10}}, {{1, 2}, 2, {0}}};
	struct fixture *f = ctx;

	pthread_mutex_lock(&f->lock);
	note_request(f, x);
	f->contentions = f->restarts ? 2 : f->contentions + 10;
	f->restarts = false;
	/* spread over two samples of the same stack */
	samples[0].values[0] = f->contentions - 1;
	samples[2].values[0] = 1;
	samples[2].values[1] = f->contentions * 100;
	pthread_mutex_unlock(&f->lock);
	respond_profile(x, LOCK, samples, ARRAY_SIZE(samples));
}

static void serve_cpu(void *ctx, struct http_exchange *x)
{
	static const struct made_sample samples[] = {{{1, 2}, 2, {3, 30000000}}};
	struct fixture *f = ctx;

	pthread_mutex_lock(&f->lock);
	note_request(f, x);
	pthread_mutex_unlock(&f->lock);
	respond_profile(x, "samples/count cpu/nanoseconds", samples, 1);
}

static void serve_empty(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	respond_profile(x, "goroutine/count", NULL, 0);
}

static void serve_text(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	pthread_mutex_lock(&f->lock);
	note_request(f, x);
	http_respond_text(x, f->answer_status, "%s", f->answer);
	pthread_mutex_unlock(&f->lock);
}

static void serve_large(void *ctx, struct http_exchange *x)
{
	char *body = calloc(1, 8 * MIB);

	(void)ctx;
	assert_non_null(body);
	http_respond(x, 200, "application/octet-stream", body, 8 * MIB);
}

/* Answered by teardown() or release(). */
static void serve_never(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	bool keep;

	pthread_mutex_lock(&f->lock);
	f->n_requests++;
	keep = !f->kept;
	if (keep)
		f->kept = x;
	pthread_mutex_unlock(&f->lock);
	if (!keep)
		http_respond_text(x, 500, "busy");
}

static void release(struct fixture *f)
{
	struct http_exchange *x;

	pthread_mutex_lock(&f->lock);
	x = f->kept;
	f->kept = NULL;
	pthread_mutex_unlock(&f->lock);
	if (x)
		http_respond_text(x, 500, "too late");
}

/* ---- the scraper's owner --------------------------------------------------------------- */

static bool owns(void *ctx, const char *uid)
{
	const struct fixture *f = ctx;

	(void)uid;
	return f->owns;
}

static const char *label(const struct upload_label *labels, const char *name)
{
	for (; labels->name; labels++)
		if (strcmp(labels->name, name) == 0)
			return labels->value;
	return "?";
}

static void put(void *ctx, const struct upload_label *labels, struct buf *body)
{
	CLEANUP(arena_fini) struct arena arena;
	struct fixture *f = ctx;
	struct put *put = &f->puts[f->n_puts++];
	struct profile p;

	assert_true(f->n_puts < MAX_PUTS);
	arena_init(&arena, 16 * MIB);
	assert_int_equal(pprof_decode(&p, &arena, body->data, body->len, NULL), 0);
	buf_fini(body);
	snprintf(put->service, sizeof(put->service), "%s", label(labels, "service.name"));
	snprintf(put->pod, sizeof(put->pod), "%s", label(labels, "pod"));
	snprintf(put->port, sizeof(put->port), "%s", label(labels, "port"));
	assert_string_equal(label(labels, "namespace"), "shop");
	assert_string_equal(label(labels, "node"), "node-1");
	for (uint32_t i = 0; i < p.n_types; i++)
		snprintf(put->types + strlen(put->types), sizeof(put->types) - strlen(put->types),
			 "%s%s", i ? " " : "", p.types[i].type.data);
	put->n_samples = p.n_samples;
	put->first = made_profile_sum(&p, 0);
	put->last = made_profile_sum(&p, p.n_types - 1);
	put->duration_ns = p.duration_ns;
}

static void look(void *ctx)
{
	struct fixture *f = ctx;

	f->timed_out = clock_monotonic_ns() > f->deadline_ns;
	if (f->timed_out || f->until(f))
		loop_stop(f->loop);
	else
		loop_set_timer(f->timer, 5 * NS_PER_MS);
}

static void run_until(struct fixture *f, bool (*until)(struct fixture *f))
{
	f->until = until;
	f->deadline_ns = clock_monotonic_ns() + PATIENCE_NS;
	loop_set_timer(f->timer, 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_false(f->timed_out);
}

static void start_server(struct fixture *f)
{
	const struct http_route routes[] = {
		{"GET", "/debug/pprof/mutex", 0, serve_mutex, f},
		{"GET", "/debug/pprof/profile", 0, serve_cpu, f},
		{"GET", "/debug/pprof/goroutine", 0, serve_empty, f},
		{"GET", "/text", 0, serve_text, f},
		{"GET", "/large", 0, serve_large, f},
		{"GET", "/never", 0, serve_never, f},
		{"GET", "/targets", 0, scraper_serve_targets, f->scraper},
		{0},
	};
	const struct http_server_config cfg = {
		.listen = ":0",
		.n_threads = 2,
		.max_connections = 200,
		.timeout_s = 30,
		.max_body_memory_bytes = MIB,
		.routes = routes,
	};

	assert_int_equal(http_server_new(&f->server, &cfg, NULL), 0);
}

static struct scraper_config default_config(struct fixture *f)
{
	return (struct scraper_config){
		.loop = f->loop,
		.interval_ns = NS_PER_S,
		.timeout_ns = 5 * NS_PER_S,
		.cpu_duration_ns = NS_PER_S,
		.max_in_flight = 10,
		.max_body_bytes = MIB,
		.max_memory_bytes = 8 * MIB,
		.ctx = f,
		.owns = owns,
		.put = put,
	};
}

static void setup_with(struct fixture *f, const struct scraper_config *change)
{
	struct scraper_config cfg;

	*f = (struct fixture){.owns = true, .answer_status = 200, .answer = ""};
	pthread_mutex_init(&f->lock, NULL);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(loop_add_timer(f->loop, look, f, &f->timer), 0);
	cfg = default_config(f);
	if (change) {
		cfg.auth = change->auth;
		if (change->interval_ns)
			cfg.interval_ns = change->interval_ns;
		if (change->timeout_ns)
			cfg.timeout_ns = change->timeout_ns;
		if (change->max_in_flight)
			cfg.max_in_flight = change->max_in_flight;
		if (change->max_memory_bytes)
			cfg.max_memory_bytes = change->max_memory_bytes;
		if (change->max_body_bytes)
			cfg.max_body_bytes = change->max_body_bytes;
	}
	assert_int_equal(scraper_new(&f->scraper, &cfg, NULL), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(scraper_register(f->scraper, f->metrics), 0);
	start_server(f);
}

static void setup(struct fixture *f)
{
	setup_with(f, NULL);
}

static void teardown(struct fixture *f)
{
	scraper_stop(f->scraper);
	release(f);
	http_server_free(f->server);
	scraper_free(f->scraper);
	metrics_free(f->metrics);
	loop_free(f->loop);
	pthread_mutex_destroy(&f->lock);
	if (f->token_file[0])
		unlink(f->token_file);
}

static struct scrape_endpoint endpoint(const struct fixture *f, enum profile_kind kind,
				       const char *path)
{
	return (struct scrape_endpoint){kind, false, (uint16_t)http_server_port(f->server), path};
}

/* A pod with the one endpoint. */
static void upsert(struct fixture *f, const char *uid, struct scrape_endpoint e)
{
	const struct scrape_target t = {
		.uid = uid,
		.namespace = "shop",
		.pod = uid,
		.node = "node-1",
		.service = "/k8s/shop/cart",
		.ip = "127.0.0.1",
		.containers = "1",
		.problem = "",
		.endpoints = &e,
		.n_endpoints = 1,
	};

	assert_int_equal(scraper_upsert(f->scraper, &t), 0);
}

static uint64_t metric(const struct fixture *f, const char *series)
{
	CLEANUP(buf_fini) struct buf out;
	const char *line;
	char start[160];

	buf_init(&out, MIB);
	assert_int_equal(metrics_write(f->metrics, &out), 0);
	snprintf(start, sizeof(start), "\ncoroot_cluster_agent_%s ", series);
	line = strstr(out.data, start);
	assert_non_null(line);
	return strtoull(line + strlen(start), NULL, 10);
}

static uint64_t outcomes(const struct fixture *f, const char *outcome)
{
	char series[128];

	snprintf(series, sizeof(series), "scrapes_total{outcome=\"%s\"}", outcome);
	return metric(f, series);
}

/* ---- what is scraped ---------------------------------------------------------------------- */

static bool three_puts(struct fixture *f)
{
	return f->n_puts >= 3;
}

static void a_lock_profile_is_taken_every_interval_as_differences(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	run_until(&f, three_puts);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(f.puts[i].service, "/k8s/shop/cart");
		assert_string_equal(f.puts[i].pod, "pod-1");
		assert_string_equal(f.puts[i].port, "");
		assert_string_equal(f.puts[i].types,
				    "go:mutex_contentions:count go:mutex_delay:nanoseconds");
		assert_int_equal(f.puts[i].n_samples, 1);
		assert_int_equal(f.puts[i].first, 10);
		assert_int_equal(f.puts[i].last, 1000);
	}
	/* its slots are an interval apart */
	assert_in_range(f.puts[2].duration_ns, NS_PER_S / 2, 3 * NS_PER_S);
	assert_int_equal(outcomes(&f, "ok"), 4);
	assert_int_equal(metric(&f, "scrape_targets{state=\"up\"}"), 1);
	assert_int_equal(metric(&f, "scrape_baseline_bytes"), 48);
	assert_int_equal(metric(&f, "scrape_memory_bytes"), 0);
	assert_int_equal(metric(&f, "scraped_profiles_total{kind=\"mutex\"}"), 3);
	assert_string_equal(f.authorization, "-");
	assert_true(strncmp(f.agent, "coroot-cluster-agent/", 21) == 0);
	assert_string_equal(f.query, "-");
}

static bool two_puts(struct fixture *f)
{
	return f->n_puts >= 2;
}

static void a_restart_gives_what_the_new_process_did(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	run_until(&f, two_puts);
	pthread_mutex_lock(&f.lock);
	f.restarts = true;
	pthread_mutex_unlock(&f.lock);
	run_until(&f, three_puts);
	assert_int_equal(f.puts[2].first, 3);
	assert_int_equal(f.puts[2].last, 210);
	assert_int_equal(metric(&f, "scrape_restarts_total"), 1);
}

static void a_cpu_profile_is_asked_for_in_seconds(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile"));
	run_until(&f, two_puts);
	assert_string_equal(f.query, "1");
	assert_string_equal(f.puts[0].types, "go:profile_cpu:nanoseconds");
	assert_int_equal(f.puts[0].first, 30000000);
	assert_int_equal(f.puts[0].duration_ns, NS_PER_S);
}

static bool scraped_thrice(struct fixture *f)
{
	return outcomes(f, "ok") >= 3;
}

static void an_empty_profile_is_a_success_with_nothing_to_upload(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_GOROUTINE, "/debug/pprof/goroutine"));
	run_until(&f, scraped_thrice);
	assert_int_equal(f.n_puts, 0);
}

static void pods_with_several_ports_have_them_in_their_labels(void **state)
{
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint endpoints[2];
	struct scrape_target t = {"uid",       "shop", "pod", "node-1",  "svc",
				  "127.0.0.1", "",     "",    endpoints, 2};
	char port[8];

	(void)state;
	setup(&f);
	endpoints[0] = endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile");
	endpoints[1] = (struct scrape_endpoint){PROFILE_KIND_CPU, false, 1, "/debug/pprof/profile"};
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	run_until(&f, two_puts);
	snprintf(port, sizeof(port), "%u", endpoints[0].port);
	assert_string_equal(f.puts[0].port, port);
	/* nothing listens on port 1 */
	assert_true(outcomes(&f, "connect") >= 1);
	assert_int_equal(metric(&f, "scrape_targets{state=\"up\"}"), 1);
}

/* ---- /targets ------------------------------------------------------------------------------- */

struct page {
	struct fixture *f;
	json_t *json;
	int status;
	bool done;
};

static struct page *page; /* the one being fetched */

static void on_page(void *ctx, const struct http_result *res)
{
	struct page *p = ctx;

	p->status = res->status;
	p->json = json_loadb(res->body ? res->body : "", res->body_len, 0, NULL);
	p->done = true;
}

static bool page_is_there(struct fixture *f)
{
	(void)f;
	return page->done;
}

static json_t *fetch_targets(struct fixture *f)
{
	CLEANUP(http_client_freep) struct http_client *client = NULL;
	struct page p = {.f = f};
	char url[64];
	struct http_request req = {.method = "GET",
				   .url = url,
				   .timeout_ns = 10 * NS_PER_S,
				   .max_response_bytes = MIB};

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/targets", http_server_port(f->server));
	page = &p;
	assert_int_equal(http_client_new(&client, f->loop, &(struct http_client_config){0}), 0);
	assert_int_equal(http_send(client, &req, on_page, &p), 0);
	run_until(f, page_is_there);
	assert_int_equal(p.status, 200);
	assert_non_null(p.json);
	return p.json;
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	assert_non_null(value);
	return value;
}

/* Of the only endpoint of the only target; valid until the next call. */
static const char *last_error(struct fixture *f)
{
	static char error[300];
	json_t *json = fetch_targets(f);
	const json_t *target = json_array_get(json_object_get(json, "targets"), 0);
	const json_t *e = json_array_get(json_object_get(target, "endpoints"), 0);

	snprintf(error, sizeof(error), "%s", text(e, "lastError"));
	assert_string_equal(text(e, "state"), error[0] ? "down" : "up");
	json_decref(json);
	return error;
}

static bool one_put(struct fixture *f)
{
	return f->n_puts >= 1;
}

static void the_page_shows_what_is_scraped_and_when(void **state)
{
	CLEANUP(teardown) struct fixture f;
	const json_t *target, *e;
	json_t *json;
	char url[64];

	(void)state;
	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	scraper_set_discovery(f.scraper, true, "slow");
	assert_int_equal(scraper_set_forwarding(f.scraper, "https://a:b@coroot:8080/x@y"), 0);
	run_until(&f, one_put);
	json = fetch_targets(&f);
	target = json_array_get(json_object_get(json, "targets"), 0);
	e = json_array_get(json_object_get(target, "endpoints"), 0);
	assert_string_equal(text(json, "forwarding"), "https://coroot:8080/x@y");
	assert_true(json_is_true(json_object_get(json_object_get(json, "discovery"), "synced")));
	assert_string_equal(text(json_object_get(json, "discovery"), "problem"), "slow");
	assert_string_equal(text(target, "state"), "up");
	assert_string_equal(text(target, "pod"), "pod-1");
	assert_string_equal(text(e, "type"), "mutex");
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/debug/pprof/mutex",
		 http_server_port(f.server));
	assert_string_equal(text(e, "url"), url);
	assert_string_equal(text(e, "lastError"), "");
	assert_true(json_integer_value(json_object_get(e, "lastBytes")) > 0);
	assert_true(json_integer_value(json_object_get(e, "lastScrape")) > 1600000000000);
	assert_true(json_number_value(json_object_get(e, "lastDurationMs")) > 0);
	json_decref(json);
}

/* ---- what goes wrong --------------------------------------------------------------------------- */

static bool failed(struct fixture *f)
{
	static const char *const all[] = {"timeout", "connect", "http_status", "too_large",
					  "memory",  "invalid", "credentials", "failed"};
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		n += outcomes(f, all[i]);
	return n > 0;
}

static void assert_failure(const char *path, const char *answer, unsigned status,
			   const char *outcome, const char *error)
{
	static const struct scraper_config quick = {.interval_ns = 60 * NS_PER_S,
						    .timeout_ns = 200 * NS_PER_MS};
	CLEANUP(teardown) struct fixture f;

	setup_with(&f, &quick);
	f.answer = answer;
	f.answer_status = status;
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, path));
	run_until(&f, failed);
	assert_int_equal(outcomes(&f, outcome), 1);
	assert_true(strncmp(last_error(&f), error, strlen(error)) == 0);
	assert_int_equal(metric(&f, "scrape_targets{state=\"down\"}"), 1);
	assert_int_equal(f.n_puts, 0);
}

static void every_failure_has_its_outcome_and_sentence(void **state)
{
	(void)state;
	assert_failure("/text", "Could not enable CPU profiling: cpu profiling already in use", 500,
		       "http_status",
		       "HTTP 500: Could not enable CPU profiling: cpu profiling already in use");
	assert_failure("/nowhere", "", 0, "http_status", "HTTP 404: ");
	assert_failure("/text", "moved", 302, "http_status", "HTTP 302: moved");
	assert_failure("/text", "<!DOCTYPE html><html>", 200, "invalid",
		       "not a pprof profile: <!DOCTYPE html><html>");
	assert_failure("/text", "heap profile: 1: 2 [3: 4] @ heap/1", 200, "invalid",
		       "a profile as text");
	assert_failure("/large", "", 0, "too_large", "the answer is larger than 1048576 bytes");
	assert_failure("/never", "", 0, "timeout", "");
}

static void answers_under_way_have_a_limit_together(void **state)
{
	static const struct scraper_config little = {
		.interval_ns = 60 * NS_PER_S, .max_memory_bytes = MIB, .max_body_bytes = 16 * MIB};
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup_with(&f, &little);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_HEAP, "/large"));
	run_until(&f, failed);
	assert_int_equal(outcomes(&f, "memory"), 1);
	assert_string_equal(last_error(&f), "the answers under way take more than 1048576 bytes");
}

static bool asked_four_times(struct fixture *f)
{
	return outcomes(f, "http_status") >= 3;
}

static void what_is_not_found_is_asked_for_less_often(void **state)
{
	CLEANUP(teardown) struct fixture f;
	json_t *json;
	const json_t *e;
	json_int_t wait;

	(void)state;
	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_BLOCK, "/nowhere"));
	run_until(&f, asked_four_times);
	json = fetch_targets(&f);
	e = json_array_get(
		json_object_get(json_array_get(json_object_get(json, "targets"), 0), "endpoints"),
		0);
	wait = json_integer_value(json_object_get(e, "nextScrape")) -
	       json_integer_value(json_object_get(json, "now"));
	assert_in_range(wait, 7000, 10000);
	assert_int_equal(metric(&f, "scrapes_missed_total"), 0);
	json_decref(json);
}

/* ---- pods that come and go ------------------------------------------------------------------------ */

static bool is_asked(struct fixture *f)
{
	bool asked;

	pthread_mutex_lock(&f->lock);
	asked = f->n_requests > 0;
	pthread_mutex_unlock(&f->lock);
	return asked;
}

static uint64_t in_flight(const struct fixture *f)
{
	return metric(f, "scrapes_in_flight");
}

static void a_removed_pod_is_left_at_once(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_HEAP, "/never"));
	run_until(&f, is_asked);
	assert_int_equal(in_flight(&f), 1);
	scraper_remove(f.scraper, "pod-1");
	assert_int_equal(in_flight(&f), 0);
	assert_int_equal(outcomes(&f, "cancelled"), 1);
	assert_int_equal(metric(&f, "scrape_targets{state=\"pending\"}"), 0);
	scraper_remove(f.scraper, "pod-1");
}

static void a_pod_at_another_address_starts_anew(void **state)
{
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint e;
	struct scrape_target t = {"pod-1",     "shop", "pod-1", "node-1", "/k8s/shop/cart",
				  "127.0.0.2", "1",    "",      &e,       1};

	(void)state;
	setup(&f);
	e = endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex");
	upsert(&f, "pod-1", e);
	run_until(&f, one_put);
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	assert_int_equal(metric(&f, "scrape_baseline_bytes"), 0);
	run_until(&f, two_puts);
	/* one profile was for its new beginning */
	assert_int_equal(f.contentions, 40);
	assert_true(strncmp(f.host, "127.0.0.2:", 10) == 0);
}

static void other_labels_keep_the_state_of_a_pod(void **state)
{
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint both[2];
	struct scrape_target t = {"pod-1",     "shop", "pod-1", "node-1", "/k8s/shop/other",
				  "127.0.0.1", "2",    "",      both,     2};

	(void)state;
	setup(&f);
	both[0] = endpoint(&f, PROFILE_KIND_GOROUTINE, "/debug/pprof/goroutine");
	both[1] = endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex");
	upsert(&f, "pod-1", both[1]);
	run_until(&f, one_put);
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	run_until(&f, two_puts);
	assert_string_equal(f.puts[1].service, "/k8s/shop/other");
	assert_int_equal(f.puts[1].first, 10);
	assert_int_equal(f.contentions, 30);
	/* the endpoint that is not wanted any more goes, the other one stays */
	t.endpoints = &both[1];
	t.n_endpoints = 1;
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	run_until(&f, three_puts);
	assert_int_equal(f.puts[2].first, 10);
}

static void what_another_replica_owns_is_not_scraped(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	f.owns = false;
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	assert_int_equal(metric(&f, "scrape_targets{state=\"elsewhere\"}"), 1);
	f.owns = true;
	scraper_ownership_changed(f.scraper);
	run_until(&f, one_put);
	f.owns = false;
	scraper_ownership_changed(f.scraper);
	assert_int_equal(metric(&f, "scrape_targets{state=\"elsewhere\"}"), 1);
	assert_int_equal(metric(&f, "scrape_baseline_bytes"), 0);
	f.owns = true;
	scraper_ownership_changed(f.scraper);
	run_until(&f, two_puts);
	/* its first profile gave nothing */
	assert_int_equal(f.puts[1].first, 10);
	assert_int_equal(f.contentions, 40);
}

static void what_cannot_be_asked_is_invalid(void **state)
{
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint e;
	struct scrape_target t = {"pod-1",       "shop", "pod-1", "node-1", "svc",
				  "example.com", "",     "",      &e,       1};
	json_t *json;

	(void)state;
	setup(&f);
	e = endpoint(&f, PROFILE_KIND_HEAP, "@example.com/");
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	t.uid = "pod-2";
	t.ip = "127.0.0.1";
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	t.uid = "pod-3";
	t.problem = "no port given";
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	assert_int_equal(metric(&f, "scrape_targets{state=\"invalid\"}"), 3);
	json = fetch_targets(&f);
	assert_string_equal(text(json_array_get(json_object_get(json, "targets"), 2), "problem"),
			    "no port given");
	json_decref(json);
}

static bool eight_are_done(struct fixture *f)
{
	assert_in_range(in_flight(f), 0, 2);
	return outcomes(f, "ok") >= 40;
}

static void no_more_than_max_in_flight_run_at_once(void **state)
{
	static const struct scraper_config two = {.max_in_flight = 2};
	CLEANUP(teardown) struct fixture f;
	char uid[16];

	(void)state;
	setup_with(&f, &two);
	for (int i = 0; i < 20; i++) {
		snprintf(uid, sizeof(uid), "pod-%d", i);
		upsert(&f, uid, endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	}
	run_until(&f, eight_are_done);
}

/* Everything at any moment: nobody's memory is used after it was freed. */
static bool after_a_while(struct fixture *f)
{
	static unsigned n;
	char uid[16];

	n = f->n_puts == 0 ? n : n + 1;
	for (unsigned i = 0; i < 8; i++) {
		snprintf(uid, sizeof(uid), "pod-%u", i);
		if ((n + i) % 5 == 0)
			scraper_remove(f->scraper, uid);
		else if ((n + i) % 3 == 0)
			upsert(f, uid,
			       endpoint(f, PROFILE_KIND_MUTEX,
					n % 2 ? "/debug/pprof/mutex" : "/never"));
	}
	f->owns = n % 7 != 0;
	scraper_ownership_changed(f->scraper);
	if (n % 11 == 0)
		release(f);
	return n >= 150;
}

static void pods_may_go_at_any_moment(void **state)
{
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup(&f);
	upsert(&f, "steady", endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile"));
	run_until(&f, one_put);
	run_until(&f, after_a_while);
	assert_true(outcomes(&f, "cancelled") > 0);
}

/* ---- credentials ------------------------------------------------------------------------------------ */

static void a_token_is_sent_over_http_only_when_told_to(void **state)
{
	struct scraper_config cfg = {.interval_ns = NS_PER_S};
	char file[] = "/tmp/scraper-token-XXXXXX";
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0 && write(fd, "s3cret\n", 7) == 7);
	close(fd);
	cfg.auth.token_file = file;
	for (int over_http = 0; over_http < 2; over_http++) {
		CLEANUP(teardown) struct fixture f;

		cfg.auth.over_http = over_http;
		setup_with(&f, &cfg);
		upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile"));
		run_until(&f, one_put);
		assert_string_equal(f.authorization, over_http ? "Bearer s3cret" : "-");
	}
	unlink(file);
}

static void without_its_token_file_nothing_is_asked(void **state)
{
	static const struct scraper_config cfg = {
		.interval_ns = 60 * NS_PER_S,
		.auth = {.token_file = "/nonexistent/token", .over_http = true}};
	CLEANUP(teardown) struct fixture f;

	(void)state;
	setup_with(&f, &cfg);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile"));
	run_until(&f, failed);
	assert_int_equal(outcomes(&f, "credentials"), 1);
	assert_string_equal(last_error(&f),
			    "cannot read /nonexistent/token: No such file or directory");
	assert_int_equal(f.n_requests, 0);
}

/* ---- construction --------------------------------------------------------------------------------- */

static void settings_that_cannot_work_are_refused(void **state)
{
	struct scraper_config cfg = {.interval_ns = 10 * NS_PER_S,
				     .timeout_ns = NS_PER_S,
				     .cpu_duration_ns = 11 * NS_PER_S,
				     .max_in_flight = 1};
	struct scraper *s = NULL;
	struct err err = {""};

	(void)state;
	assert_int_equal(scraper_new(&s, &cfg, &err), -EINVAL);
	assert_string_equal(err.msg, "a CPU profile must not take longer than the interval");
	cfg.cpu_duration_ns = NS_PER_S + 1;
	assert_int_equal(scraper_new(&s, &cfg, &err), -EINVAL);
	assert_string_equal(err.msg, "a CPU profile must take whole seconds");
	cfg.cpu_duration_ns = NS_PER_S;
	cfg.max_in_flight = 0;
	assert_int_equal(scraper_new(&s, &cfg, &err), -EINVAL);
}

static int make_and_fill(void *ctx)
{
	struct fixture *f = ctx;
	struct scraper_config cfg = default_config(f);
	CLEANUP(scraper_freep) struct scraper *s = NULL;
	struct scrape_endpoint e[] = {{PROFILE_KIND_HEAP, false, 80, "/a"},
				      {PROFILE_KIND_CPU, true, 81, "/b"}};
	struct scrape_target t = {"pod-1", "shop", "pod-1", "node-1", "svc", "::1", "", "", e, 2};
	int r = scraper_new(&s, &cfg, NULL);

	for (int i = 0; i < 3 && r == 0; i++) {
		r = scraper_upsert(s, &t);
		t.containers = "2";
	}
	return r == 0 ? scraper_set_forwarding(s, "http://x") : r;
}

static void no_memory_is_an_error(void **state)
{
	struct fixture f = {.owns = true};

	(void)state;
	assert_int_equal(loop_new(&f.loop), 0);
	check_oom(make_and_fill, &f);
	loop_free(f.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_profile_is_taken_every_interval_as_differences),
		cmocka_unit_test(a_restart_gives_what_the_new_process_did),
		cmocka_unit_test(a_cpu_profile_is_asked_for_in_seconds),
		cmocka_unit_test(an_empty_profile_is_a_success_with_nothing_to_upload),
		cmocka_unit_test(pods_with_several_ports_have_them_in_their_labels),
		cmocka_unit_test(the_page_shows_what_is_scraped_and_when),
		cmocka_unit_test(every_failure_has_its_outcome_and_sentence),
		cmocka_unit_test(answers_under_way_have_a_limit_together),
		cmocka_unit_test(what_is_not_found_is_asked_for_less_often),
		cmocka_unit_test(a_removed_pod_is_left_at_once),
		cmocka_unit_test(a_pod_at_another_address_starts_anew),
		cmocka_unit_test(other_labels_keep_the_state_of_a_pod),
		cmocka_unit_test(what_another_replica_owns_is_not_scraped),
		cmocka_unit_test(what_cannot_be_asked_is_invalid),
		cmocka_unit_test(no_more_than_max_in_flight_run_at_once),
		cmocka_unit_test(pods_may_go_at_any_moment),
		cmocka_unit_test(a_token_is_sent_over_http_only_when_told_to),
		cmocka_unit_test(without_its_token_file_nothing_is_asked),
		cmocka_unit_test(settings_that_cannot_work_are_refused),
		cmocka_unit_test(no_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
