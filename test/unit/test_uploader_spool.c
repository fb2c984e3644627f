/*
 * The uploader with a spool: a real directory and a server on loopback. For kills, the test starts
 * itself again as a sender.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "common/access/sent_key.h"
#include "common/data/table.h"
#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "common/text/secret.h"
#include "common/upload/spool_files.h"
#include "common/upload/uploader.h"
#include "test/lib/script_server.h"
#include "test/lib/silent_file.h"
#include "test/lib/unit.h"

#define PATIENCE_NS (300 * NS_PER_S)
#define MAX_RECEIVED 20000u

/* A key that the server has accepted. */
struct seen {
	UT_hash_handle hh;
	char key[33];
	char body[16];
	unsigned n;
};

struct fixture {
	struct sent_key *sent;
	const char *dir;
	/* the receiver */
	struct http_server *server;
	pthread_mutex_t lock;
	struct seen *seen; /* under the lock, as the next two */
	unsigned order[MAX_RECEIVED];
	unsigned n_received; /* different ones */
	_Atomic unsigned status;
	_Atomic unsigned n_requests;
	const char *_Atomic key;
	/* the sender */
	struct loop *loop;
	struct http_client *client;
	struct uploader *uploader;
	struct metrics *metrics;
	struct loop_source *timer;
	uint64_t store_after_ns;
	uint64_t disk_pause_ns;
	uint64_t max_bytes;
	size_t queue_bytes;    /* 0: 1 MiB */
	const char *spool_dir; /* NULL: dir */
	char note[64];         /* that the spool had */
};

/* ---- the receiver ---- */

static void note(struct fixture *f, const char *key, const char *body, size_t len)
{
	struct seen *s = NULL;

	pthread_mutex_lock(&f->lock);
	HASH_FIND_STR(f->seen, key, s);
	if (!s) {
		s = calloc(1, sizeof(*s));
		assert_non_null(s);
		snprintf(s->key, sizeof(s->key), "%s", key);
		snprintf(s->body, sizeof(s->body), "%.*s", (int)len, body);
		HASH_ADD_STR(f->seen, key, s);
		assert_true(f->n_received < MAX_RECEIVED);
		f->order[f->n_received++] = (unsigned)strtoul(s->body, NULL, 10);
	}
	s->n++;
	pthread_mutex_unlock(&f->lock);
}

static void answer(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	const char *key = http_exchange_header(x, "Idempotency-Key");
	size_t len;
	const char *body = http_exchange_body(x, &len);
	unsigned status = atomic_load(&f->status);
	const char *wanted = atomic_load(&f->key);

	atomic_fetch_add(&f->n_requests, 1);
	if (wanted[0] && !secret_equal(http_exchange_header(x, "X-Api-Key"), wanted))
		status = 401;
	if (status == 200)
		note(f, key ? key : "", body, len);
	http_respond_text(x, status, "%u", status);
}

static void start_server(struct fixture *f)
{
	const struct http_route routes[] = {{"POST", "/v1/profiles", 1 << 20, answer, f}, {}};
	const struct http_server_config server = {
		.listen = "127.0.0.1:0",
		.max_connections = 64,
		.timeout_s = 300,
		.max_body_memory_bytes = 1 << 24,
		.routes = routes,
	};
	struct err err = {""};

	assert_int_equal(http_server_new(&f->server, &server, &err), 0);
}

static unsigned n_received(struct fixture *f)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->n_received;
	pthread_mutex_unlock(&f->lock);
	return n;
}

/* ---- the sender ---- */

static void on_timer(void *ctx)
{
	struct fixture *f = ctx;

	loop_stop(f->loop);
}

