#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/data/buf.h"
#include "common/http/http_server.h"
#include "common/http/server_tls.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "common/thread/queue.h"
#include "test/lib/raw_client.h"
#include "test/lib/tls_client.h"
#include "test/lib/tls_files.h"
#include "test/lib/unit.h"

#define LARGE_BYTES ((size_t)3 << 20)
#define REQUEST(path, connection) \
	"GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: " connection "\r\n\r\n"
#define TLS_OF(version) "NORMAL:-VERS-ALL:+VERS-" version

struct fixture {
	struct tls_files files;
	struct server_tls *tls;
	struct http_server *server;
	struct metrics *metrics;
	struct queue *kept; /* exchanges of /later */
};

static void echo_size(void *ctx, struct http_exchange *x)
{
	size_t len;

	(void)ctx;
	(void)http_exchange_body(x, &len);
	http_respond_text(x, 200, "%zu bytes", len);
}

static void large(void *ctx, struct http_exchange *x)
{
	char *text = malloc(LARGE_BYTES);

	(void)ctx;
	memset(text, 'a', LARGE_BYTES);
	text[LARGE_BYTES - 1] = 'z';
	http_respond(x, 200, "application/octet-stream", text, LARGE_BYTES);
}

static void later(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	assert_int_equal(queue_push(f->kept, x), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	tls_files_init(&f->files);
	assert_int_equal(metrics_new(&f->metrics), 0);
	return queue_new(&f->kept, 256);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_server_free(f->server);
	metrics_free(f->metrics);
	server_tls_free(f->tls);
	queue_free(f->kept);
	tls_files_fini(&f->files);
	free(f);
	return 0;
}

static void load(struct fixture *f)
{
	struct err err = {""};

	if (server_tls_new(&f->tls, f->files.cert, f->files.key, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(server_tls_register_metrics(f->tls, "test", f->metrics), 0);
}

static void serve(struct fixture *f, unsigned timeout_s)
{
	const struct http_route routes[] = {
		{"GET", "/", 0, echo_size, f},
		{"POST", "/", LARGE_BYTES, echo_size, f},
		{"GET", "/large", 0, large, f},
		{"GET", "/later", 0, later, f},
		{0},
	};
	const struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.n_threads = 2,
		.max_connections = 200,
		.timeout_s = timeout_s,
		.max_body_memory_bytes = 16 << 20,
		.routes = routes,
		.tls = f->tls,
	};
	struct err err = {""};

	if (http_server_new(&f->server, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
}

static void start(struct fixture *f)
{
	tls_files_replace(&f->files, "first");
	load(f);
	serve(f, 30);
}

static int open_client(const struct fixture *f, struct tls_client *c, const char *priorities)
{
	return tls_client_open(c, http_server_port(f->server), f->files.ca, priorities);
}

static void connect_client(const struct fixture *f, struct tls_client *c)
{
	int r = open_client(f, c, NULL);

	if (r < 0)
		fail_msg("handshake: %s", gnutls_strerror(r));
}

#define assert_has(text, part)                                       \
	do {                                                         \
		if (!strstr(text, part))                             \
			fail_msg("no \"%s\" in \"%s\"", part, text); \
	} while (0)

static void ask(struct tls_client *c, const char *request, const char *answer)
{
	AUTO_FREE char *text = NULL;

	tls_client_send(c, request, strlen(request));
	text = tls_client_read(c, answer);
	assert_has(text, "HTTP/1.1 200");
	assert_has(text, answer);
}

/* The name in the certificate that a new connection gets; it must be trusted. */
static void assert_served(const struct fixture *f, const char *name)
{
	CLEANUP(tls_client_close) struct tls_client c = {0};
	char got[64] = "";

	connect_client(f, &c);
	tls_client_peer_name(&c, got, sizeof(got));
	assert_string_equal(got, name);
	ask(&c, REQUEST("/", "close"), "0 bytes");
}

static uint64_t metric_of(const struct fixture *f, const char *name)
{
	CLEANUP(buf_fini) struct buf text;
	char line[128];
	const char *at;

	buf_init(&text, 1 << 20);
	assert_int_equal(metrics_write(f->metrics, &text), 0);
	snprintf(line, sizeof(line), "\ntest_tls_%s ", name);
	at = strstr(text.data, line);
	assert_non_null(at);
	return strtoull(at + strlen(line), NULL, 10);
}

static void wait_for_metric(const struct fixture *f, const char *name, uint64_t value)
{
	eventually(metric_of(f, name) == value);
}

/* ---- certificates ------------------------------------------------------------ */

TEST_FIXTURE(keys_of_both_kinds_are_served_with_their_chain, set_up, tear_down)
{
	struct fixture *f = *state;
	static const long day_s[2] = {-3600, 86400};

	start(f);
	assert_served(f, "first");
	tls_files_write(&f->files, TLS_KEY_RSA, "rsa", day_s);
	server_tls_refresh(f->tls);
	assert_served(f, "rsa");
}

TEST_FIXTURE(a_replaced_certificate_serves_new_connections_and_leaves_old_ones, set_up, tear_down)
{
	CLEANUP(tls_client_close) struct tls_client old = {0};
	struct fixture *f = *state;

	start(f);
	connect_client(f, &old);
	ask(&old, REQUEST("/", "keep-alive"), "0 bytes");
	server_tls_refresh(f->tls);
	assert_int_equal(metric_of(f, "certificate_loads_total"), 1);

	tls_files_replace(&f->files, "second");
	assert_served(f, "first");
	server_tls_refresh(f->tls);
	assert_served(f, "second");
	ask(&old, REQUEST("/", "keep-alive"), "0 bytes");
	assert_int_equal(metric_of(f, "certificate_loads_total"), 2);
	assert_int_equal(metric_of(f, "certificate_load_failures_total"), 0);
}

/* As in a volume of Kubernetes: cert.pem -> ..data/cert.pem, and ..data -> a folder. */
TEST_FIXTURE(a_secret_whose_link_is_swapped_is_read_again, set_up, tear_down)
{
	struct fixture *f = *state;
	char volume[2][128], data[128], next[128], cert[512], key[512];
	struct err err;

	snprintf(data, sizeof(data), "%s/..data", f->files.dir);
	snprintf(next, sizeof(next), "%s/..data_tmp", f->files.dir);
	for (int i = 0; i < 2; i++) {
		snprintf(volume[i], sizeof(volume[i]), "%s/..%d", f->files.dir, i);
		assert_int_equal(mkdir(volume[i], 0700), 0);
		tls_files_replace(&f->files, i == 0 ? "first" : "second");
		snprintf(cert, sizeof(cert), "%s/cert.pem", volume[i]);
		snprintf(key, sizeof(key), "%s/key.pem", volume[i]);
		assert_int_equal(rename(f->files.cert, cert), 0);
		assert_int_equal(rename(f->files.key, key), 0);
	}
	assert_int_equal(symlink("..0", data), 0);
	assert_int_equal(symlink("..data/cert.pem", f->files.cert), 0);
	assert_int_equal(symlink("..data/key.pem", f->files.key), 0);
	assert_int_equal(server_tls_new(&f->tls, f->files.cert, f->files.key, &err), 0);
	serve(f, 30);
	assert_served(f, "first");

	assert_int_equal(symlink("..1", next), 0);
	assert_int_equal(rename(next, data), 0);
	server_tls_refresh(f->tls);
	assert_served(f, "second");

	unlink(data);
	for (int i = 0; i < 2; i++) {
		snprintf(cert, sizeof(cert), "%s/cert.pem", volume[i]);
		snprintf(key, sizeof(key), "%s/key.pem", volume[i]);
		unlink(cert);
		unlink(key);
		rmdir(volume[i]);
	}
}

TEST_FIXTURE(a_pair_that_is_half_replaced_waits_for_its_other_half, set_up, tear_down)
{
	struct fixture *f = *state;
	char old_key[128];

	start(f);
	snprintf(old_key, sizeof(old_key), "%s/old", f->files.dir);
	assert_int_equal(rename(f->files.key, old_key), 0);
	tls_files_replace(&f->files, "second");
	/* the new certificate with the old key, then with its own */
	assert_int_equal(renameat2(AT_FDCWD, old_key, AT_FDCWD, f->files.key, RENAME_EXCHANGE), 0);
	server_tls_refresh(f->tls);
	assert_served(f, "first");
	assert_int_equal(renameat2(AT_FDCWD, old_key, AT_FDCWD, f->files.key, RENAME_EXCHANGE), 0);
	server_tls_refresh(f->tls);
	assert_served(f, "second");
	assert_int_equal(metric_of(f, "certificate_load_failures_total"), 0);
	unlink(old_key);
}

TEST_FIXTURE(a_broken_pair_keeps_the_old_one_and_is_reported_once, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f);
	tls_files_write_text(f->files.cert, "not a certificate");
	for (int i = 0; i < 5; i++)
		server_tls_refresh(f->tls);
	assert_served(f, "first");
	assert_int_equal(metric_of(f, "certificate_load_failures_total"), 1);
	assert_int_equal(unlink(f->files.cert), 0);
	for (int i = 0; i < 5; i++)
		server_tls_refresh(f->tls);
	assert_served(f, "first");
	assert_int_equal(metric_of(f, "certificate_load_failures_total"), 2);
	tls_files_replace(&f->files, "second");
	server_tls_refresh(f->tls);
	assert_served(f, "second");
	assert_int_equal(metric_of(f, "certificate_loads_total"), 2);
}

TEST_FIXTURE(the_expiry_is_a_metric, set_up, tear_down)
{
	struct fixture *f = *state;
	static const long valid_s[2] = {-3600, 7200};
	static const long expired_s[2] = {-7200, -3600};
	uint64_t expiry, now = (uint64_t)time(NULL);

	tls_files_write(&f->files, TLS_KEY_EC, "first", valid_s);
	load(f);
	expiry = metric_of(f, "certificate_expiry_timestamp_seconds");
	assert_in_range(expiry, now + 7200 - 60, now + 7200);

	tls_files_write(&f->files, TLS_KEY_EC, "expired", expired_s);
	server_tls_refresh(f->tls);
	assert_true(metric_of(f, "certificate_expiry_timestamp_seconds") < now);
	serve(f, 30);
	{
		CLEANUP(tls_client_close) struct tls_client c = {0};

		assert_int_equal(open_client(f, &c, NULL), GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR);
	}
}

/* ---- errors ------------------------------------------------------------------ */

static void assert_refused(const char *cert, const char *key, int error, const char *text)
{
	struct server_tls *t = NULL;
	struct err err = {""};

	assert_int_equal(server_tls_new(&t, cert, key, &err), error);
	assert_has(err.msg, text);
	assert_null(t);
}

TEST_FIXTURE(what_is_wrong_with_the_files_is_said, set_up, tear_down)
{
	struct fixture *f = *state;
	struct server_tls *t = (struct server_tls *)f;
	char encrypted[4096];
	size_t size = sizeof(encrypted) - 1;
	struct tls_files other;

	assert_int_equal(server_tls_new(&t, NULL, "", NULL), 0);
	assert_null(t);
	tls_files_replace(&f->files, "first");
	assert_refused(f->files.cert, NULL, -EINVAL, "--tls-cert and --tls-key go together");
	assert_refused("", f->files.key, -EINVAL, "--tls-cert and --tls-key go together");
	assert_refused("/nowhere/cert.pem", f->files.key, -ENOENT,
		       "--tls-cert: cannot read /nowhere/cert.pem: No such file or directory");
	assert_refused(f->files.cert, "/nowhere/key.pem", -ENOENT,
		       "--tls-key: cannot read /nowhere/key.pem: No such file or directory");
	assert_refused(f->files.dir, f->files.key, -EISDIR, "Is a directory");
	assert_refused("/dev/zero", f->files.key, -EFBIG, "--tls-cert: cannot read /dev/zero");
	assert_refused("/dev/null", f->files.key, -EINVAL, "has no certificate in PEM format");
	assert_refused(f->files.key, f->files.key, -EINVAL, "has no certificate in PEM format");
	assert_refused(f->files.cert, f->files.cert, -EINVAL, "has no private key in PEM format");
	assert_refused(f->files.cert, "/dev/null", -EINVAL, "has no private key in PEM format");

	tls_files_init(&other);
	tls_files_replace(&other, "other");
	assert_refused(f->files.cert, other.key, -EINVAL,
		       "is not the key of the first certificate in");
	assert_int_equal(gnutls_x509_privkey_export_pkcs8(other.root.key, GNUTLS_X509_FMT_PEM,
							  "secret", GNUTLS_PKCS_PBES2_AES_256,
							  encrypted, &size),
			 0);
	encrypted[size] = '\0';
	tls_files_write_text(other.key, encrypted);
	assert_refused(f->files.cert, other.key, -EINVAL, "is encrypted");
	tls_files_fini(&other);
}

static int try_to_load(void *arg)
{
	struct fixture *f = arg;
	struct server_tls *t = NULL;
	int r = server_tls_new(&t, f->files.cert, f->files.key, NULL);

	server_tls_free(t);
	return r;
}

TEST_FIXTURE(a_lack_of_memory_is_reported, set_up, tear_down)
{
	struct fixture *f = *state;

	tls_files_replace(&f->files, "first");
	check_oom(try_to_load, f);
}

/* ---- connections ------------------------------------------------------------- */

TEST_FIXTURE(only_current_versions_and_ciphers_are_spoken, set_up, tear_down)
{
	static const struct {
		const char *priorities;
		bool works;
	} cases[] = {
		{TLS_OF("TLS1.3"), true},
		{TLS_OF("TLS1.2"), true},
		{TLS_OF("TLS1.1"), false},
		{TLS_OF("TLS1.0"), false},
		{TLS_OF("TLS1.2") ":-CIPHER-ALL:+AES-128-CBC", false},
		{TLS_OF("TLS1.2") ":-KX-ALL:+RSA", false},
	};
	struct fixture *f = *state;

	start(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(tls_client_close) struct tls_client c = {0};
		gnutls_datum_t protocol = {0};
		int r = open_client(f, &c, cases[i].priorities);

		if (cases[i].works != (r == 0))
			fail_msg("%s: %s", cases[i].priorities, gnutls_strerror(r));
		if (r < 0)
			continue;
		assert_int_equal(gnutls_alpn_get_selected_protocol(c.session, &protocol), 0);
		assert_int_equal(protocol.size, 8);
		ask(&c, REQUEST("/", "close"), "0 bytes");
	}
	wait_for_metric(f, "failed_handshakes_total", 4);
}

TEST_FIXTURE(large_bodies_pass_both_ways, set_up, tear_down)
{
	CLEANUP(tls_client_close) struct tls_client c = {0};
	AUTO_FREE char *body = malloc(LARGE_BYTES), *answer = NULL;
	struct fixture *f = *state;
	char head[128];

	start(f);
	connect_client(f, &c);
	memset(body, 'b', LARGE_BYTES);
	snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
		 LARGE_BYTES);
	tls_client_send(&c, head, strlen(head));
	tls_client_send(&c, body, LARGE_BYTES);
	answer = tls_client_read(&c, "3145728 bytes");
	assert_has(answer, "3145728 bytes");
	free(answer);
	tls_client_send(&c, REQUEST("/large", "close"), strlen(REQUEST("/large", "close")));
	answer = tls_client_read(&c, NULL);
	assert_has(answer, "Content-Length: 3145728");
	assert_int_equal(strlen(strstr(answer, "\r\n\r\n")), LARGE_BYTES + 4);
}

TEST_FIXTURE(plain_http_gets_an_answer_that_it_understands, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *answer = NULL;

	start(f);
	fd = raw_client_connect(http_server_port(f->server));
	raw_client_send(fd, REQUEST("/", "keep-alive"));
	answer = raw_client_read(fd, NULL);
	assert_has(answer, "HTTP/1.1 426");
	assert_has(answer, "use https://");
	wait_for_metric(f, "plain_requests_total", 1);
	assert_served(f, "first");
	assert_int_equal(metric_of(f, "failed_handshakes_total"), 0);
}

TEST_FIXTURE(bytes_that_are_no_handshake_end_the_connection, set_up, tear_down)
{
	static const char *const inputs[] = {"\x16\x03\x01\x00\x05hello", "\x80\x2e\x01",
					     "\r\n\r\n", "\x16\x03\x03\xff\xff",
					     "get / http/1.0\r\n\r\n"};
	struct fixture *f = *state;

	start(f);
	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
		AUTO_CLOSE int fd = raw_client_connect(http_server_port(f->server));
		AUTO_FREE char *answer = NULL;

		raw_client_send(fd, inputs[i]);
		(void)shutdown(fd, SHUT_WR); /* the server may have closed it already */
		answer = raw_client_read(fd, NULL);
		assert_served(f, "first");
	}
	wait_for_metric(f, "failed_handshakes_total", ARRAY_SIZE(inputs));
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/*
 * Neither a client that says nothing nor one that stops within its first message holds the server
 * up: they are closed, and cost no CPU until then, which a load of the machine can only reduce.
 */
TEST_FIXTURE(handshakes_that_stop_are_cheap_and_bounded, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int silent = -1;
	AUTO_CLOSE int stopped = -1;
	uint64_t cpu, wall;

	tls_files_replace(&f->files, "first");
	load(f);
	serve(f, 2);
	silent = raw_client_connect(http_server_port(f->server));
	stopped = raw_client_connect(http_server_port(f->server));
	raw_client_send(stopped, "\x16\x03\x01\x02");
	assert_served(f, "first");
	cpu = cpu_ns();
	wall = clock_monotonic_ns();
	free(raw_client_read(silent, NULL));
	free(raw_client_read(stopped, NULL));
	assert_true(cpu_ns() - cpu < (clock_monotonic_ns() - wall) / 2);
	wait_for_metric(f, "failed_handshakes_total", 2);
}

TEST_FIXTURE(kept_exchanges_are_answered_later, set_up, tear_down)
{
	struct tls_client clients[8] = {0};
	struct fixture *f = *state;

	start(f);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		connect_client(f, &clients[i]);
		tls_client_send(&clients[i], REQUEST("/later", "keep-alive"),
				strlen(REQUEST("/later", "keep-alive")));
	}
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		http_respond_text(queue_pop(f->kept), 200, "at last");
	}
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		AUTO_FREE char *answer = tls_client_read(&clients[i], "at last");

		assert_has(answer, "at last");
		ask(&clients[i], REQUEST("/", "close"), "0 bytes");
		tls_client_close(&clients[i]);
	}
}

