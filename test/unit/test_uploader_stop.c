/* What the uploader still has when its agent stops is on disk afterwards. */
#include <fcntl.h>
#include <sys/mount.h>

#include "common/access/sent_key.h"
#include "common/system/clock.h"
#include "common/upload/spool_files.h"
#include "common/upload/uploader.h"
#include "test/lib/script_server.h"
#include "test/lib/unit.h"

#define PATIENCE_NS (300 * NS_PER_S)

struct fixture {
	const char *dir;
	struct sent_key *key;
	struct loop *loop;
	struct http_client *client;
	struct uploader *uploader;
	struct metrics *metrics;
	struct loop_source *timer;
	bool is_mounted;
};

static void on_timer(void *ctx)
{
	struct fixture *f = ctx;

	loop_stop(f->loop);
}

/* Nothing is written or tried again by itself. */
static void start(struct fixture *f, const char *url)
{
	AUTO_FREE char *endpoint = NULL;

	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(sent_key_new(&f->key, "", NULL, NULL), 0);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(loop_add_timer(f->loop, on_timer, f, &f->timer), 0);
	assert_int_equal(http_client_new(&f->client, f->loop, &(struct http_client_config){0}), 0);
	assert_true(asprintf(&endpoint, "%s/v1/profiles", url) > 0);
	const struct uploader_config cfg = {
		.endpoint = endpoint,
		.key = f->key,
		.max_items = 1000,
		.max_bytes = 1 << 20,
		.max_sending = 4,
		.timeout_ns = PATIENCE_NS,
		.retry_min_ns = 2 * NS_PER_MS,
		.retry_max_ns = 20 * NS_PER_MS,
		.spool_dir = f->dir,
		.spool_max_bytes = 64 << 20,
		.store_after_ns = PATIENCE_NS,
		.disk_pause_ns = PATIENCE_NS,
	};
	assert_int_equal(uploader_new(&f->uploader, f->loop, f->client, &cfg), 0);
	assert_int_equal(uploader_register_metrics(f->uploader, "test", f->metrics), 0);
}

static void stop(struct fixture *f)
{
	metrics_free(f->metrics);
	http_client_free(f->client);
	uploader_free(f->uploader);
	sent_key_free(f->key);
	loop_free(f->loop);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->dir = temp_dir();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->is_mounted)
		assert_int_equal(umount(f->dir), 0);
	free(f);
	return 0;
}

static void add(struct fixture *f, unsigned n)
{
	const struct upload_label labels[] = {{"service.name", "a"}, {}};

	for (unsigned i = 0; i < n; i++) {
		CLEANUP(buf_fini) struct buf b;

		buf_init(&b, 100);
		assert_int_equal(buf_addf(&b, "%u", i), 0);
		assert_int_equal(uploader_add(f->uploader, labels, &b), 0);
	}
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
	assert_non_null(at);
	return strtod(at + strlen(line), NULL);
}

static void turn(struct fixture *f)
{
	loop_set_timer(f->timer, 2 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
}

static void wait_for(struct fixture *f, const char *name, double at_least)
{
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;

	while (metric(f, name) < at_least) {
		assert_true(clock_monotonic_ns() < end_ns);
		turn(f);
	}
}

static uint64_t n_on_disk(const struct fixture *f)
{
	CLEANUP(spool_files_closep) struct spool_files *files = NULL;
	const struct spool_files_config cfg = {.dir = f->dir, .max_bytes = 64 << 20};
	struct spool_state s;
	struct err err = {""};

	assert_int_equal(spool_files_open(&files, &cfg, &err), 0);
	spool_files_state(files, &s);
	return s.n_profiles;
}

TEST_FIXTURE(all_is_written_although_the_disk_was_full, set_up, tear_down)
{
	struct fixture *f = *state;
	char path[96];
	int fd;

	assert_int_equal(mount("none", f->dir, "tmpfs", 0, "size=256k"), 0);
	f->is_mounted = true;
	start(f, "http://127.0.0.1:1");
	uploader_set_close_time(f->uploader, PATIENCE_NS);
	wait_for(f, "test_upload_spool_usable", 1);
	snprintf(path, sizeof(path), "%s/other", f->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, path, sizeof(path)) > 0)
		;
	close(fd);
	add(f, 200);
	wait_for(f, "test_upload_spool_errors_total", 1);
	for (int i = 0; i < 100; i++)
		turn(f);
	assert_int_equal(unlink(path), 0);
	stop(f);
	assert_int_equal(n_on_disk(f), 200);
}

TEST_FIXTURE(nothing_stays_in_memory_until_the_end, set_up, tear_down)
{
	struct script_server silent = {.n_replies = 0};
	struct fixture *f = *state;

	/* the receiver is there, and takes its time */
	script_server_start(&silent);
	start(f, silent.url);
	wait_for(f, "test_upload_spool_usable", 1);
	add(f, 300);
	turn(f);
	assert_true(metric(f, "test_upload_spool_profiles") == 0);
	uploader_hurry(f->uploader);
	/* those of the last interval come later */
	add(f, 193);
	wait_for(f, "test_upload_spool_profiles", 493);
	assert_int_equal(uploader_waiting(f->uploader), 493);
	uploader_set_close_time(f->uploader, NS_PER_S);
	stop(f);
	script_server_stop(&silent);
	assert_int_equal(n_on_disk(f), 493);
}
