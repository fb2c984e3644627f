#include <curl/curl.h>

#include "cluster-agent/receive/ignored_uploads.h"
#include "common/http/http_server.h"
#include "common/limits.h"
#include "test/lib/unit.h"

#define MAX_BODY_BYTES ((size_t)1 << 20)

struct fixture {
	struct ignored_uploads ignored;
	struct metrics *metrics;
	struct access *access;
	struct http_server *server;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f || metrics_new(&f->metrics) < 0)
		return -1;
	assert_int_equal(
		access_new(&f->access, &(struct access_config){.write_key = "secret"}, NULL), 0);
	assert_int_equal(ignored_uploads_register(&f->ignored, f->metrics), 0);

	const struct http_route routes[] = {
		{"POST", "/v1/metrics", MAX_BODY_BYTES, ignored_uploads_serve_metrics, &f->ignored,
		 ACCESS_WRITE, true},
		{"POST", "/v1/logs", MAX_BODY_BYTES, ignored_uploads_serve_logs, &f->ignored,
		 ACCESS_WRITE, true},
		{"POST", "/v1/traces", MAX_BODY_BYTES, ignored_uploads_serve_traces, &f->ignored,
		 ACCESS_WRITE, true},
		{},
	};
	const struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.n_threads = 1,
		.max_connections = 10,
		.timeout_s = 60,
		.max_body_memory_bytes = 100, /* nothing of a body is kept */
		.routes = routes,
		.access = f->access,
		.metrics = f->metrics,
	};

	assert_int_equal(http_server_new(&f->server, &cfg, NULL), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_server_free(f->server);
	access_free(f->access);
	metrics_free(f->metrics);
	free(f);
	return 0;
}

static long post(const struct fixture *f, const char *path, const char *key, size_t len)
{
	AUTO_FREE char *body = calloc(1, len);
	struct curl_slist *headers = curl_slist_append(NULL, key);
	CURL *curl = curl_easy_init();
	char url[100];
	long status = 0;

	assert_true(body && headers && curl);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", http_server_port(f->server), path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)len);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	assert_int_equal(curl_easy_perform(curl), CURLE_OK);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	return status;
}

static uint64_t n_ignored(struct fixture *f, enum ignored_kind kind)
{
	return metric_get(&f->ignored.metrics[kind]);
}

TEST_FIXTURE(each_kind_is_answered_and_counted, set_up, tear_down)
{
	static const char *const paths[] = {"/v1/metrics", "/v1/logs", "/v1/traces"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_int_equal(post(f, paths[i], "X-Api-Key: secret", 10), 204);
		assert_int_equal(post(f, paths[i], "X-Api-Key: secret", MAX_BODY_BYTES), 204);
		assert_int_equal(n_ignored(f, (enum ignored_kind)i), 2);
	}
}

TEST_FIXTURE(a_wrong_key_is_refused_and_not_counted, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(post(f, "/v1/logs", "X-Api-Key: wrong", 10), 401);
	assert_int_equal(post(f, "/v1/metrics", "X-Other: secret", 10), 401);
	assert_int_equal(n_ignored(f, IGNORED_LOGS), 0);
	assert_int_equal(n_ignored(f, IGNORED_METRICS), 0);
}

TEST_FIXTURE(a_body_above_the_limit_is_refused, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_int_equal(post(f, "/v1/traces", "X-Api-Key: secret", MAX_BODY_BYTES + 1), 413);
	assert_int_equal(n_ignored(f, IGNORED_TRACES), 0);
}
