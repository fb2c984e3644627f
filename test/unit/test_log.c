#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "test/lib/unit.h"

static char output[1024 * 1024];
static int fd = -1;

static int open_log(void **state)
{
	(void)state;
	fd = memfd_create("log", MFD_CLOEXEC);
	log_set_fd(fd);
	log_set_level(LOG_LEVEL_INFO);
	return fd < 0;
}

static int close_log(void **state)
{
	(void)state;
	log_set_fd(STDERR_FILENO);
	return close(fd);
}

static const char *logged(void)
{
	ssize_t n = pread(fd, output, sizeof(output) - 1, 0);

	assert_true(n >= 0);
	output[n] = '\0';
	return output;
}

TEST_FIXTURE(prints_level_message_and_fields, open_log, close_log)
{
	log_warn("skipping process", "pid=%d reason=%s", 812, "gone");
	log_error("no fields", "%s", "");
	assert_string_equal(logged(), "level=warn msg=\"skipping process\" pid=812 reason=gone\n"
				      "level=error msg=\"no fields\"\n");
}

TEST_FIXTURE(prints_nothing_above_the_level, open_log, close_log)
{
	log_debug("hidden", "a=%d", 1);
	log_info("shown", "a=%d", 2);
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("shown too", "a=%d", 3);
	assert_string_equal(logged(), "level=info msg=\"shown\" a=2\n"
				      "level=debug msg=\"shown too\" a=3\n");
}

TEST_FIXTURE(levels_have_names, open_log, close_log)
{
	assert_string_equal(log_level_names[LOG_LEVEL_ERROR], "error");
	assert_string_equal(log_level_names[LOG_LEVEL_WARN], "warn");
	assert_string_equal(log_level_names[LOG_LEVEL_INFO], "info");
	assert_string_equal(log_level_names[LOG_LEVEL_DEBUG], "debug");
	assert_null(log_level_names[LOG_LEVEL_DEBUG + 1]);
}

TEST_FIXTURE(a_process_name_cannot_forge_a_line, open_log, close_log)
{
	log_info("seen", "comm=%s", "a\nlevel=error\r\x1b[31m\x7f\xc2\x9b\t\\");
	assert_string_equal(logged(), "level=info msg=\"seen\" "
				      "comm=a\\nlevel=error\\x0d\\x1b[31m\\x7f\\xc2\\x9b\\t\\\n");
}

TEST_FIXTURE(quoted_values_cannot_forge_a_field, open_log, close_log)
{
	log_info("seen", "comm=%s pid=%d", LOG_QUOTED("x\" pid=1 \\ \n\xc3\xa9"), 7);
	log_info("seen", "comm=%s", LOG_QUOTED(NULL));
	assert_string_equal(logged(), "level=info msg=\"seen\" "
				      "comm=\"x\\\" pid=1 \\\\ \\n\xc3\xa9\" pid=7\n"
				      "level=info msg=\"seen\" comm=\"\"\n");
}

TEST_FIXTURE(cuts_what_is_too_long_and_says_so, open_log, close_log)
{
	char many[5000];
	struct log_quoted q;
	const char *text;

	memset(many, 'x', sizeof(many));
	many[sizeof(many) - 1] = '\0';
	log_info("long", "v=%s", many);
	text = logged();
	assert_in_range(strlen(text), LOG_LINE_BYTES - 10, LOG_LINE_BYTES + 8);
	assert_string_equal(text + strlen(text) - 6, "xx...\n");

	memset(many, '\n', sizeof(many) - 1);
	log_info("long", "v=%s", many);
	text = strchr(logged(), '\n') + 1;
	assert_in_range(strlen(text), LOG_LINE_BYTES - 10, LOG_LINE_BYTES + 8);
	assert_string_equal(text + strlen(text) - 8, "\\n\\n...\n");

	log_quote(&q, many);
	assert_in_range(strlen(q.text), sizeof(q.text) - 10, sizeof(q.text) - 1);
	assert_string_equal(q.text + strlen(q.text) - 8, "\\n\\n...\"");
}

TEST_FIXTURE(errno_survives_and_can_be_printed, open_log, close_log)
{
	errno = ENOENT;
	log_info("failed", "error=%s", strerror(errno));
	assert_int_equal(errno, ENOENT);
	log_info("failed", "error=%m");
	assert_string_equal(logged(),
			    "level=info msg=\"failed\" error=No such file or directory\n"
			    "level=info msg=\"failed\" error=No such file or directory\n");
}