static void start_sender(struct fixture *f, unsigned port, const char *key, unsigned max_sending)
{
	AUTO_FREE char *endpoint = NULL;

	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(sent_key_new(&f->sent, key, NULL, NULL), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(loop_add_timer(f->loop, on_timer, f, &f->timer), 0);
	assert_int_equal(http_client_new(&f->client, f->loop, &(struct http_client_config){0}), 0);
	assert_true(asprintf(&endpoint, "http://127.0.0.1:%u/v1/profiles", port) > 0);
	const struct uploader_config cfg = {
		.endpoint = endpoint,
		.key = f->sent,
		.max_items = 1000,
		.max_bytes = f->queue_bytes ? f->queue_bytes : 1 << 20,
		.max_sending = max_sending,
		.timeout_ns = PATIENCE_NS,
		.retry_min_ns = 2 * NS_PER_MS,
		.retry_max_ns = 20 * NS_PER_MS,
		.slow_retry_max_ns = 20 * NS_PER_MS,
		.spool_dir = f->spool_dir ? f->spool_dir : f->dir,
		.spool_max_bytes = f->max_bytes ? f->max_bytes : 64 << 20,
		.store_after_ns = f->store_after_ns,
		.disk_pause_ns = f->disk_pause_ns,
	};
	assert_int_equal(uploader_new(&f->uploader, f->loop, f->client, &cfg), 0);
	assert_int_equal(uploader_register_metrics(f->uploader, "test", f->metrics), 0);
}

static void stop_sender(struct fixture *f)
{
	metrics_free(f->metrics);
	http_client_free(f->client);
	uploader_free(f->uploader);
	sent_key_free(f->sent);
	f->sent = NULL;
	loop_free(f->loop);
	f->loop = NULL;
	f->metrics = NULL;
	f->client = NULL;
	f->uploader = NULL;
}

static void turn(struct fixture *f)
{
	loop_set_timer(f->timer, 2 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
}

static void add(struct fixture *f, unsigned n)
{
	const struct upload_label labels[] = {{"service.name", "a"}, {}};
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 100);
	assert_int_equal(buf_addf(&b, "%u", n), 0);
	assert_int_equal(uploader_add(f->uploader, labels, &b), 0);
}

static double metric(struct fixture *f, const char *name)
{
	CLEANUP(buf_fini) struct buf b;
	char line[128];
	const char *at;

	buf_init(&b, 1 << 20);
	assert_int_equal(metrics_write(f->metrics, &b), 0);
	snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(b.data, line);
	if (!at)
		fail_msg("no %s in:\n%s", name, b.data);
	return strtod(at + strlen(line), NULL);
}

static void wait_for_metric(struct fixture *f, const char *name, double value)
{
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;

	while (metric(f, name) != value) {
		turn(f);
		if (clock_monotonic_ns() > end_ns)
			fail_msg("%s is %g", name, metric(f, name));
	}
}

static void wait_for_received(struct fixture *f, unsigned n)
{
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;

	while (n_received(f) < n) {
		turn(f);
		assert_true(clock_monotonic_ns() < end_ns);
	}
}

static void assert_none_dropped(struct fixture *f)
{
	static const char *const reasons[] = {"queue_full", "rejected",   "shutdown",
					      "unqueued",   "spool_full", "spool_damaged"};
	char name[96];

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		snprintf(name, sizeof(name), "test_profiles_dropped_total{reason=\"%s\"}",
			 reasons[i]);
		assert_true(metric(f, name) == 0);
	}
}

