#include "test/lib/kube_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define STATUS(code, message) "{\"kind\":\"Status\",\"message\":\"" message "\",\"code\":" #code "}"

/* ---- files ---- */

static void write_file(const char *path, const char *text, mode_t mode)
{
	char temporary[160];
	int fd;

	/* like a mounted Secret: replaced as a whole, by a new file */
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(rename(temporary, path), 0);
}

void kube_fixture_write(const struct kube_fixture *f, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	write_file(path, text, 0600);
}

void kube_fixture_write_script(const struct kube_fixture *f, const char *name, const char *text)
{
	char path[128], script[2048];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	snprintf(script, sizeof(script), "#!/bin/sh\ndir=%s\n%s\n", f->dir, text);
	write_file(path, script, 0700);
}

size_t kube_fixture_size(const struct kube_fixture *f, const char *name)
{
	char path[128];
	FILE *file;
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (getc(file) != EOF)
		n++;
	fclose(file);
	return n;
}

char *kube_fixture_path(struct kube_fixture *f, const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", f->dir, name);
	return path;
}

/* ---- server ---- */

static bool note_request(struct kube_fixture *f, const char *authorization)
{
	bool fine;

	pthread_mutex_lock(&f->lock);
	f->n_requests++;
	snprintf(f->seen, sizeof(f->seen), "%s", authorization ? authorization : "");
	fine = !f->wanted[0] || strcmp(f->wanted, f->seen) == 0;
	if (!fine && f->rotate_path[0])
		write_file(f->rotate_path, f->rotate_to, 0600);
	pthread_mutex_unlock(&f->lock);
	return fine;
}

static void answer(void *ctx, struct http_exchange *x)
{
	static const char unauthorized[] = STATUS(401, "Unauthorized"),
			  forbidden[] = STATUS(403, "pods is forbidden");
	struct kube_fixture *f = ctx;
	const char *path = http_exchange_path(x);

	if (!note_request(f, http_exchange_header(x, "Authorization")))
		http_respond(x, 401, "application/json", strdup(unauthorized),
			     strlen(unauthorized));
	else if (f->answer)
		f->answer(f, x);
	else if (strcmp(path, "/api/forbidden") == 0)
		http_respond(x, 403, "application/json", strdup(forbidden), strlen(forbidden));
	else
		http_respond(x, 200, "application/json", strdup("{\"items\":[]}"), 12);
}

void kube_fixture_serve(struct kube_fixture *f, const char *wanted)
{
	const struct http_route routes[] = {
		{"GET", "/*", 0, answer, f}, {"POST", "/*", 1000, answer, f}, {0}};
	const struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.n_threads = 2,
		.max_connections = 100,
		.timeout_s = 30,
		.max_body_memory_bytes = 1 << 20,
		.routes = routes,
	};

	kube_fixture_want(f, wanted);
	assert_int_equal(http_server_new(&f->server, &cfg, NULL), 0);
	snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%u", http_server_port(f->server));
	f->cfg.server = f->url;
}

void kube_fixture_want(struct kube_fixture *f, const char *wanted)
{
	pthread_mutex_lock(&f->lock);
	snprintf(f->wanted, sizeof(f->wanted), "%s", wanted);
	pthread_mutex_unlock(&f->lock);
}

unsigned kube_fixture_requests(struct kube_fixture *f)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->n_requests;
	pthread_mutex_unlock(&f->lock);
	return n;
}

/* ---- fixture ---- */

static void stop(void *ctx)
{
	struct kube_fixture *f = ctx;

	loop_stop(f->loop);
}

int kube_fixture_set_up(void **state)
{
	static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
					      "all_proxy", "ALL_PROXY"};
	struct kube_fixture *f = calloc(1, sizeof(*f));
	static char namespace[] = "default";
	int r;

	/* those of whoever runs the tests; and sockets closed by the other side, as in the agent */
	for (size_t i = 0; i < ARRAY_SIZE(proxies); i++)
		unsetenv(proxies[i]);
	signal(SIGPIPE, SIG_IGN);
	*state = f;
	pthread_mutex_init(&f->lock, NULL);
	f->cfg.namespace = namespace;
	f->dir = temp_dir();
	r = loop_new(&f->loop);
	return r < 0 ? r : loop_add_timer(f->loop, stop, f, &f->stopper);
}

int kube_fixture_tear_down(void **state)
{
	struct kube_fixture *f = *state;

	kube_client_free(f->client);
	http_server_free(f->server);
	loop_free(f->loop);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return 0;
}

void kube_fixture_connect(struct kube_fixture *f)
{
	struct err err = {""};

	kube_client_free(TAKE_PTR(f->client));
	if (kube_client_new(&f->client, f->loop, &f->cfg, &err) < 0)
		fail_msg("%s", err.msg);
}

/* ---- requests ---- */

void kube_fixture_keep_result(void *ctx, const struct kube_result *result)
{
	struct kube_fixture *f = ctx;

	f->n_done++;
	f->error = result->error;
	f->status = result->status;
	f->retry_after_ns = result->retry_after_ns;
	snprintf(f->msg, sizeof(f->msg), "%s", result->msg ? result->msg : "");
	snprintf(f->body, sizeof(f->body), "%.*s", (int)result->body_len,
		 result->body ? result->body : "");
	if (f->n_done == f->n_expected)
		loop_stop(f->loop);
}

struct kube_call *kube_fixture_send(struct kube_fixture *f, struct kube_request req)
{
	struct kube_call *call;

	if (!req.method)
		req.method = "GET";
	if (!req.path)
		req.path = "/api/v1/pods";
	if (!req.timeout_ns && !req.idle_timeout_ns)
		req.timeout_ns = 300 * NS_PER_S;
	if (!req.max_response_bytes)
		req.max_response_bytes = 1000;
	f->n_expected++;
	assert_int_equal(kube_client_send(f->client, &req, kube_fixture_keep_result, f, &call), 0);
	return call;
}

void kube_fixture_wait(struct kube_fixture *f)
{
	assert_true(f->n_done < f->n_expected);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_done, f->n_expected);
}

void kube_fixture_ask(struct kube_fixture *f, struct kube_request req)
{
	kube_fixture_send(f, req);
	kube_fixture_wait(f);
}

void kube_fixture_pass(struct kube_fixture *f, uint64_t ns)
{
	loop_set_timer(f->stopper, ns);
	assert_int_equal(loop_run(f->loop), 0);
	loop_set_timer(f->stopper, UINT64_MAX);
}

void kube_fixture_assert_ok(const struct kube_fixture *f)
{
	if (f->error || f->status != 200)
		fail_msg("%d, HTTP status %d: %s", f->error, f->status, f->msg);
	assert_string_equal(f->msg, "");
}

void kube_fixture_assert_failed(const struct kube_fixture *f, int error, const char *sentence)
{
	if (f->error != error || !strstr(f->msg, sentence))
		fail_msg("%d \"%s\" instead of %d \"%s\"", f->error, f->msg, error, sentence);
	assert_int_equal(f->status, 0);
}
