#include "test/pipeline/agent_process.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define START_TIMEOUT_NS (120 * NS_PER_S)
#define FIRST_PORT 20000u
#define N_PORTS 12000u

extern char **environ;

static const char *binary(void)
{
	const char *path = getenv("CLUSTER_AGENT");

	if (!path)
		fail_msg("the environment does not name the binary as CLUSTER_AGENT");
	return path;
}

/* A socket with this port, -1 if another has it. */
static int bound(int type, unsigned port)
{
	const struct sockaddr_in sa = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons((uint16_t)port)};
	AUTO_CLOSE int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) ? -1 : TAKE_FD(fd);
}

/*
 * Below the ports that the kernel gives to connections, so that it is free when the agent
 * listens. As test/e2e/lib/daemon.js does it, a socket of UDP keeps the number as long as this
 * process lives, so that no test beside it takes the port.
 */
static unsigned free_port(void)
{
	static unsigned n;

	for (; n < N_PORTS; n++) {
		unsigned port = FIRST_PORT + ((unsigned)getpid() * 7 + n) % N_PORTS;
		AUTO_CLOSE int reserved = bound(SOCK_DGRAM, port);
		AUTO_CLOSE int probe = reserved < 0 ? -1 : bound(SOCK_STREAM, port);

		if (probe < 0)
			continue;
		TAKE_FD(reserved);
		n++;
		return port;
	}
	fail_msg("no port is free");
	return 0;
}

void agent_process_init(struct agent_process *a)
{
	*a = (struct agent_process){.dir = temp_dir()};
	snprintf(a->log, sizeof(a->log), "%s.log", a->dir);
}

void agent_process_remove(const char *dir)
{
	remove_tree(dir);
}

void agent_process_fini(struct agent_process *a)
{
	if (a->pid > 0)
		agent_process_stop(a, SIGKILL);
	agent_process_remove(a->dir);
	unlink(a->log);
}

static pid_t spawn(const char *const *args, const char *log)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r;

	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log,
							  O_CREAT | O_WRONLY | O_TRUNC, 0600),
			 0);
	/* posix_spawn() does not change the strings */
	r = posix_spawn(&pid, binary(), &actions, NULL, (char *const *)(uintptr_t)args, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		fail_msg("%s: %s", binary(), strerror(r));
	return pid;
}

static void show_log(const struct agent_process *a)
{
	char text[4096];
	AUTO_CLOSE int fd = open(a->log, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

	text[n > 0 ? n : 0] = '\0';
	print_error("%s", text);
}

static void wait_until_ready(struct agent_process *a)
{
	uint64_t end_ns = clock_monotonic_ns() + START_TIMEOUT_NS;

	while (clock_monotonic_ns() < end_ns) {
		CLEANUP(reply_fini) struct reply r;

		if (waitpid(a->pid, NULL, WNOHANG) == a->pid) {
			a->pid = 0;
			break;
		}
		agent_get(a, "/readyz", &r);
		if (r.status == 200)
			return;
		usleep(20 * 1000);
	}
	show_log(a);
	fail_msg("the agent did not become ready");
}

void agent_process_start(struct agent_process *a, const char *extra)
{
	char listen[64], dir[128];
	const char *args[] = {"coroot-cluster-agent", listen, dir, extra, NULL};

	a->port = free_port();
	snprintf(listen, sizeof(listen), "--listen=127.0.0.1:%u", a->port);
	snprintf(dir, sizeof(dir), "--data-dir=%s", a->dir);
	a->pid = spawn(args, a->log);
	wait_until_ready(a);
}

/* A call that the agent's filter refused is missing in its list, whatever came of it. */
static void expect_no_refused_call(const struct agent_process *a, int status)
{
	AUTO_FREE char *line = NULL;
	FILE *f = fopen(a->log, "re");
	bool refused = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
	size_t size = 0;

	while (f && !refused && getline(&line, &size, f) > 0)
		refused = strstr(line, "refused a system call");
	if (f)
		(void)fclose(f);
	if (refused)
		fail_msg("a system call of the agent was refused: %s", line ? line : "SIGSYS");
}

int agent_process_stop(struct agent_process *a, int signo)
{
	int status = 0;

	kill(a->pid, signo);
	waitpid(a->pid, &status, 0);
	a->pid = 0;
	expect_no_refused_call(a, status);
	return status;
}

int agent_process_try(const char *const *args, char *ret_text, size_t size)
{
	char log[] = "/tmp/test_pipeline.XXXXXX";
	AUTO_CLOSE int fd = mkstemp(log);
	int status = -1;
	ssize_t n;
	pid_t pid;

	assert_true(fd >= 0);
	pid = spawn(args, log);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = read(fd, ret_text, size - 1);
	ret_text[n > 0 ? n : 0] = '\0';
	unlink(log);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

void reply_fini(struct reply *r)
{
	buf_fini(&r->body);
}

static size_t take_body(char *data, size_t size, size_t n, void *ctx)
{
	struct reply *r = ctx;

	return buf_add(&r->body, data, size * n) == 0 ? size * n : 0;
}

static size_t take_header(char *data, size_t size, size_t n, void *ctx)
{
	static const char name[] = "Retry-After: ";
	struct reply *r = ctx;
	size_t len = size * n;

	if (len > strlen(name) && strncasecmp(data, name, strlen(name)) == 0)
		snprintf(r->retry_after, sizeof(r->retry_after), "%.*s",
			 (int)strcspn(data + strlen(name), "\r\n"), data + strlen(name));
	return len;
}

static void perform(CURL *curl, const struct agent_process *a, const char *path, struct reply *ret)
{
	char url[2048];

	*ret = (struct reply){0};
	buf_init(&ret->body, (size_t)64 << 20);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", a->port, path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, ret);
	if (curl_easy_perform(curl) == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &ret->status);
	curl_easy_cleanup(curl);
}

void agent_post(const struct agent_process *a, const char *params, const char *key,
		const void *body, size_t len, struct reply *ret)
{
	CURL *curl = curl_easy_init();
	struct curl_slist *headers = NULL;
	char path[1024], header[128];

	snprintf(path, sizeof(path), "/v1/profiles?%s", params);
	snprintf(header, sizeof(header), "X-Api-Key: %s", key ? key : "");
	headers = curl_slist_append(headers, "Expect:");
	if (key)
		headers = curl_slist_append(headers, header);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	perform(curl, a, path, ret);
	curl_slist_free_all(headers);
}

void agent_get(const struct agent_process *a, const char *path, struct reply *ret)
{
	perform(curl_easy_init(), a, path, ret);
}

void agent_settle(const struct agent_process *a)
{
	/* two minutes */
	for (int i = 0; i < 2400; i++) {
		CLEANUP(reply_fini) struct reply r;

		agent_get(a, "/metrics", &r);
		if (r.status == 200 && strstr(r.body.data, "\ncoroot_cluster_agent_wal_bytes 0\n"))
			return;
		usleep(50000);
	}
	fail_msg("uploads are still in the log after two minutes");
}

json_t *agent_get_json(const struct agent_process *a, const char *path)
{
	CLEANUP(reply_fini) struct reply r;
	json_t *json;

	agent_settle(a);
	agent_get(a, path, &r);
	if (r.status != 200)
		fail_msg("GET %s: %ld %s", path, r.status, r.body.data ? r.body.data : "");
	json = json_loadb(r.body.data, r.body.len, 0, NULL);
	if (!json)
		fail_msg("GET %s: not JSON", path);
	return json;
}