/* Each of first to last was accepted, under a key of its own. */
static void assert_received(struct fixture *f, unsigned first, unsigned last)
{
	AUTO_FREE unsigned *counts = calloc(last + 1, sizeof(*counts));
	struct seen *s, *next;

	assert_non_null(counts);
	pthread_mutex_lock(&f->lock);
	HASH_ITER(hh, f->seen, s, next)
	{
		unsigned n = (unsigned)strtoul(s->body, NULL, 10);

		assert_in_range(n, first, last);
		counts[n]++;
	}
	pthread_mutex_unlock(&f->lock);
	for (unsigned n = first; n <= last; n++)
		assert_int_equal(counts[n], 1);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	*state = f;
	f->dir = temp_dir();
	pthread_mutex_init(&f->lock, NULL);
	atomic_store(&f->status, 200);
	atomic_store(&f->key, "");
	start_server(f);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	struct seen *s, *next;
	char command[128];

	stop_sender(f);
	http_server_free(f->server);
	HASH_ITER(hh, f->seen, s, next)
	{
		HASH_DEL(f->seen, s);
		free(s);
	}
	(void)umount2(f->dir, MNT_DETACH);
	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

/* Fills the spool with n profiles, while nothing listens. */
static void spool_profiles(struct fixture *f, unsigned n)
{
	start_sender(f, 1, NULL, 4);
	wait_for_metric(f, "test_upload_spool_usable", 1);
	for (unsigned i = 1; i <= n; i++)
		add(f, i);
	wait_for_metric(f, "test_upload_queue_profiles", 0);
	assert_true(metric(f, "test_upload_spool_profiles") == n);
	assert_none_dropped(f);
	stop_sender(f);
}

static unsigned port_of(const struct fixture *f)
{
	return http_server_port(f->server);
}

TEST_FIXTURE(what_waited_is_delivered_by_the_next_process_oldest_first, set_up, tear_down)
{
	struct fixture *f = *state;

	spool_profiles(f, 200);
	start_sender(f, port_of(f), NULL, 1);
	wait_for_received(f, 200);
	wait_for_metric(f, "test_upload_spool_profiles", 0);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(f->order[i], i + 1);
	assert_int_equal(f->n_requests, 200);
	assert_none_dropped(f);
}

TEST_FIXTURE(an_hour_with_a_refused_key_loses_nothing, set_up, tear_down)
{
	struct fixture *f = *state;

	atomic_store(&f->key, "new key");
	start_sender(f, port_of(f), "old key", 4);
	for (unsigned i = 1; i <= 500; i++) {
		add(f, i);
		if (i % 10 == 0)
			turn(f);
	}
	wait_for_metric(f, "test_upload_spool_profiles", 500);
	assert_true(f->n_requests > 0);
	assert_int_equal(n_received(f), 0);
	assert_null(uploader_problem(f->uploader));
	stop_sender(f);

	start_sender(f, port_of(f), "new key", 4);
	wait_for_received(f, 500);
	wait_for_metric(f, "test_upload_spool_profiles", 0);
	assert_received(f, 1, 500);
	assert_none_dropped(f);
}

TEST_FIXTURE(an_outage_is_made_up_for_without_a_restart, set_up, tear_down)
{
	struct fixture *f = *state;

	atomic_store(&f->status, 503);
	start_sender(f, port_of(f), NULL, 8);
	for (unsigned i = 1; i <= 100; i++)
		add(f, i);
	wait_for_metric(f, "test_upload_spool_profiles", 100);
	atomic_store(&f->status, 200);
	for (unsigned i = 101; i <= 150; i++) {
		add(f, i);
		turn(f);
	}
	wait_for_received(f, 150);
	wait_for_metric(f, "test_upload_spool_profiles", 0);
	assert_received(f, 1, 150);
	assert_none_dropped(f);
}

TEST_FIXTURE(neither_the_backlog_nor_new_profiles_starve, set_up, tear_down)
{
	struct fixture *f = *state;
	unsigned n_new = 0, n_old = 0, n;
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;

	spool_profiles(f, 300);
	start_sender(f, port_of(f), NULL, 4);
	/* new ones arrive as fast as they can be sent, until the backlog is gone */
	while (n_received(f) < 300 + n_new) {
		while (n_old < 300 && uploader_pending(f->uploader) < 20)
			add(f, 301 + n_new++);
		turn(f);
		pthread_mutex_lock(&f->lock);
		n_old = 0;
		for (unsigned i = 0; i < f->n_received; i++)
			n_old += f->order[i] <= 300;
		pthread_mutex_unlock(&f->lock);
		assert_true(clock_monotonic_ns() < end_ns);
	}
	for (n = 0; f->order[n] <= 300; n++)
		;
	assert_true(n < 150); /* a new one did not wait for the backlog */
	assert_received(f, 1, 300 + n_new);
}

TEST_FIXTURE(a_receiver_that_never_answers_costs_no_profile, set_up, tear_down)
{
	struct fixture *f = *state;
	struct script_server silent = {.n_replies = 0};

	f->store_after_ns = 1 * NS_PER_MS;
	script_server_start(&silent);
	start_sender(f, (unsigned)strtoul(strrchr(silent.url, ':') + 1, NULL, 10), NULL, 2);
	for (unsigned i = 1; i <= 20; i++)
		add(f, i);
	wait_for_metric(f, "test_upload_spool_profiles", 20);
	stop_sender(f);
	script_server_stop(&silent);
	start_sender(f, port_of(f), NULL, 2);
	wait_for_received(f, 20);
	assert_received(f, 1, 20);
}

TEST_FIXTURE(what_waits_at_the_end_is_written_however_much_it_is, set_up, tear_down)
{
	const struct upload_label labels[] = {{"service.name", "a"}, {}};
	CLEANUP(spool_files_closep) struct spool_files *files = NULL;
	struct fixture *f = *state;
	const struct spool_files_config cfg = {.dir = f->dir, .max_bytes = 64 << 20};
	struct script_server silent = {.n_replies = 0};
	struct spool_state s;
	struct err err = {""};

	f->queue_bytes = 64 << 20;
	f->store_after_ns = PATIENCE_NS;
	script_server_start(&silent);
	start_sender(f, (unsigned)strtoul(strrchr(silent.url, ':') + 1, NULL, 10), NULL, 2);
	uploader_set_close_time(f->uploader, PATIENCE_NS);
	wait_for_metric(f, "test_upload_spool_usable", 1);
	for (unsigned i = 0; i < 24; i++) {
		CLEANUP(buf_fini) struct buf b;

		buf_init(&b, 1 << 20);
		assert_int_equal(buf_reserve(&b, 1 << 20), 0);
		memset(b.data, 'x', 1 << 20);
		b.len = 1 << 20;
		assert_int_equal(uploader_add(f->uploader, labels, &b), 0);
	}
	stop_sender(f);
	script_server_stop(&silent);
	assert_int_equal(spool_files_open(&files, &cfg, &err), 0);
	spool_files_state(files, &s);
	assert_int_equal(s.n_profiles, 24);
}

TEST_FIXTURE(without_a_spool_profiles_wait_in_memory, set_up, tear_down)
{
	static const char *const dirs[] = {"", "/proc/nowhere/spool"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		f->spool_dir = dirs[i];
		atomic_store(&f->status, 503);
		start_sender(f, port_of(f), NULL, 4);
		for (unsigned n = 1; n <= 50; n++)
			add(f, (unsigned)i * 50 + n);
		for (unsigned n = 0; n < 20; n++)
			turn(f);
		assert_true(metric(f, "test_upload_spool_usable") == 0);
		assert_true(metric(f, "test_upload_queue_profiles") == 50);
		atomic_store(&f->status, 200);
		wait_for_metric(f, "test_upload_queue_profiles", 0);
		assert_none_dropped(f);
		stop_sender(f);
	}
	assert_received(f, 1, 100);
}

TEST_FIXTURE(a_disk_that_does_not_answer_holds_up_nothing, set_up, tear_down)
{
	struct fixture *f = *state;
	struct silent_file *silent = silent_file_new();
	uint64_t begin_ns;
	char path[64];

	assert_non_null(silent);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/spool", silent->mount);
	f->spool_dir = path;
	silent_file_silence(silent);
	start_sender(f, port_of(f), NULL, 4);
	while (!silent_file_is_waited_for(silent))
		turn(f);
	/* profiles are sent from memory */
	for (unsigned i = 1; i <= 50; i++)
		add(f, i);
	wait_for_received(f, 50);
	wait_for_metric(f, "test_upload_queue_profiles", 0);
	assert_true(metric(f, "test_upload_spool_usable") == 0);
	/* and the end does not wait for the disk for long */
	atomic_store(&f->status, 503);
	add(f, 51);
	begin_ns = clock_monotonic_ns();
	stop_sender(f);
	assert_in_range(clock_monotonic_ns() - begin_ns, 0, 60 * NS_PER_S);
	assert_true(silent_file_is_waited_for(silent));
	silent_file_free(silent);
	assert_received(f, 1, 50);
}

TEST_FIXTURE(a_full_spool_drops_the_oldest_and_says_so, set_up, tear_down)
{
	struct fixture *f = *state;
	double dropped;

	f->max_bytes = 128 * 1024;
	atomic_store(&f->status, 503);
	start_sender(f, port_of(f), NULL, 4);
	wait_for_metric(f, "test_upload_spool_usable", 1);
	for (unsigned i = 1; i <= 3000; i++) {
		add(f, i);
		/* what is being written cannot make room, and the disk may be slow */
		while (i % 50 == 0 && metric(f, "test_upload_queue_profiles") > 500)
			turn(f);
		if (i % 50 == 0)
			turn(f);
	}
	wait_for_metric(f, "test_upload_queue_profiles", 0);
	dropped = metric(f, "test_profiles_dropped_total{reason=\"spool_full\"}");
	assert_true(dropped > 0);
	assert_true(metric(f, "test_upload_spool_profiles") + dropped >= 3000 - 8);
	assert_non_null(uploader_problem(f->uploader));
	atomic_store(&f->status, 200);
	wait_for_metric(f, "test_upload_spool_profiles", 0);
	assert_null(uploader_problem(f->uploader));
	dropped = metric(f, "test_profiles_dropped_total{reason=\"spool_full\"}");
	assert_true(n_received(f) >= 3000 - dropped);
}

TEST_FIXTURE(a_full_disk_is_tried_with_one_profile_at_a_time, set_up, tear_down)
{
	struct fixture *f = *state;
	double errors;
	char path[96];
	uint64_t start_ns;
	int fd;

	assert_int_equal(mount("none", f->dir, "tmpfs", 0, "size=256k"), 0);
	f->disk_pause_ns = 50 * NS_PER_MS;
	atomic_store(&f->status, 503);
	start_sender(f, port_of(f), NULL, 4);
	wait_for_metric(f, "test_upload_spool_usable", 1);
	snprintf(path, sizeof(path), "%s/other", f->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, path, sizeof(path)) > 0)
		;
	close(fd);
	for (unsigned i = 1; i <= 200; i++)
		add(f, i);
	/* the first ones were on their way together */
	while (metric(f, "test_upload_spool_errors_total") < 1)
		turn(f);
	for (int i = 0; i < 100; i++)
		turn(f);
	errors = metric(f, "test_upload_spool_errors_total");
	start_ns = clock_monotonic_ns();
	while (metric(f, "test_upload_spool_errors_total") < errors + 5)
		turn(f);
	assert_true((metric(f, "test_upload_spool_errors_total") - errors - 2) *
			    (double)f->disk_pause_ns <=
		    (double)(clock_monotonic_ns() - start_ns));
	assert_int_equal(unlink(path), 0);
	wait_for_metric(f, "test_upload_queue_profiles", 0);
	assert_int_equal(metric(f, "test_upload_spool_profiles"), 200);
	assert_none_dropped(f);
}