TEST_FIXTURE(a_repeating_line_comes_once_a_minute_with_a_count, open_log, close_log)
{
	struct log_limit limit = {0};

	for (int i = 0; i < 5; i++)
		log_line_limited(&limit, LOG_LEVEL_WARN, "ring full", "lost=%d", i);
	assert_string_equal(logged(), "level=warn msg=\"ring full\" lost=0\n");
	assert_in_range(limit.next_ns - clock_monotonic_ns(), 30 * NS_PER_S, 60 * NS_PER_S);

	limit.next_ns = 0; /* the minute is over */
	log_line_limited(&limit, LOG_LEVEL_WARN, "ring full", "lost=%d", 5);
	assert_string_equal(strchr(logged(), '\n') + 1,
			    "level=warn msg=\"ring full\" repeated=4 lost=5\n");
	assert_int_equal(limit.n_held, 0);
}

static void *log_many(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++) {
		log_info("from a thread", "text=%s", "0123456789abcdef");
		log_warn_limited("limited", "text=%s", "x");
	}
	return NULL;
}

TEST_FIXTURE(lines_of_threads_do_not_mix, open_log, close_log)
{
	static const char line[] = "level=info msg=\"from a thread\" text=0123456789abcdef\n";
	pthread_t threads[4];
	int n_lines = 0, n_limited = 0;
	const char *p;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_many, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	for (p = logged(); *p; p = strchr(p, '\n') + 1) {
		if (strncmp(p, line, sizeof(line) - 1) == 0)
			n_lines++;
		else if (strncmp(p, "level=warn msg=\"limited\" text=x\n", 32) == 0)
			n_limited++;
		else
			fail_msg("broken line: %.60s", p);
	}
	assert_int_equal(n_lines, 4000);
	assert_int_equal(n_limited, 1);
}

/* ---- a reader that stalls ------------------------------------------------------------------ */

enum {
	READER,
	WRITER,
};

static uint64_t lost_lines(void)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	CLEANUP(buf_fini) struct buf text;
	const char *value;

	buf_init(&text, 4096);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(log_register_metrics(ms, "test"), 0);
	assert_int_equal(metrics_write(ms, &text), 0);
	value = strstr(text.data, "\ntest_log_lines_dropped_total ");
	assert_non_null(value);
	return strtoull(strchr(value, ' '), NULL, 10);
}

/* Reads until nothing more comes. */
static void drain(int from)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	size_t len = 0;

	while (poll(&p, 1, 200) > 0) {
		ssize_t n = read(from, output + len, sizeof(output) - 1 - len);

		assert_true(n > 0);
		len += (size_t)n;
	}
	output[len] = '\0';
}

/* Logs into ends[WRITER] until it is full, then more; reads it empty, and logs once more. */
static void stall(const int ends[2])
{
	uint64_t before = lost_lines(), n_lost;
	const char *report;
	char expected[128];
	int n = 0;

	/* a log that blocks is killed here instead of standing still */
	alarm(20);
	log_set_fd(ends[WRITER]);
	while (lost_lines() == before && n < 100000)
		log_info("into the pipe", "n=%d", n++);
	for (int i = 0; i < 10; i++)
		log_warn("lost", "n=%d", i);
	n_lost = lost_lines() - before;
	assert_in_range(n_lost, 11, 100);
	assert_int_equal(fcntl(ends[WRITER], F_GETFL) & O_NONBLOCK, 0);

	drain(ends[READER]);
	assert_memory_equal(output, "level=info msg=\"into the pipe\" n=0", 34);
	assert_null(strstr(output, "lost"));
	log_info("back", "n=%d", 1);
	log_info("back", "n=%d", 2);
	alarm(0);
	drain(ends[READER]);
	snprintf(expected, sizeof(expected), "log lines lost: the log was not read\" lines=%d",
		 (int)n_lost);
	report = strstr(output, expected);
	assert_non_null(report);
	/* a terminal makes "\r\n" of "\n" */
	assert_non_null(strstr(report, "\nlevel=info msg=\"back\" n=1"));
	assert_non_null(strstr(report, "\nlevel=info msg=\"back\" n=2"));
	assert_null(strstr(report + 1, "log lines lost"));
	log_set_fd(STDERR_FILENO);
	close(ends[READER]);
	close(ends[WRITER]);
}

TEST(a_pipe_that_is_not_read_is_not_waited_for)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	stall(ends);
}

TEST(a_socket_that_is_not_read_is_not_waited_for)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	stall(ends);
}

TEST(a_terminal_that_is_not_read_is_not_waited_for)
{
	int ends[2];

	assert_int_equal(openpty(&ends[READER], &ends[WRITER], NULL, NULL, NULL), 0);
	stall(ends);
}

TEST(a_pipe_without_a_reader_loses_lines_and_nothing_else)
{
	uint64_t before = lost_lines();
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	log_set_fd(ends[WRITER]);
	close(ends[READER]);
	log_info("lost", "n=%d", 1);
	log_set_fd(STDERR_FILENO);
	close(ends[WRITER]);
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(lost_lines() - before, 1);
}
