/*
 * Shared by the tests of the scraper: a server that plays the pods (each has an address
 * 127.0.0.x), and the scraper's owner, which records what it receives.
 */
#ifndef TEST_LIB_SCRAPED_PODS_H
#define TEST_LIB_SCRAPED_PODS_H

#include <jansson.h>
#include <pthread.h>

#include "cluster-agent/scrape/scraper.h"
#include "common/http/http.h"
#include "common/http/http_server.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define LOCK "contentions/count delay/nanoseconds"
#define MAX_PUTS 256
#define PATIENCE_NS (300 * NS_PER_S)

struct put {
	char service[64], pod[64], port[8], container[64], container_id[64];
	bool has_extra_labels;
	char more[128]; /* labels after those that every pod has: "name=value " */
	char types[128];
	uint32_t n_samples;
	int64_t first, last; /* sums of the first and the last type */
	int64_t end_ns, duration_ns;
	int64_t contentions; /* of the server then, as an endpoint has one request at most */
	uint64_t number;
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
	size_t n_before; /* what one_more_put() waits for more than */

	/* the server's state; used by its threads */
	pthread_mutex_t lock;
	int64_t contentions; /* grows with each scrape of the mutex profile */
	bool restarts;       /* the next scrape finds a restarted process */
	bool stands_still;   /* they do not grow */
	const char *answer;  /* of /text */
	unsigned answer_status;
	unsigned n_requests;
	char authorization[128], agent[128], query[32], host[64];
	struct http_exchange *kept;
};

/* ---- the pods ---- */