static void set_flag(void *flag)
{
	atomic_store((atomic_bool *)flag, true);
}

TEST_FIXTURE(a_kept_exchange_learns_that_its_client_has_left, set_up, tear_down)
{
	struct tls_client c = {0};
	struct fixture *f = *state;
	struct http_exchange *x;
	atomic_bool left = false;

	start(f);
	connect_client(f, &c);
	tls_client_send(&c, REQUEST("/later", "keep-alive"),
			strlen(REQUEST("/later", "keep-alive")));
	x = queue_pop(f->kept);
	http_exchange_on_left(x, set_flag, &left);
	tls_client_close(&c);
	eventually(atomic_load(&left));
	http_respond_text(x, 200, "too late");
}

static void *ask_often(void *arg)
{
	const struct fixture *f = arg;

	for (int i = 0; i < 10; i++) {
		CLEANUP(tls_client_close) struct tls_client c = {0};

		connect_client(f, &c);
		for (int k = 0; k < 3; k++)
			ask(&c, REQUEST("/", "keep-alive"), "0 bytes");
	}
	return NULL;
}

TEST_FIXTURE(many_clients_are_served_while_the_certificate_is_replaced, set_up, tear_down)
{
	struct fixture *f = *state;
	pthread_t threads[6];

	start(f);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, f), 0);
	for (int i = 0; i < 20; i++) {
		tls_files_replace(&f->files, "next");
		server_tls_refresh(f->tls);
	}
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_served(f, "next");
	assert_int_equal(metric_of(f, "certificate_loads_total"), 21);
}

int main(void)
{
	return unit_run(NULL, NULL);
}