TEST_FIXTURE(a_poisoned_profile_does_not_block_the_backlog, set_up, tear_down)
{
	struct fixture *f = *state;

	spool_profiles(f, 30);
	atomic_store(&f->status, 500);
	start_sender(f, port_of(f), NULL, 4);
	while (f->n_requests < 40)
		turn(f);
	atomic_store(&f->status, 200);
	wait_for_received(f, 30);
	wait_for_metric(f, "test_upload_spool_profiles", 0);
	assert_received(f, 1, 30);
	assert_none_dropped(f);
}

/* ---- the note ---- */

static void keep_note(void *ctx, const char *text)
{
	struct fixture *f = ctx;

	snprintf(f->note, sizeof(f->note), "%s", text);
}

/* Starts a sender and waits until it has opened its spool. */
static void start_with_note(struct fixture *f, unsigned port)
{
	f->note[0] = '\0';
	start_sender(f, port, NULL, 1);
	uploader_on_note(f->uploader, keep_note, f);
	wait_for_metric(f, "test_upload_spool_usable", 1);
	turn(f);
}

static void overwrite_notes(const struct fixture *f, const char *text)
{
	char command[192];

	snprintf(command, sizeof(command),
		 "for n in %s/profiles/receiver-*; do printf '%s' > $n; done", f->dir, text);
	assert_int_equal(system(command), 0);
}

