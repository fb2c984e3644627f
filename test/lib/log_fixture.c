#include "test/lib/log_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "common/telemetry/metrics.h"
#include "test/lib/unit.h"

/* ---- folder ---- */

static int setup(void **state, const char *parent)
{
	struct log_fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	(void)snprintf(f->dir, sizeof(f->dir), "%s/test_log.XXXXXX", parent);
	if (!mkdtemp(f->dir)) {
		free(f);
		return -1;
	}
	*state = f;
	return 0;
}

int log_fixture_setup(void **state)
{
	return setup(state, "/tmp");
}

int log_fixture_setup_in_memory(void **state)
{
	return setup(state, "/dev/shm");
}

static int open_folder(const struct log_fixture *f)
{
	int fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static size_t each_file(const struct log_fixture *f, const char *suffix, bool remove, char ret[64])
{
	DIR *d = opendir(f->dir);
	const struct dirent *e;
	size_t n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		size_t len = strlen(e->d_name), end = strlen(suffix);

		if (e->d_type != DT_REG || len < end || strcmp(e->d_name + len - end, suffix) != 0)
			continue;
		n++;
		if (ret)
			(void)snprintf(ret, 64, "%.63s", e->d_name);
		if (remove)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	return n;
}

size_t log_fixture_files(const struct log_fixture *f, const char *suffix, char ret[64])
{
	return each_file(f, suffix, false, ret);
}

void log_fixture_empty(const struct log_fixture *f)
{
	(void)each_file(f, "", true, NULL);
}

int log_fixture_teardown(void **state)
{
	struct log_fixture *f = *state;

	log_fixture_close(f);
	log_fixture_empty(f);
	(void)rmdir(f->dir);
	free(f);
	return 0;
}

size_t log_fixture_load(const struct log_fixture *f, const char *name, uint8_t *ret, size_t max)
{
	AUTO_CLOSE int dir_fd = open_folder(f);
	AUTO_CLOSE int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, ret, max);

	assert_true(n >= 0 && (size_t)n < max);
	return (size_t)n;
}

void log_fixture_put(const struct log_fixture *f, const char *name, const void *data, size_t len)
{
	AUTO_CLOSE int dir_fd = open_folder(f);
	AUTO_CLOSE int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
}

/* ---- log ---- */

void log_fixture_close(struct log_fixture *f)
{
	upload_log_close(TAKE_PTR(f->log));
}

void log_fixture_open(struct log_fixture *f, const struct upload_log_config *cfg)
{
	struct upload_log_config c = cfg ? *cfg : (struct upload_log_config){0};
	struct err err = {0};

	log_fixture_close(f);
	c.dir = f->dir;
	/* sanitizers clear as much memory again for each log that is opened */
	if (c.max_ids == 0)
		c.max_ids = 10000;
	if (upload_log_open(&f->log, &c, &err) < 0)
		fail_msg("%s", err.msg);
}

struct upload_id log_fixture_id(uint64_t n)
{
	return (struct upload_id){.low = n, .high = ~n};
}

struct answer {
	pthread_mutex_t lock;
	pthread_cond_t came;
	bool is_there;
	int result;
};

static void on_done(void *ctx, int result)
{
	struct answer *a = ctx;

	pthread_mutex_lock(&a->lock);
	assert_false(a->is_there);
	a->is_there = true;
	a->result = result;
	pthread_cond_signal(&a->came);
	pthread_mutex_unlock(&a->lock);
}

int log_fixture_append_bytes(struct log_fixture *f, uint64_t n, size_t len)
{
	struct answer a = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};
	AUTO_FREE uint64_t *bytes = calloc(len / 8 + 1, 8);
	const struct logged_frames frame = {
		.table = STORE_SAMPLES,
		.frame = {.data = bytes, .len = (len / 8 + 1) * 8, .n_rows = 1, .n_bytes = 8},
	};
	int r;

	if (!bytes)
		return -ENOMEM;
	bytes[0] = n;
	r = upload_log_append(f->log, log_fixture_id(n), &frame, 1, on_done, &a);
	if (r < 0)
		return r;
	pthread_mutex_lock(&a.lock);
	while (!a.is_there)
		pthread_cond_wait(&a.came, &a.lock);
	pthread_mutex_unlock(&a.lock);
	return a.result == UPLOAD_LOG_REPEATED ? 0 : a.result;
}

int log_fixture_append(struct log_fixture *f, uint64_t n)
{
	return log_fixture_append_bytes(f, n, 0);
}

struct log_segment *log_fixture_next(struct log_fixture *f, struct log_segment_content *ret)
{
	struct log_segment *s = upload_log_next(f->log, LOG_FIXTURE_WAIT_NS);
	struct err err = {0};

	assert_non_null(s);
	if (log_segment_read(s, ret, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

void log_fixture_commit(struct log_fixture *f, struct log_segment *s, const bool *refused)
{
	struct err err = {0};

	if (upload_log_commit(f->log, s, refused, &err) < 0)
		fail_msg("%s", err.msg);
}

uint64_t log_fixture_upload(const struct log_segment_content *c, size_t record)
{
	uint64_t n;

	/* there is one frame in each */
	assert_true(record < c->n_records);
	assert_int_equal(c->n_frames, c->n_records);
	assert_int_equal(c->frames[record].record, record);
	memcpy(&n, c->frames[record].data.frame.data, sizeof(n));
	assert_int_equal(c->ids[record].low, n);
	assert_int_equal(c->ids[record].high, ~n);
	assert_int_equal(c->frames[record].data.table, STORE_SAMPLES);
	assert_int_equal(c->frames[record].data.frame.n_rows, 1);
	return n;
}

size_t log_fixture_drain(struct log_fixture *f, uint64_t *ret, size_t max)
{
	struct upload_log_state state;
	size_t n = 0;

	for (;;) {
		struct log_segment_content c;
		struct log_segment *s;

		upload_log_state(f->log, &state);
		if (state.n_bytes == 0)
			return n;
		s = log_fixture_next(f, &c);
		for (size_t i = 0; i < c.n_records; i++, n++) {
			uint64_t upload = log_fixture_upload(&c, i);

			if (n < max)
				ret[n] = upload;
		}
		log_fixture_commit(f, s, NULL);
	}
}

double log_fixture_metric(struct log_fixture *f, const char *name)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	char line[128];
	const char *at;
	struct buf out;
	double value;

	buf_init(&out, 1u << 20);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(upload_log_register(f->log, ms), 0);
	assert_int_equal(metrics_write(ms, &out), 0);
	(void)snprintf(line, sizeof(line), "\ncoroot_cluster_agent_wal_%s ", name);
	at = strstr(out.data, line);
	if (!at)
		fail_msg("no metric %s", name);
	value = strtod(at + strlen(line), NULL);
	buf_fini(&out);
	return value;
}
