#include "test/store/clickhouse_process.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "common/text/parse.h"
#include "test/lib/unit.h"

#define MAX_ARGS 8

extern char **environ;

void clickhouse_process_init(struct clickhouse_process *p)
{
	*p = (struct clickhouse_process){.dir = temp_dir()};
}

void clickhouse_process_fini(struct clickhouse_process *p)
{
	if (p->pid > 0)
		clickhouse_process_stop(p, SIGKILL);
}

static pid_t spawn(const char *const *args, int out)
{
	const char *path = getenv("CLICKHOUSE_SERVER");
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r;

	if (!path)
		fail_msg("the environment does not name the server as CLICKHOUSE_SERVER");
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO), 0);
	/* posix_spawn() does not change the strings */
	r = posix_spawn(&pid, path, &actions, NULL, (char *const *)(uintptr_t)args, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		fail_msg("%s: %s", path, strerror(r));
	return pid;
}

/* Reads "port N", the only line that the server prints. */
static unsigned read_port(int fd)
{
	char line[32];
	size_t len = 0;
	uint64_t port;
	ssize_t n;

	while (len < sizeof(line) && (len == 0 || line[len - 1] != '\n')) {
		n = read(fd, line + len, sizeof(line) - len);
		if (n <= 0)
			fail_msg("the server did not start");
		len += (size_t)n;
	}
	assert_true(len > 5);
	assert_int_equal(parse_u64(line + 5, len - 6, 1, UINT16_MAX, &port), 0);
	return (unsigned)port;
}

void clickhouse_process_start(struct clickhouse_process *p, const char *const *args)
{
	char data[80], listen[64];
	const char *all[MAX_ARGS + 5] = {"clickhouse-test-server", data, listen,
					 "--die-with-parent"};
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	snprintf(data, sizeof(data), "--data=%s", p->dir);
	snprintf(listen, sizeof(listen), "--listen=127.0.0.1:%u", p->port);
	for (size_t i = 0; args && args[i]; i++) {
		assert_true(i < MAX_ARGS);
		all[4 + i] = args[i];
	}
	p->pid = spawn(all, fds[1]);
	close(fds[1]);
	p->port = read_port(fds[0]);
	close(fds[0]);
}

void clickhouse_process_stop(struct clickhouse_process *p, int signo)
{
	kill(p->pid, signo);
	waitpid(p->pid, NULL, 0);
	p->pid = 0;
}

static size_t keep(char *data, size_t size, size_t n, void *ctx)
{
	return buf_add(ctx, data, size * n) == 0 ? size * n : 0;
}

long clickhouse_process_ask(const struct clickhouse_process *p, const char *params,
			    const void *body, size_t len, struct buf *out)
{
	CURL *c = curl_easy_init();
	char url[4096];
	long status = 0;

	assert_non_null(c);
	out->len = 0;
	assert_int_equal(buf_add(out, "", 0), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/?%s", p->port, params ? params : "");
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, out);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)len);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, 300L);
	if (curl_easy_perform(c) == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(c);
	return status;
}

static void ask_ok(const struct clickhouse_process *p, const char *sql, struct buf *out)
{
	long status = clickhouse_process_ask(p, NULL, sql, strlen(sql), out);

	if (status != 200)
		fail_msg("%s: %ld %s", sql, status, out->data);
}

void clickhouse_process_run(const struct clickhouse_process *p, const char *sql)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1000000);
	ask_ok(p, sql, &out);
}

uint64_t clickhouse_process_u64(const struct clickhouse_process *p, const char *sql)
{
	CLEANUP(buf_fini) struct buf out;
	uint64_t v = 0;

	buf_init(&out, 1000000);
	ask_ok(p, sql, &out);
	if (out.len == 0 || parse_u64(out.data, out.len - 1, 0, UINT64_MAX, &v) < 0)
		fail_msg("%s: not a number: %s", sql, out.data);
	return v;
}
