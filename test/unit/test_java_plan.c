/* The parts of profile/ that do nothing but decide: when, with which options, and which files. */
#include <endian.h>
#include <errno.h>

#include "common/system/clock.h"
#include "node-agent/java/java_state.h"
#include "node-agent/java/profile/java_commands.h"
#include "node-agent/java/profile/java_plan.h"
#include "node-agent/java/profile/java_recording.h"
#include "node-agent/runtime/runtime_worker.h"
#include "test/lib/unit.h"

#define CHUNK_BYTES 100u
#define MINUTE_NS (60 * NS_PER_S)

static const struct java_plan_config enabled = {
	.enabled = true, .delay_ns = 30 * NS_PER_S, .interval_ns = MINUTE_NS};

/* ---- states ---- */

TEST(test_states)
{
	enum java_state s = JAVA_STATE_FAILED;

	for (unsigned i = 0; i < JAVA_STATES; i++) {
		assert_true(java_state_parse(java_state_name((enum java_state)i), &s));
		assert_int_equal(s, i);
		assert_true(strlen(java_state_sentence((enum java_state)i)) > 10);
	}
	assert_false(java_state_parse("profile", &s));
	assert_int_equal(s, JAVA_STATES - 1);
}

/* ---- plan ---- */

TEST(test_off)
{
	const struct java_plan_config off = {.interval_ns = MINUTE_NS};
	struct java_plan p;

	java_plan_init(&p, &off, 1000, 1000);
	assert_int_equal(p.state, JAVA_STATE_OFF);
	assert_int_equal(p.attempt_ns, 0);
}

TEST(test_delay_counts_from_the_start_of_the_process)
{
	struct java_plan p;

	java_plan_init(&p, &enabled, 100 * NS_PER_S, 10 * NS_PER_S);
	assert_int_equal(p.state, JAVA_STATE_WAITING);
	assert_int_equal(p.attempt_ns, 120 * NS_PER_S);
	java_plan_init(&p, &enabled, 100 * NS_PER_S, 3600 * NS_PER_S);
	assert_int_equal(p.attempt_ns, 100 * NS_PER_S);
}

TEST(test_failures_end)
{
	uint64_t now = 1000 * NS_PER_S, wait, before = 0;
	struct java_plan p;

	java_plan_init(&p, &enabled, now, now);
	for (unsigned i = 1; i < JAVA_PLAN_FAILURES_MAX; i++) {
		assert_int_equal(java_plan_failed(&p, JAVA_STATE_UNRESPONSIVE, now), i == 1);
		assert_int_equal(p.state, JAVA_STATE_UNRESPONSIVE);
		wait = p.attempt_ns - now;
		assert_true(wait > before);
		before = wait;
		now = p.attempt_ns;
	}
	assert_true(java_plan_failed(&p, JAVA_STATE_UNRESPONSIVE, now));
	assert_int_equal(p.attempt_ns, 0);
	assert_int_equal(p.state, JAVA_STATE_FAILED);
}

TEST(test_success_forgets_failures)
{
	struct java_plan p;

	java_plan_init(&p, &enabled, 1, 0);
	for (unsigned i = 1; i < JAVA_PLAN_FAILURES_MAX; i++)
		(void)java_plan_failed(&p, JAVA_STATE_NO_PLACE, 2);
	java_plan_started(&p, 3);
	assert_int_equal(p.state, JAVA_STATE_PROFILED);
	assert_true(java_plan_failed(&p, JAVA_STATE_NO_PLACE, 4));
	assert_true(p.attempt_ns > 0);
	assert_false(p.is_running);
}

/* Flags do not change, and neither does the VM. */
TEST(test_what_stays_is_not_tried_again)
{
	static const enum java_state final[] = {
		JAVA_STATE_ATTACH_DISABLED, JAVA_STATE_LOADING_DISABLED, JAVA_STATE_SIGNALS_REDUCED,
		JAVA_STATE_OPENJ9,          JAVA_STATE_UNSUPPORTED,      JAVA_STATE_NO_LIBRARY};
	struct java_plan p;

	for (size_t i = 0; i < ARRAY_SIZE(final); i++) {
		java_plan_init(&p, &enabled, 1, 0);
		assert_true(java_plan_failed(&p, final[i], 2));
		assert_int_equal(p.state, final[i]);
		assert_int_equal(p.attempt_ns, 0);
	}
}

/* It may leave at any time, and asking costs the JVM nothing. */
TEST(test_other_agent_is_asked_about_without_end)
{
	struct java_plan p;

	java_plan_init(&p, &enabled, 1, 0);
	for (unsigned i = 0; i < 3 * JAVA_PLAN_FAILURES_MAX; i++) {
		assert_false(java_plan_failed(&p, JAVA_STATE_OTHER_AGENT, i));
		assert_true(p.attempt_ns > i);
	}
}

