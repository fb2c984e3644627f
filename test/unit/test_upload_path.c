/*
 * HTTP server, receive, ingest, the write-ahead log, its drain and the API together, on several
 * threads at once, over a store with an engine of the test. chDB cannot run under a sanitizer; all
 * stages around it do so here.
 */
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cluster-agent/ingest/ingest.h"
#include "cluster-agent/receive/profile_handler.h"
#include "cluster-agent/store/store_engine.h"
#include "cluster-agent/wal/log_drain.h"
#include "cluster-agent/wal/upload_log.h"
#include "cluster-agent/web/web_api.h"
#include "common/http/http_server.h"
#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "common/telemetry/metrics.h"
#include "test/lib/unit.h"

#define N_THREADS 6
#define N_PER_THREAD 40
#define TEXT(s) ((struct profile_string){(s), sizeof(s) - 1})

static struct {
	atomic_ulong n_rows[STORE_TABLE_MAX];
	atomic_uint n_queries;
} stored;

static int insert(struct store *s, enum store_table table, const char *token,
		  const struct store_frame *frames, size_t n_frames, struct err *err)
{
	(void)s;
	(void)token;
	(void)err;
	for (size_t i = 0; i < n_frames; i++)
		atomic_fetch_add(&stored.n_rows[table], frames[i].n_rows);
	return 0;
}

static int query(struct store *s, const struct store_query *q, struct buf *out, struct err *err)
{
	(void)s;
	(void)q;
	(void)out;
	/* the first half of the queries fails */
	if (atomic_fetch_add(&stored.n_queries, 1) < N_PER_THREAD)
		return err_set(err, -EREMOTEIO, "Code: 1. DB::Exception: no");
	return 0;
}

static const struct store_engine engine = {.insert = insert, .query = query};
static struct store store = {&engine};

/* Static where it is used: threads of a test that fails go on with it. */
struct stages {
	struct metrics *metrics;
	const char *dir; /* of the log */
	struct upload_log *log;
	struct log_drain *drain;
	struct ingest *ingest;
	struct upload_counters uploads;
	struct profile_handler *handler;
	struct query_jobs *queries;
	struct http_server *server;
	struct buf body;
	atomic_uint n_stored, n_refused, n_answered;
};

static void serve_api(void *ctx, struct http_exchange *x)
{
	web_api_serve(ctx, x);
}

static void make_profile(struct buf *out, int64_t time_ns)
{
	struct profile_value_type type = {TEXT("ebpf:cpu:nanoseconds"), TEXT("nanoseconds")};
	struct profile_function function = {TEXT("leaf"), TEXT("a.c")};
	struct profile_line line = {.function = 0, .line = 1};
	struct profile_location location = {.lines = &line, .n_lines = 1};
	uint32_t locations[] = {0};
	int64_t value = 10;
	struct profile_sample sample = {locations, 1, &value};
	struct profile p = {
		.types = &type,
		.n_types = 1,
		.functions = &function,
		.n_functions = 1,
		.locations = &location,
		.n_locations = 1,
		.samples = &sample,
		.n_samples = 1,
		.time_ns = time_ns,
		.duration_ns = (int64_t)NS_PER_S,
	};

	assert_int_equal(pprof_encode(&p, out), 0);
}