TEST_FIXTURE(a_note_is_kept_for_each_endpoint, set_up, tear_down)
{
	struct fixture *f = *state;
	char command[128], large[2048];

	start_with_note(f, 1);
	assert_string_equal(f->note, "");
	uploader_write_note(f->uploader, "first");
	uploader_write_note(f->uploader, "ignored: the first is not written yet");
	stop_sender(f);
	start_with_note(f, 2);
	assert_string_equal(f->note, "");
	uploader_write_note(f->uploader, "another");
	stop_sender(f);
	start_with_note(f, 1);
	assert_string_equal(f->note, "first");
	uploader_write_note(f->uploader, "second");
	stop_sender(f);
	start_with_note(f, 1);
	assert_string_equal(f->note, "second");
	/* it is left as it is, and no half of another one stays */
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	uploader_write_note(f->uploader, large);
	stop_sender(f);
	start_with_note(f, 1);
	assert_string_equal(f->note, "second");
	stop_sender(f);
	snprintf(command, sizeof(command), "test $(ls %s/profiles | wc -l) = 3", f->dir);
	assert_int_equal(system(command), 0);

	/* what the disk makes of it is for the reader to judge */
	overwrite_notes(f, "");
	start_with_note(f, 2);
	assert_string_equal(f->note, "");
}