/* Likewise; but that one is worth a line in the log, once. */
TEST(test_another_profiler_is_looked_for_without_end)
{
	struct java_plan p;
	uint64_t now = 1;

	java_plan_init(&p, &enabled, now, 0);
	for (unsigned i = 0; i < 3 * JAVA_PLAN_FAILURES_MAX; i++) {
		assert_int_equal(java_plan_failed(&p, JAVA_STATE_FOREIGN_PROFILER, now), i == 0);
		assert_int_equal(p.state, JAVA_STATE_FOREIGN_PROFILER);
		assert_true(p.attempt_ns >= now + 60 * NS_PER_S);
		now = p.attempt_ns;
	}
	java_plan_started(&p, now);
	assert_true(java_plan_failed(&p, JAVA_STATE_FOREIGN_PROFILER, now));
}

/* However many JVMs do not answer, the agent is gone in time, and the first ones are waited for. */
TEST(test_jvms_are_left_together)
{
	uint64_t waited_ns = 0;

	assert_true(java_plan_leave_ns(0) >= 1 * NS_PER_S);
	for (unsigned i = 0; i < 40; i++) {
		uint64_t ns = java_plan_leave_ns(waited_ns);

		assert_true(ns > 0);
		waited_ns += ns;
	}
	assert_true(waited_ns < RUNTIME_WORKER_END_NS);
}

/* Each recording is replaced before it ends by itself, whatever the interval. */
TEST(test_replaced_in_time)
{
	static const uint64_t intervals_s[] = {1, 10, 60, 600, 3600};

	for (size_t i = 0; i < ARRAY_SIZE(intervals_s); i++) {
		const struct java_plan_config cfg = {.enabled = true,
						     .interval_ns = intervals_s[i] * NS_PER_S};
		uint64_t life_ns = java_plan_life_s(&cfg) * NS_PER_S, now = 0;
		unsigned n = 0;
		struct java_plan p;

		java_plan_started(&p, 0);
		do {
			now += cfg.interval_ns;
			n++;
		} while (!java_plan_must_replace(&p, &cfg, now, 0));
		assert_true(now + 60 * NS_PER_S <= life_ns);
		assert_true(n >= 2); /* dumps are the rule, replacing the exception */
	}
}

TEST(test_replaced_when_large)
{
	const struct java_plan_config cfg = {.interval_ns = MINUTE_NS, .file_max_bytes = 1000};
	struct java_plan p;

	java_plan_started(&p, 0);
	assert_false(java_plan_must_replace(&p, &cfg, 0, 1000));
	assert_true(java_plan_must_replace(&p, &cfg, 0, 1001));
}

TEST(test_watched_while_it_runs)
{
	struct java_plan p;

	java_plan_started(&p, 5);
	assert_true(p.watch_ns > 5);
	java_plan_watched(&p, p.watch_ns);
	assert_true(p.watch_ns > 5);
	java_plan_ended(&p, 7);
	java_plan_watched(&p, 8);
	assert_int_equal(p.watch_ns, 0);
	assert_int_equal(p.attempt_ns, 7);
}

/* ---- commands ---- */

TEST(test_start_command)
{
	const struct java_start start = {
		.dir = "/tmp/.coroot-java-1-2",
		.file = "rec-1-2-3-0.jfr",
		.settings = {.cpu_interval_ns = 10000000,
			     .alloc_interval_bytes = 524288,
			     .lock_interval_ns = 10000000},
		.life_s = 300,
	};
	char text[JAVA_COMMAND_BYTES];

	assert_int_equal(java_command_start(&start, text), 0);
	assert_string_equal(text, "start,jfr,event=ctimer,interval=10000000ns,alloc=524288,"
				  "lock=10000000ns,jstackdepth=1024,jfropts=31,memlimit=64m,quiet,"
				  "timeout=300,loglevel=none,"
				  "file=/tmp/.coroot-java-1-2/rec-1-2-3-0.jfr");
}

TEST(test_start_command_leaves_out_what_is_off)
{
	const struct java_start start = {.dir = "/tmp",
					 .file = "a",
					 .log_file = "log",
					 .settings = {.cpu_interval_ns = 1, .wall_interval_ns = 7},
					 .life_s = 300};
	char text[JAVA_COMMAND_BYTES];

	assert_int_equal(java_command_start(&start, text), 0);
	assert_null(strstr(text, "alloc"));
	assert_null(strstr(text, "lock="));
	assert_non_null(strstr(text, ",wall=7ns,"));
	assert_non_null(strstr(text, ",loglevel=error,log=/tmp/log,"));
}