static void start(struct stages *s)
{
	struct err err = {""};

	*s = (struct stages){0};
	memset(&stored, 0, sizeof(stored));
	buf_init(&s->body, 10000);
	make_profile(&s->body, (int64_t)clock_realtime_ns());
	assert_int_equal(metrics_new(&s->metrics), 0);
	s->dir = temp_dir();
	assert_int_equal(upload_log_open(&s->log, &(struct upload_log_config){.dir = s->dir}, &err),
			 0);
	assert_int_equal(
		log_drain_new(&s->drain, &(struct log_drain_config){.log = s->log,
								    .store = &store,
								    .pace_ns = 5 * NS_PER_MS}),
		0);
	assert_int_equal(
		ingest_new(&s->ingest, &(struct ingest_config){.log = s->log,
							       .profiles_ttl_ns = 86400 * NS_PER_S,
							       .n_threads = 4,
							       .max_queued = 4}),
		0);
	assert_int_equal(profile_handler_new(&s->handler,
					     &(struct profile_handler_config){
						     .ingest = s->ingest, .counters = &s->uploads}),
			 0);
	assert_int_equal(query_jobs_new(&s->queries, &(struct query_jobs_config){.store = &store,
										 .n_threads = 3}),
			 0);
	assert_int_equal(upload_counters_register(&s->uploads, s->metrics), 0);
	assert_int_equal(ingest_register(s->ingest, s->metrics), 0);
	assert_int_equal(upload_log_register(s->log, s->metrics), 0);
	assert_int_equal(log_drain_register(s->drain, s->metrics), 0);
	assert_int_equal(query_jobs_register(s->queries, s->metrics), 0);
	const struct http_route routes[] = {
		{"POST", "/v1/profiles", 10000, profile_handler_serve, s->handler},
		{"GET", "/api/*", 0, serve_api, s->queries},
		{},
	};
	assert_int_equal(
		http_server_new(&s->server,
				&(struct http_server_config){.listen = "127.0.0.1:0",
							     .n_threads = 2,
							     .max_connections = 100,
							     .timeout_s = 600,
							     .max_body_memory_bytes = 1000000,
							     .routes = routes,
							     .metrics = s->metrics},
				&err),
		0);
}

/* In the same order as the agent. */
static void stop(struct stages *s)
{
	http_server_quiesce(s->server);
	ingest_stop(s->ingest, NS_PER_S);
	upload_log_stop(s->log);
	log_drain_stop(s->drain, 600 * NS_PER_S);
	query_jobs_stop(s->queries);
	http_server_free(s->server);
	query_jobs_free(s->queries);
	profile_handler_free(s->handler);
	log_drain_free(s->drain);
	ingest_free(s->ingest);
	upload_log_close(s->log);
	metrics_free(s->metrics);
	assert_int_equal(remove_tree(s->dir), 0);
	buf_fini(&s->body);
}

static size_t ignore(char *data, size_t size, size_t n, void *ctx)
{
	(void)data;
	(void)ctx;
	return size * n;
}

/*
 * Returns the status, or 0 if the connection fails. Without a body it is a GET. header is one more,
 * or NULL.
 */
static long request_with(const struct stages *s, const char *path, const struct buf *body,
			 const char *header)
{
	struct curl_slist *headers = header ? curl_slist_append(NULL, header) : NULL;
	CURL *curl = curl_easy_init();
	char url[256];
	long status = 0;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", http_server_port(s->server), path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 600L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	if (body) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->data);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)body->len);
	}
	if (curl_easy_perform(curl) == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	return status;
}

static long request(const struct stages *s, const char *path, const struct buf *body)
{
	return request_with(s, path, body, NULL);
}

static void *send_uploads(void *ctx)
{
	struct stages *s = ctx;

	for (int i = 0; i < N_PER_THREAD; i++) {
		char path[128];
		long status;

		/* some are the same in all threads */
		snprintf(path, sizeof(path), "/v1/profiles?service.name=s%d&host.name=%p", i,
			 i % 2 ? (void *)&status : NULL);
		status = request(s, path, &s->body);
		atomic_fetch_add(status == 200   ? &s->n_stored
				 : status == 503 ? &s->n_refused
						 : &s->n_answered,
				 1);
	}
	return NULL;
}

static void *ask(void *ctx)
{
	static const char *const paths[] = {"/api/types", "/api/flamegraph?service=a&type=b:c:d",
					    "/api/pprof?service=a&type=b:c:d", "/api/nothing"};
	struct stages *s = ctx;

	for (size_t i = 0; i < N_PER_THREAD; i++)
		if (request(s, paths[i % ARRAY_SIZE(paths)], NULL) != 0)
			atomic_fetch_add(&s->n_answered, 1);
	return NULL;
}