TEST_FIXTURE(without_a_spool_there_is_no_note, set_up, tear_down)
{
	struct fixture *f = *state;

	f->spool_dir = "";
	start_sender(f, port_of(f), NULL, 1);
	uploader_on_note(f->uploader, keep_note, f);
	uploader_write_note(f->uploader, "text");
	turn(f);
	assert_string_equal(f->note, "");
}

/* ---- kills ---- */

/* The program of a sender that is killed: numbered profiles from first on, a few at a time. */
_Noreturn static void send_for_ever(const char *dir, const char *port, const char *first)
{
	unsigned n = (unsigned)strtoul(first, NULL, 10);
	struct fixture f = {.dir = dir, .store_after_ns = 1 * NS_PER_MS};

	start_sender(&f, (unsigned)strtoul(port, NULL, 10), NULL, 4);
	for (;;) {
		if (n > 0 && uploader_pending(f.uploader) < 50)
			add(&f, n++);
		turn(&f);
	}
}

static pid_t start_killable(const struct fixture *f, unsigned first)
{
	char port[16], number[16];
	pid_t pid;

	snprintf(port, sizeof(port), "%u", port_of(f));
	snprintf(number, sizeof(number), "%u", first);
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "sender", f->dir, port, number, NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static void kill_and_wait(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

struct on_disk {
	struct on_disk *next;
	char key[33];
};

/* Adds the keys of all profiles on disk to the list. Returns their number. */
static unsigned list_disk(const struct fixture *f, struct on_disk **list)
{
	const struct spool_files_config cfg = {.dir = f->dir, .max_bytes = 64 << 20};
	CLEANUP(spool_files_closep) struct spool_files *files = NULL;
	struct upload_item *item;
	struct spool_place place;
	struct err err = {""};
	unsigned n = 0;

	assert_int_equal(spool_files_open(&files, &cfg, &err), 0);
	for (; spool_files_take(files, &item, &place) == 0; n++) {
		struct on_disk *d = calloc(1, sizeof(*d));

		assert_non_null(d);
		snprintf(d->key, sizeof(d->key), "%s", item->key.text);
		d->next = *list;
		*list = d;
		upload_item_unref(item);
	}
	return n;
}

TEST_FIXTURE(what_is_on_disk_survives_kills_and_arrives, set_up, tear_down)
{
	struct fixture *f = *state;
	struct on_disk *list = NULL;
	unsigned n_on_disk = 0;
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;
	pid_t pid;

	for (unsigned round = 0; round < 24; round++) {
		unsigned before = f->n_requests;

		/* down, up, and failing in the middle of it */
		atomic_store(&f->status, round % 3 == 0 ? 503 : 200);
		pid = start_killable(f, 1000 * (round + 1));
		while (f->n_requests < before + 3 + round && clock_monotonic_ns() < end_ns)
			usleep(1000);
		if (round % 3 == 2)
			atomic_store(&f->status, 500);
		usleep(10000 * (round % 5));
		kill_and_wait(pid);
		n_on_disk += list_disk(f, &list);
	}
	assert_true(n_on_disk > 0);
	atomic_store(&f->status, 200);
	pid = start_killable(f, 0);
	for (struct on_disk *d; (d = list);) {
		struct seen *s = NULL;

		pthread_mutex_lock(&f->lock);
		HASH_FIND_STR(f->seen, d->key, s);
		pthread_mutex_unlock(&f->lock);
		if (!s) {
			assert_true(clock_monotonic_ns() < end_ns);
			usleep(1000);
			continue;
		}
		list = d->next;
		free(d);
	}
	kill_and_wait(pid);
}

int main(int argc, char **argv)
{
	if (argc == 4)
		send_for_ever(argv[1], argv[2], argv[3]);
	return unit_run(NULL, NULL);
}