/* A path could add options of its own. */
TEST(test_start_command_refuses_paths)
{
	struct java_start start = {.dir = "/a,stop", .file = "a", .life_s = 1};
	char text[JAVA_COMMAND_BYTES], deep[JAVA_COMMAND_BYTES];

	assert_int_equal(java_command_start(&start, text), -EINVAL);
	start.dir = "/a%p";
	assert_int_equal(java_command_start(&start, text), -EINVAL);
	memset(deep, 'd', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	start.dir = deep;
	assert_int_equal(java_command_start(&start, text), -E2BIG);
}

/* ---- recordings ---- */

TEST(test_recording_names)
{
	static const char *const others[] = {
		"",
		"log",
		"rec-1-2-3.jfr",
		"rec-1-2-3-4.jfr2",
		"rec-01-2-3-4.jfr",
		"rec--1-2-3-4.jfr",
		"rec-0-2-3-4.jfr",
		"rec-1-2-3-99999999999999.jfr",
		"rec-1-99999999999999999999999999-3-4.jfr",
		"rec- 1-2-3-4.jfr",
	};
	const struct java_recording r = {4194304, UINT64_MAX, UINT32_MAX, UINT32_MAX};
	char name[JAVA_RECORDING_NAME_BYTES];
	struct java_recording again;

	java_recording_name(&r, name);
	assert_true(java_recording_parse(name, &again));
	assert_int_equal(again.agent_pid, r.agent_pid);
	assert_true(again.agent_start_time == r.agent_start_time);
	assert_true(again.number == r.number && again.n_uploaded == r.n_uploaded);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(java_recording_parse(others[i], &again));
}

struct file {
	uint8_t bytes[10 * CHUNK_BYTES];
	size_t len;
};

static ssize_t read_file(void *ctx, void *to, size_t len, uint64_t offset)
{
	const struct file *f = ctx;

	if (offset >= f->len)
		return 0;
	if (len > f->len - offset)
		len = f->len - offset;
	memcpy(to, f->bytes + offset, len);
	return (ssize_t)len;
}

static void add_chunk(struct file *f, uint64_t size, uint64_t pools)
{
	uint64_t be_size = htobe64(size), be_pools = htobe64(pools);

	memcpy(f->bytes + f->len, "FLR", 4);
	memcpy(f->bytes + f->len + 8, &be_size, 8);
	memcpy(f->bytes + f->len + 16, &be_pools, 8);
	f->len += CHUNK_BYTES;
}

static int chunks_of(struct file *f, uint32_t n_uploaded, struct java_chunks *ret)
{
	const struct jfr_source source = {read_file, f, f->len};

	return java_recording_chunks(&source, n_uploaded, ret);
}

TEST(test_complete_chunks)
{
	struct file f = {.len = 0};
	struct java_chunks c;

	assert_int_equal(chunks_of(&f, 0, &c), 0);
	assert_true(c.n == 0 && c.to == 0 && !c.is_growing);
	add_chunk(&f, CHUNK_BYTES, 70);
	add_chunk(&f, CHUNK_BYTES, 70);
	assert_int_equal(chunks_of(&f, 0, &c), 0);
	assert_true(c.n == 2 && c.from == 0 && c.to == 2 * CHUNK_BYTES && !c.is_growing);
	assert_int_equal(chunks_of(&f, 2, &c), 0);
	assert_true(c.from == c.to);
	add_chunk(&f, 1 << 30, 0);
	assert_int_equal(chunks_of(&f, 1, &c), 0);
	assert_true(c.n == 2 && c.from == CHUNK_BYTES && c.to == 2 * CHUNK_BYTES && c.is_growing);
}

TEST(test_chunk_headers_are_not_trusted)
{
	struct file f = {.len = 0};
	struct java_chunks c;

	/* larger than the file: it is not there yet */
	add_chunk(&f, UINT64_MAX, 70);
	assert_int_equal(chunks_of(&f, 0, &c), 0);
	assert_true(c.n == 0 && c.is_growing);
	/* a size that would not advance */
	f.len = 0;
	add_chunk(&f, 0, 70);
	assert_int_equal(chunks_of(&f, 0, &c), -EBADMSG);
	f.len = 0;
	add_chunk(&f, CHUNK_BYTES, 70);
	memset(f.bytes, 'x', 4);
	assert_int_equal(chunks_of(&f, 0, &c), -EBADMSG);
	/* half a header */
	f.len = 0;
	add_chunk(&f, CHUNK_BYTES, 70);
	add_chunk(&f, CHUNK_BYTES, 70);
	f.len -= CHUNK_BYTES / 2;
	assert_int_equal(chunks_of(&f, 0, &c), 0);
	assert_true(c.n == 1 && c.is_growing);
}