static void run_threads(struct stages *s, bool stop_early)
{
	pthread_t threads[N_THREADS];

	for (size_t i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						i < N_THREADS - 2 ? send_uploads : ask, s),
				 0);
	if (stop_early) {
		eventually(atomic_load(&s->n_stored) >= N_THREADS);
		http_server_quiesce(s->server);
		ingest_stop(s->ingest, 0);
	}
	for (size_t i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

TEST(every_request_is_answered_and_what_was_stored_reached_the_store)
{
	unsigned long n_rows;
	static struct stages s;

	start(&s);
	run_threads(&s, false);
	stop(&s);
	assert_int_equal(atomic_load(&s.n_stored) + atomic_load(&s.n_refused),
			 (N_THREADS - 2) * N_PER_THREAD);
	assert_true(atomic_load(&s.n_stored) > 0);
	assert_int_equal(atomic_load(&s.n_answered), 2 * N_PER_THREAD);
	/* an upload has a row of each; the same upload of several threads is stored once */
	n_rows = atomic_load(&stored.n_rows[STORE_SAMPLES]);
	assert_int_equal(atomic_load(&stored.n_rows[STORE_QUALITY]), n_rows);
	assert_true(n_rows > 0 && n_rows < atomic_load(&s.n_stored));
	assert_true(atomic_load(&stored.n_rows[STORE_STACKS]) > 0);
}

TEST(an_upload_is_recognised_by_its_key_or_else_by_its_content)
{
	static const char *const headers[] = {
		"Idempotency-Key: 00112233445566778899aabbccddeeff",
		"Idempotency-Key: 00112233445566778899aabbccddeeff",
		"Idempotency-Key: 10112233445566778899aabbccddeeff",
		/* too short to be one: the content decides */
		"Idempotency-Key: 1",
		"Idempotency-Key: 2",
		NULL,
	};
	static struct stages s;

	start(&s);
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		assert_int_equal(
			request_with(&s, "/v1/profiles?service.name=a", &s.body, headers[i]), 200);
	stop(&s);
	assert_int_equal(atomic_load(&stored.n_rows[STORE_QUALITY]), 3);
	assert_int_equal(atomic_load(&stored.n_rows[STORE_SAMPLES]), 3);
	/* the stack is known from the first one on */
	assert_int_equal(atomic_load(&stored.n_rows[STORE_STACKS]), 1);
}

static unsigned long metric(const struct stages *s, const char *name)
{
	CLEANUP(buf_fini) struct buf b;
	char line[100];
	const char *at;

	buf_init(&b, 1 << 20);
	assert_int_equal(metrics_write(s->metrics, &b), 0);
	snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(b.data, line);
	assert_non_null(at);
	return strtoul(at + strlen(line), NULL, 10);
}

TEST(a_profile_of_a_wrong_clock_is_counted_when_it_is_durable)
{
	static const char name[] = "coroot_cluster_agent_ingest_profiles_at_arrival_total";
	static const char path[] = "/v1/profiles?service.name=a";
	static const char keys[][60] = {"Idempotency-Key: 00112233445566778899aabbccddeeff",
					"Idempotency-Key: 10112233445566778899aabbccddeeff"};
	static struct stages s;

	start(&s);
	s.body.len = 0;
	make_profile(&s.body, 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(request_with(&s, path, &s.body, keys[0]), 200);
	assert_int_equal(metric(&s, name), 1);
	upload_log_stop(s.log);
	assert_int_equal(request_with(&s, path, &s.body, keys[1]), 503);
	assert_int_equal(metric(&s, name), 1);
	stop(&s);
}

TEST(stopping_amid_uploads_answers_those_that_were_taken)
{
	static struct stages s;

	start(&s);
	run_threads(&s, true);
	stop(&s);
	assert_true(atomic_load(&s.n_stored) >= N_THREADS);
}