static inline void respond_profile(struct http_exchange *x, const char *types,
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

static inline void note(char *ret, size_t size, const char *value)
{
	snprintf(ret, size, "%s", value ? value : "-");
}

static inline void note_request(struct fixture *f, const struct http_exchange *x)
{
	f->n_requests++;
	note(f->authorization, sizeof(f->authorization), http_exchange_header(x, "Authorization"));
	note(f->agent, sizeof(f->agent), http_exchange_header(x, "User-Agent"));
	note(f->host, sizeof(f->host), http_exchange_header(x, "Host"));
	note(f->query, sizeof(f->query), http_exchange_param(x, "seconds"));
}

static inline void serve_mutex(void *ctx, struct http_exchange *x)
{
	struct made_sample samples[] = {{{1, 2}, 2, {0}}, {{3}, 1, {1, 10}}, {{1, 2}, 2, {0}}};
	struct fixture *f = ctx;

	pthread_mutex_lock(&f->lock);
	note_request(f, x);
	if (!f->stands_still)
		f->contentions = f->restarts ? 2 : f->contentions + 10;
	f->restarts = false;
	/* spread over two samples of the same stack */
	samples[0].values[0] = f->contentions - 1;
	samples[2].values[0] = 1;
	samples[2].values[1] = f->contentions * 100;
	pthread_mutex_unlock(&f->lock);
	respond_profile(x, LOCK, samples, ARRAY_SIZE(samples));
}

static inline void serve_cpu(void *ctx, struct http_exchange *x)
{
	static const struct made_sample samples[] = {{{1, 2}, 2, {3, 30000000}}};
	struct fixture *f = ctx;

	pthread_mutex_lock(&f->lock);
	note_request(f, x);
	pthread_mutex_unlock(&f->lock);
	respond_profile(x, "samples/count cpu/nanoseconds", samples, 1);
}

static inline void serve_empty(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	respond_profile(x, "goroutine/count", NULL, 0);
}

static inline void serve_text(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	pthread_mutex_lock(&f->lock);
	note_request(f, x);
	http_respond_text(x, f->answer_status, "%s", f->answer);
	pthread_mutex_unlock(&f->lock);
}

static inline void serve_large(void *ctx, struct http_exchange *x)
{
	char *body = calloc(1, 8 * MIB);

	(void)ctx;
	assert_non_null(body);
	http_respond(x, 200, "application/octet-stream", body, 8 * MIB);
}

/* Answered by teardown() or release(). */
static inline void serve_never(void *ctx, struct http_exchange *x)
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

static inline void release(struct fixture *f)
{
	struct http_exchange *x;

	pthread_mutex_lock(&f->lock);
	x = f->kept;
	f->kept = NULL;
	pthread_mutex_unlock(&f->lock);
	if (x)
		http_respond_text(x, 500, "too late");
}

/* ---- the scraper's owner ---- */

static inline bool owns(void *ctx, const char *uid)
{
	const struct fixture *f = ctx;

	(void)uid;
	return f->owns;
}

static inline const char *label(const struct upload_label *labels, const char *name)
{
	for (; labels->name; labels++)
		if (strcmp(labels->name, name) == 0)
			return labels->value;
	return "?";
}

static inline void list_more(struct put *put, const struct upload_label *labels)
{
	bool is_more = false;
	size_t used = 0;

	for (; labels->name; labels++) {
		if (is_more)
			used += (size_t)snprintf(put->more + used, sizeof(put->more) - used,
						 "%s=%s ", labels->name, labels->value);
		is_more = is_more || strcmp(labels->name, "container.id") == 0;
	}
}

/* A namespace and a node with labels. */
static inline size_t labels_of_place(void *ctx, const char *namespace, const char *node,
				     struct place_label ret[static PLACE_LABELS_MAX])
{
	(void)ctx;
	assert_string_equal(namespace, "shop");
	assert_string_equal(node, "node-1");
	ret[0] = (struct place_label){"team", "of the namespace"};
	ret[1] = (struct place_label){"zone", "z"};
	return 2;
}

static inline void put(void *ctx, uint64_t number, const struct upload_label *labels,
		       struct buf *body)
{
	CLEANUP(arena_fini) struct arena arena;
	struct fixture *f = ctx;
	struct put *put = &f->puts[f->n_puts++];
	struct profile p;

	assert_true(f->n_puts < MAX_PUTS);
	arena_init(&arena, 16 * MIB);
	assert_int_equal(pprof_decode(&p, &arena, body->data, body->len, NULL), 0);
	buf_fini(body);
	put->number = number;
	snprintf(put->service, sizeof(put->service), "%s", label(labels, "service.name"));
	snprintf(put->pod, sizeof(put->pod), "%s", label(labels, "pod"));
	snprintf(put->port, sizeof(put->port), "%s", label(labels, "port"));
	put->has_extra_labels = label(labels, "k8s.pod.name") != NULL;
	snprintf(put->container, sizeof(put->container), "%s",
		 label(labels, "k8s.container.name") ?: "");
	snprintf(put->container_id, sizeof(put->container_id), "%s",
		 label(labels, "container.id") ?: "");
	list_more(put, labels);
	assert_string_equal(label(labels, "namespace"), "shop");
	assert_string_equal(label(labels, "node"), "node-1");
	for (uint32_t i = 0; i < p.n_types; i++)
		snprintf(put->types + strlen(put->types), sizeof(put->types) - strlen(put->types),
			 "%s%s", i ? " " : "", p.types[i].type.data);
	put->n_samples = p.n_samples;
	put->first = made_profile_sum(&p, 0);
	put->last = made_profile_sum(&p, p.n_types - 1);
	put->end_ns = p.time_ns;
	put->duration_ns = p.duration_ns;
	pthread_mutex_lock(&f->lock);
	put->contentions = f->contentions;
	pthread_mutex_unlock(&f->lock);
}

static inline void poll_state(void *ctx)
{
	struct fixture *f = ctx;

	f->timed_out = clock_monotonic_ns() > f->deadline_ns;
	if (f->timed_out || f->until(f))
		loop_stop(f->loop);
	else
		loop_set_timer(f->timer, 5 * NS_PER_MS);
}

static inline void run_until(struct fixture *f, bool (*until)(struct fixture *f))
{
	f->until = until;
	f->deadline_ns = clock_monotonic_ns() + PATIENCE_NS;
	loop_set_timer(f->timer, 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_false(f->timed_out);
}

static inline void start_server(struct fixture *f)
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

static inline struct scraper_config default_config(struct fixture *f)
{
	return (struct scraper_config){
		.loop = f->loop,
		.interval_ns = NS_PER_S,
		.timeout_ns = 30 * NS_PER_S,
		.cpu_duration_ns = NS_PER_S,
		.max_in_flight = 10,
		.max_body_bytes = MIB,
		.max_memory_bytes = 8 * MIB,
		.ctx = f,
		.owns = owns,
		.put = put,
		.place_labels = labels_of_place,
	};
}

static inline void setup_with(struct fixture *f, const struct scraper_config *change)
{
	struct scraper_config cfg;

	*f = (struct fixture){.owns = true, .answer_status = 200, .answer = ""};
	pthread_mutex_init(&f->lock, NULL);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(loop_add_timer(f->loop, poll_state, f, &f->timer), 0);
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

static inline void setup(struct fixture *f)
{
	setup_with(f, NULL);
}

static inline void teardown(struct fixture *f)
{
	scraper_stop(f->scraper);
	release(f);
	http_server_free(f->server);
	scraper_free(f->scraper);
	metrics_free(f->metrics);
	loop_free(f->loop);
	pthread_mutex_destroy(&f->lock);
}

static inline struct scrape_endpoint endpoint(const struct fixture *f, enum profile_kind kind,
					      const char *path)
{
	return (struct scrape_endpoint){kind, false, (uint16_t)http_server_port(f->server),
					path, 0,     false};
}

/* A pod with the one endpoint. */
static inline void upsert(struct fixture *f, const char *uid, struct scrape_endpoint e)
{
	struct scrape_container c = {"main", "/k8s-cronjob/shop/cart/main", "1"};
	const struct scrape_target t = {
		.uid = uid,
		.namespace = "shop",
		.pod = uid,
		.node = "node-1",
		.service = "/k8s/shop/cart",
		.ip = "127.0.0.1",
		.containers = &c,
		.n_containers = 1,
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

static inline bool one_put(struct fixture *f)
{
	return f->n_puts >= 1;
}

static inline bool one_more_put(struct fixture *f)
{
	return f->n_puts > f->n_before;
}

static inline bool two_puts(struct fixture *f)
{
	return f->n_puts >= 2;
}

/* ---- /targets ---- */

struct page {
	struct fixture *f;
	json_t *json;
	int status;
	bool done;
};

static struct page *page; /* the one being fetched */

static inline void on_page(void *ctx, const struct http_result *res)
{
	struct page *p = ctx;

	p->status = res->status;
	p->json = json_loadb(res->body ? res->body : "", res->body_len, 0, NULL);
	p->done = true;
}

static inline bool page_is_there(struct fixture *f)
{
	(void)f;
	return page->done;
}

static inline json_t *fetch_targets(struct fixture *f)
{
	CLEANUP(http_client_freep) struct http_client *client = NULL;
	struct page p = {.f = f};
	char url[64];
	struct http_request req = {
		.method = "GET", .url = url, .timeout_ns = PATIENCE_NS, .max_response_bytes = MIB};

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/targets", http_server_port(f->server));
	page = &p;
	assert_int_equal(http_client_new(&client, f->loop, &(struct http_client_config){0}), 0);
	assert_int_equal(http_send(client, &req, on_page, &p), 0);
	run_until(f, page_is_there);
	assert_int_equal(p.status, 200);
	assert_non_null(p.json);
	return p.json;
}

static inline const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	assert_non_null(value);
	return value;
}

/* Of the only endpoint of the only target; valid until the next call. */
static inline const char *last_error(struct fixture *f)
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

#endif /* TEST_LIB_SCRAPED_PODS_H */
