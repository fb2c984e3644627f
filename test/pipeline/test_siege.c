/*
 * The cluster-agent while others hold all connections that it has room for: 2,000 that say nothing
 * and 500 that are slow, against some 450 places. CLUSTER_AGENT names the binary, CHDB_LIBRARY the
 * engine.
 */
#include <signal.h>
#include <sys/stat.h>

#include "common/pprof/pprof_encode.h"
#include "common/system/clock.h"
#include "common/system/open_files.h"
#include "test/lib/made_profile.h"
#include "test/lib/raw_client.h"
#include "test/lib/unit.h"
#include "test/pipeline/agent_process.h"

#define N_IDLE 2000
#define N_SLOW 500
#define N_UPLOADS 60
#define UPLOAD_EVERY_NS (100 * NS_PER_MS)
#define AGENT_OPEN_FILES 1024

static struct agent_process agent;
static char script[80];
static int idle[N_IDLE], slow[N_SLOW];

/* A script that starts the agent with fewer open files than this program has. */
static void limit_agent(void)
{
	const char *binary = getenv("CLUSTER_AGENT");
	FILE *f;

	assert_non_null(binary);
	snprintf(script, sizeof(script), "%s.sh", agent.dir);
	f = fopen(script, "we");
	assert_non_null(f);
	assert_true(fprintf(f, "#!/bin/sh\nulimit -n %d\nexec '%s' \"$@\"\n", AGENT_OPEN_FILES,
			    binary) > 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(script, 0700), 0);
	assert_int_equal(setenv("CLUSTER_AGENT", script, 1), 0);
}

static int set_up(void **state)
{
	(void)state;
	assert_true(open_files_raise() > N_IDLE + N_SLOW + 100);
	agent_process_init(&agent);
	limit_agent();
	agent_process_start(&agent, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < N_SLOW; i++)
		close(slow[i]);
	for (int i = 0; i < N_IDLE; i++)
		close(idle[i]);
	agent_process_fini(&agent);
	unlink(script);
	return 0;
}

/* One that sends a few bytes of its headers, or of its body, or does not read the page. */
static int open_slow(int i)
{
	static const char *const begins[] = {
		"GET /metr",
		"POST /v1/profiles?service.name=slow HTTP/1.1\r\nHost: x\r\n"
		"Content-Length: 100000\r\n\r\nx",
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
	};
	int fd = raw_client_connect_from("127.0.0.2", agent.port);

	/* it may be closed already, to make room */
	(void)raw_client_try_send(fd, begins[(unsigned)i % ARRAY_SIZE(begins)]);
	return fd;
}

/* All attackers go on: closed connections are opened again, open ones send one byte more. */
static void press_on(int round)
{
	for (int i = round % 10; i < N_SLOW; i += 10) {
		if (raw_client_try_send(slow[i], "x"))
			continue;
		close(slow[i]);
		slow[i] = open_slow(i);
	}
	for (int i = round % 100; i < N_IDLE; i += 100) {
		close(idle[i]);
		idle[i] = raw_client_connect_from("127.0.0.3", agent.port);
	}
}

static void make_profile(struct buf *out)
{
	static const struct made_sample sample = {{0, 1}, 2, {10000000}};
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	arena_init(&arena, 1 << 20);
	p = made_profile(&arena, "ebpf:cpu:nanoseconds/nanoseconds", &sample, 1);
	p.time_ns = (int64_t)clock_realtime_ns();
	p.duration_ns = (int64_t)NS_PER_S;
	assert_int_equal(pprof_encode(&p, out), 0);
}

static void expect_200(const struct reply *r, const char *what, int round)
{
	if (r->status != 200)
		fail_msg("%s %d: %ld", what, round, r->status);
}

TEST(uploads_go_through_a_siege)
{
	CLEANUP(buf_fini) struct buf profile;
	uint64_t next_ns;

	buf_init(&profile, 1 << 20);
	make_profile(&profile);
	for (int i = 0; i < N_IDLE; i++)
		idle[i] = raw_client_connect_from("127.0.0.3", agent.port);
	for (int i = 0; i < N_SLOW; i++)
		slow[i] = open_slow(i);

	next_ns = clock_monotonic_ns();
	for (int round = 0; round < N_UPLOADS; round++) {
		CLEANUP(reply_fini) struct reply upload;
		CLEANUP(reply_fini) struct reply health;
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns < next_ns)
			usleep((useconds_t)((next_ns - now_ns) / 1000));
		next_ns += UPLOAD_EVERY_NS;
		press_on(round);
		agent_post(&agent, "service.name=siege&host.name=n1", NULL, profile.data,
			   profile.len, &upload);
		expect_200(&upload, "upload", round);
		agent_get(&agent, "/healthz", &health);
		expect_200(&health, "/healthz", round);
	}
	assert_int_equal(kill(agent.pid, 0), 0);
}

GROUP_FIXTURE(set_up, tear_down)
