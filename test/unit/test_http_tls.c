/* TLS, with the server of the openssl command. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "common/http/http.h"
#include "common/system/clock.h"
#include "test/lib/tls_server.h"
#include "test/lib/unit.h"

struct fixture {
	struct loop *loop;
	const char *dir;
	char cert_file[64], key_file[64], other_file[64];

	struct tls_server server;

	/* the last result */
	int error, status;
	char msg[256];
};

static void write_text(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->dir = temp_dir();
	snprintf(f->cert_file, sizeof(f->cert_file), "%s/cert.pem", f->dir);
	snprintf(f->key_file, sizeof(f->key_file), "%s/key.pem", f->dir);
	snprintf(f->other_file, sizeof(f->other_file), "%s/other.pem", f->dir);
	write_text(f->cert_file, tls_cert);
	write_text(f->key_file, tls_key);
	write_text(f->other_file, tls_other_cert);
	return loop_new(&f->loop);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	tls_server_stop(&f->server);
	loop_free(f->loop);
	unlink(f->cert_file);
	unlink(f->key_file);
	unlink(f->other_file);
	free(f);
	return 0;
}

static void keep_result(void *ctx, const struct http_result *result)
{
	struct fixture *f = ctx;

	f->error = result->error;
	f->status = result->status;
	snprintf(f->msg, sizeof(f->msg), "%s", result->error ? result->msg : "");
	loop_stop(f->loop);
}

static void ask(struct fixture *f, struct http_client *c, const char *host)
{
	char url[64], address[32];
	const struct http_request req = {.method = "GET",
					 .url = url,
					 .timeout_ns = 300 * NS_PER_S,
					 .max_response_bytes = 1 << 20,
					 .connect_to = address};

	snprintf(url, sizeof(url), "https://%s:%u/", host, f->server.port);
	snprintf(address, sizeof(address), "127.0.0.1:%u", f->server.port);
	assert_int_equal(http_send(c, &req, keep_result, f), 0);
	assert_int_equal(loop_run(f->loop), 0);
}

static void ask_with(struct fixture *f, const struct http_client_config *cfg)
{
	CLEANUP(http_client_freep) struct http_client *c = NULL;

	assert_int_equal(http_client_new(&c, f->loop, cfg), 0);
	ask(f, c, "127.0.0.1");
}

static void assert_ok(const struct fixture *f)
{
	if (f->error)
		fail_msg("%d: %s", f->error, f->msg);
	assert_int_equal(f->status, 200);
}

TEST_FIXTURE(https_needs_a_certificate_we_trust, set_up, tear_down)
{
	struct fixture *f = *state;

	tls_server_start(&f->server);
	ask_with(f, &(struct http_client_config){0});
	assert_int_equal(f->error, -EKEYREJECTED);
	assert_true(strlen(f->msg) > 5);
	ask_with(f, &(struct http_client_config){.insecure_skip_verify = true});
	assert_ok(f);
	ask_with(f, &(struct http_client_config){.ca_file = f->cert_file});
	assert_ok(f);
	ask_with(f, &(struct http_client_config){.ca_pem = tls_cert});
	assert_ok(f);
	ask_with(f, &(struct http_client_config){.ca_file = f->other_file});
	assert_int_equal(f->error, -EKEYREJECTED);
	ask_with(f, &(struct http_client_config){.ca_pem = tls_other_cert});
	assert_int_equal(f->error, -EKEYREJECTED);
	ask_with(f, &(struct http_client_config){.ca_file = "/nonexistent/ca"});
	assert_int_equal(f->error, -EKEYREJECTED);
	ask_with(f, &(struct http_client_config){.ca_pem = "garbage"});
	assert_int_equal(f->error, -EKEYREJECTED);
}

TEST_FIXTURE(a_certificate_is_for_the_name_of_the_url, set_up, tear_down)
{
	CLEANUP(http_client_freep) struct http_client *c = NULL;
	struct fixture *f = *state;

	tls_server_start(&f->server);
	assert_int_equal(
		http_client_new(&c, f->loop, &(struct http_client_config){.ca_pem = tls_cert}), 0);
	ask(f, c, "name.invalid");
	assert_int_equal(f->error, -EKEYREJECTED);
}

TEST_FIXTURE(a_replaced_ca_file_is_read, set_up, tear_down)
{
	CLEANUP(http_client_freep) struct http_client *c = NULL;
	struct fixture *f = *state;
	uint64_t start_ns = clock_monotonic_ns();

	tls_server_start(&f->server);
	assert_int_equal(http_client_new(&c, f->loop,
					 &(struct http_client_config){.ca_file = f->other_file}),
			 0);
	ask(f, c, "127.0.0.1");
	assert_int_equal(f->error, -EKEYREJECTED);
	write_text(f->other_file, tls_cert);
	do {
		usleep(50000);
		ask(f, c, "127.0.0.1");
	} while (f->error && clock_monotonic_ns() - start_ns < 60 * NS_PER_S);
	assert_ok(f);
}

TEST_FIXTURE(a_server_that_wants_a_certificate_gets_ours, set_up, tear_down)
{
	struct fixture *f = *state;
	struct http_client_config cfg = {.ca_pem = tls_cert};

	f->server.wants_certificate = true;
	tls_server_start(&f->server);
	ask_with(f, &cfg);
	assert_true(f->error < 0);

	cfg.cert_file = f->cert_file;
	cfg.key_file = f->key_file;
	ask_with(f, &cfg);
	assert_ok(f);

	cfg.cert_file = cfg.key_file = NULL;
	cfg.cert_pem = tls_cert;
	cfg.key_pem = tls_key;
	ask_with(f, &cfg);
	assert_ok(f);

	cfg.key_pem = "garbage";
	ask_with(f, &cfg);
	assert_int_equal(f->error, -EIO);
	assert_non_null(strstr(f->msg, "key"));
}

/* main() has set a policy of the system that allows it. */
TEST_FIXTURE(a_server_of_an_old_version_is_refused, set_up, tear_down)
{
	struct fixture *f = *state;

	f->server.is_old = true;
	tls_server_start(&f->server);
	ask_with(f, &(struct http_client_config){.ca_pem = tls_cert});
	assert_int_equal(f->error, -EIO);
	assert_non_null(strstr(f->msg, "protocol version"));
}

int main(void)
{
	static const char policy[] =
		"openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = any\n"
		"[any]\nMinProtocol = TLSv1\nCipherString = DEFAULT@SECLEVEL=0\n";
	char policy_file[] = "/tmp/test_http_tls_policy_XXXXXX";
	int r;

	/* proxies of the user who runs the tests; SIGPIPE is ignored as in the agents */
	unsetenv("https_proxy");
	unsetenv("HTTPS_PROXY");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	signal(SIGPIPE, SIG_IGN);
	/* weaker than any distribution's, so that only what we ask for counts */
	close(mkostemp(policy_file, O_CLOEXEC));
	write_text(policy_file, policy);
	setenv("OPENSSL_CONF", policy_file, 1);
	r = unit_run(NULL, NULL);
	unlink(policy_file);
	return r;
}
