#include "common/agent/agent_status.h"
#include "common/http/http.h"
#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "common/telemetry/metrics.h"
#include "test/lib/unit.h"

static const struct metric_def served_defs[] = {{.name = "served_total", .help = "Things served"}};
METRIC_TABLE(served_table, served_defs);
static struct metric served;

struct fixture {
	struct loop *loop;
	struct metrics *metrics;
	struct agent_status status;
	struct http_server *server;
	struct http_client *client;
	int got_status;
	char got_body[4096];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err = {""};

	assert_non_null(f);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(metrics_register(f->metrics, &served_table, &served, NULL), 0);
	agent_status_init(&f->status, f->metrics);
	const struct http_route routes[] = {
		{"GET", "/metrics", 0, agent_status_metrics, &f->status},
		{"GET", "/healthz", 0, agent_status_healthz, &f->status},
		{},
	};
	const struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.max_connections = 4,
		.timeout_s = 60,
		.max_body_memory_bytes = 1024,
		.routes = routes,
	};

	assert_int_equal(http_server_new(&f->server, &cfg, &err), 0);
	assert_int_equal(http_client_new(&f->client, f->loop, &(struct http_client_config){0}), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_client_free(f->client);
	http_server_free(f->server);
	metrics_free(f->metrics);
	loop_free(f->loop);
	free(f);
	return 0;
}

static void keep(void *ctx, const struct http_result *res)
{
	struct fixture *f = ctx;

	assert_int_equal(res->error, 0);
	f->got_status = res->status;
	snprintf(f->got_body, sizeof(f->got_body), "%.*s", (int)res->body_len, res->body);
	loop_stop(f->loop);
}

static void get(struct fixture *f, const char *path)
{
	AUTO_FREE char *url = NULL;

	assert_true(asprintf(&url, "http://127.0.0.1:%u%s", http_server_port(f->server), path) > 0);
	const struct http_request req = {
		.method = "GET",
		.url = url,
		.timeout_ns = 300 * NS_PER_S,
		.max_response_bytes = sizeof(f->got_body) - 1,
	};
	assert_int_equal(http_send(f->client, &req, keep, f), 0);
	assert_int_equal(loop_run(f->loop), 0);
}

TEST_FIXTURE(a_loop_that_turns_is_healthy, set_up, tear_down)
{
	struct fixture *f = *state;

	agent_status_beat(&f->status);
	get(f, "/healthz");
	assert_int_equal(f->got_status, 200);
}

TEST_FIXTURE(a_loop_that_stands_still_is_not, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t beat_ns = clock_monotonic_ns() - 31 * NS_PER_S, most;
	const char *digit;

	atomic_store(&f->status.last_beat_ns, beat_ns);
	get(f, "/healthz");
	most = (clock_monotonic_ns() - beat_ns) / NS_PER_S;
	assert_int_equal(f->got_status, 503);
	digit = strpbrk(f->got_body, "0123456789");
	assert_non_null(digit);
	assert_in_range(strtoull(digit, NULL, 10), 31, most);
	assert_non_null(strstr(digit, " s"));
}

TEST_FIXTURE(metrics_are_served_as_text, set_up, tear_down)
{
	struct fixture *f = *state;

	metric_add(&served, 7);
	get(f, "/metrics");
	assert_int_equal(f->got_status, 200);
	assert_non_null(strstr(f->got_body, "\nserved_total 7\n"));
}
