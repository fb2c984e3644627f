#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "common/agent/agent.h"
#include "common/system/clock.h"
#include "test/lib/raw_server.h"
#include "test/lib/unit.h"

struct fixture {
	struct agent agent;
	struct loop_source *later;
	int n_beats, n_stops;
	bool done;
	bool signal_again;
	uint64_t stop_ns;
};

static void on_beat(void *ctx)
{
	struct fixture *f = ctx;

	if (f->n_beats++ == 0)
		kill(getpid(), SIGTERM);
}

static void on_stop(void *ctx)
{
	struct fixture *f = ctx;

	f->n_stops++;
	f->stop_ns = clock_monotonic_ns();
	if (f->signal_again)
		kill(getpid(), SIGINT);
}

static bool is_done(void *ctx)
{
	const struct fixture *f = ctx;

	return f->done;
}

static void become_done(void *ctx)
{
	struct fixture *f = ctx;

	f->done = true;
	agent_stop_if_done(&f->agent);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct agent_config cfg = {
		.program = "agent",
		.metrics_prefix = "test",
		.version = "1",
		.ctx = f,
		.beat = on_beat,
		.stop = on_stop,
		.is_done = is_done,
	};

	assert_non_null(f);
	*state = f;
	assert_int_equal(agent_init(&f->agent, &cfg), 0);
	assert_int_equal(loop_add_timer(f->agent.loop, become_done, f, &f->later), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	agent_fini(&f->agent);
	free(f);
	return 0;
}

TEST_FIXTURE(a_signal_ends_an_agent_that_has_nothing_to_do, set_up, tear_down)
{
	struct fixture *f = *state;

	f->done = true;
	assert_int_equal(agent_run(&f->agent), 0);
	assert_int_equal(f->n_beats, 1);
	assert_int_equal(f->n_stops, 1);
	assert_in_range(agent_time_left_ns(&f->agent), NS_PER_S, 10 * NS_PER_S);
}

TEST_FIXTURE(the_loop_runs_until_the_owner_is_done, set_up, tear_down)
{
	struct fixture *f = *state;

	loop_set_timer(f->later, 50 * NS_PER_MS);
	assert_int_equal(agent_run(&f->agent), 0);
	assert_true(f->done);
	assert_int_equal(f->n_stops, 1);
}

TEST_FIXTURE(a_second_signal_ends_the_loop_at_once, set_up, tear_down)
{
	struct fixture *f = *state;

	f->signal_again = true;
	assert_int_equal(agent_run(&f->agent), 0);
	assert_false(f->done);
	assert_int_equal(f->n_stops, 1);
	assert_in_range(clock_monotonic_ns() - f->stop_ns, 0, 5 * NS_PER_S);
}

TEST_FIXTURE(an_owner_that_is_never_done_is_not_waited_for, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t took_ns;

	assert_int_equal(agent_run(&f->agent), 0);
	took_ns = clock_monotonic_ns() - f->stop_ns;
	assert_true(took_ns >= 7 * NS_PER_S);
	assert_false(f->done);
	assert_in_range(agent_time_left_ns(&f->agent), NS_PER_S, 2 * NS_PER_S);
}

TEST_FIXTURE(pending_uploads_are_waited_for, set_up, tear_down)
{
	static const struct upload_label labels[] = {{"service.name", "s"}, {0}};
	struct fixture *f = *state;
	struct raw_server server = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
				    .byte_pause_us = 2000};
	struct agent_upload_config cfg = {
		.max_items = 10,
		.max_bytes = 1000,
		.max_sending = 1,
		.timeout_ns = 300 * NS_PER_S,
		.retry_min_ns = NS_PER_S,
	};
	struct buf body;

	raw_server_start(&server);
	cfg.collector = server.url;
	assert_int_equal(agent_start_uploads(&f->agent, &cfg, NULL), 0);
	buf_init(&body, 100);
	assert_int_equal(buf_add(&body, "profile", 7), 0);
	assert_int_equal(uploader_add(f->agent.uploader, labels, &body), 0);
	f->done = true;
	assert_int_equal(agent_run(&f->agent), 0);
	assert_int_equal(uploader_pending(f->agent.uploader), 0);
	raw_server_stop(&server);
}

TEST_FIXTURE(routes_are_served_beside_those_of_the_status, set_up, tear_down)
{
	struct fixture *f = *state;
	struct err err = {""};
	const struct http_server_config cfg = {.listen = "127.0.0.1:0",
					       .max_connections = 4,
					       .timeout_s = 300,
					       .metrics = f->agent.metrics};
	struct sockaddr_in to = {.sin_family = AF_INET};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
	char answer[512] = "";

	assert_int_equal(agent_listen(&f->agent, &cfg, &err), 0);
	to.sin_port = htons((uint16_t)http_server_port(f->agent.server));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
	assert_true(read(fd, answer, sizeof(answer) - 1) > 0);
	assert_memory_equal(answer, "HTTP/1.1 200", 12);
}

int main(void)
{
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	return unit_run(NULL, NULL);
}
