/*
 * An upload that was answered gets into the store after SIGKILL at any moment, and only once. The
 * environment names libchdb.so as CHDB_LIBRARY.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <zstd.h>

#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/wal/log_drain.h"
#include "cluster-agent/wal/upload_log.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define N_ROUNDS 5
#define N_UPLOADS 2000

static const char *dir;

static int make_dir(void **state)
{
	(void)state;
	dir = temp_dir();
	return 0;
}

static struct store *open_store(void)
{
	const struct store_chdb_config cfg = {dir, UINT64_C(86400) * NS_PER_S,
					      getenv("CHDB_LIBRARY")};
	struct err err = {0};
	struct store *s = NULL;

	if (store_chdb_open(&s, &cfg, &err) < 0)
		fail_msg("open: %s", err.msg);
	return s;
}

static struct upload_log *open_log(void)
{
	struct err err = {0};
	struct upload_log *l = NULL;
	char path[80];

	snprintf(path, sizeof(path), "%s/wal", dir);
	if (upload_log_open(&l, &(struct upload_log_config){.dir = path}, &err) < 0)
		fail_msg("open: %s", err.msg);
	return l;
}

static struct log_drain *start_drain(struct upload_log *l, struct store *s)
{
	struct log_drain *d = NULL;

	/* a pace at which many segments are under way when the kill comes */
	if (log_drain_new(&d, &(struct log_drain_config){
				      .log = l, .store = s, .pace_ns = 5 * NS_PER_MS}) < 0)
		fail_msg("no drain");
	return d;
}

static int answers; /* write end of the pipe, in the child */

/* ctx is the number of the upload. */
static void pass_on(void *ctx, int result)
{
	uint64_t v = (uint64_t)(uintptr_t)ctx;

	if (result < 0 || write(answers, &v, sizeof(v)) != (ssize_t)sizeof(v))
		_exit(1);
}

static int append(struct upload_log *l, uint64_t i)
{
	CLEANUP(row_batch_fini) struct row_batch b;
	const int64_t now = (int64_t)clock_realtime_ns();
	const struct row_text text = {"/svc", 4};
	const struct stack_row stack = {text, i, now, &text, 1};
	const struct sample_row sample = {text, text, now, now + 1, NULL, 0, i, 1};
	const struct quality_row quality = {text, text, now, now + 1, text, i, 0, 1, NULL, 0, i, i};
	struct logged_frames frames[STORE_TABLE_MAX];
	int r;

	row_batch_init(&b, 10000, 10000);
	if (row_batch_add_stack(&b, &stack) < 0 || row_batch_add_sample(&b, &sample) < 0 ||
	    row_batch_add_quality(&b, &quality) < 0 || row_batch_finish(&b) < 0)
		_exit(1);
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		size_t n;

		frames[t] = (struct logged_frames){(enum store_table)t,
						   *row_batch_frames(&b, (enum store_table)t, &n)};
	}
	do {
		r = upload_log_append(l, (struct upload_id){i, 1}, frames, STORE_TABLE_MAX, pass_on,
				      (void *)(uintptr_t)i);
	} while (r == -EAGAIN && usleep(1000) == 0);
	return r;
}

/* Never returns: sends uploads first, first + 1, … until it is killed. */
static void send_until_killed(uint64_t first)
{
	struct store *s = open_store();
	struct upload_log *l = open_log();

	(void)start_drain(l, s);
	for (uint64_t i = first; i < first + N_UPLOADS; i++) {
		if (append(l, i) < 0)
			_exit(1);
		usleep(1000);
	}
	for (;;)
		pause();
}

static uint64_t query_u64(struct store *s, const char *sql)
{
	CLEANUP(buf_fini) struct buf out;
	const struct store_query q = {.sql = sql, .format = "RowBinary"};
	struct rowbinary_reader r;

	buf_init(&out, 1000);
	assert_int_equal(store_query(s, &q, &out, NULL), 0);
	rowbinary_reader_init(&r, out.data, out.len);
	return rowbinary_get_u64(&r);
}

/* Stores what is left in the log. Returns false if that takes minutes. */
static bool settle(struct upload_log *l, struct store *s)
{
	struct log_drain *d = start_drain(l, s);
	struct upload_log_state state;

	for (int i = 0; i < 3000; i++) {
		upload_log_state(l, &state);
		if (state.n_bytes == 0)
			break;
		usleep(100000);
	}
	log_drain_free(d);
	return state.n_bytes == 0;
}

/*
 * Runs in a child, as the engine starts threads and the parent has to fork again. The first n
 * uploads must be there, later ones may be, and none of them twice.
 */
static int count_mistakes(uint64_t first, uint64_t n)
{
	static const char *const columns[][2] = {
		{"profiling_stacks", "Hash"},
		{"profiling_samples", "StackHash"},
		{"profiling_quality", "Samples"},
	};
	struct store *s = open_store();
	struct upload_log *l = open_log();
	int n_mistakes = !settle(l, s);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		char sql[200];

		snprintf(sql, sizeof(sql),
			 "SELECT uniqExact(%s) FROM %s WHERE %s >= %llu AND %s < %llu",
			 columns[i][1], columns[i][0], columns[i][1], (unsigned long long)first,
			 columns[i][1], (unsigned long long)(first + n));
		n_mistakes += query_u64(s, sql) != n;
		snprintf(sql, sizeof(sql), "SELECT count() - uniqExact(%s) FROM %s FINAL",
			 columns[i][1], columns[i][0]);
		if (i != STORE_STACKS)
			*strstr(sql, " FINAL") = '\0';
		n_mistakes += query_u64(s, sql) != 0;
	}
	upload_log_close(l);
	store_close(s);
	return n_mistakes;
}

/* Returns how many uploads were answered; they are answered in order. */
static uint64_t read_answers(int fd, uint64_t first, uint64_t enough, pid_t pid)
{
	uint64_t v, n = 0;

	while (read(fd, &v, sizeof(v)) == (ssize_t)sizeof(v)) {
		assert_int_equal(v, first + n);
		if (++n == enough)
			kill(pid, SIGKILL);
	}
	return n;
}

TEST_FIXTURE(what_was_answered_is_stored_once_after_a_kill, make_dir, NULL)
{
	for (uint64_t round = 0; round < N_ROUNDS; round++) {
		uint64_t first = 1 + round * N_UPLOADS, n;
		int fds[2], status;
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			close(fds[0]);
			answers = fds[1];
			send_until_killed(first);
		}
		close(fds[1]);
		n = read_answers(fds[0], first, 20 + 37 * round, pid);
		close(fds[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		assert_true(n >= 20);

		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(count_mistakes(first, n));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static void insert_without(struct store *s, uint8_t n_missing)
{
	CLEANUP(buf_fini) struct buf rows;
	const int64_t now = (int64_t)clock_realtime_ns();
	struct rowbinary_writer w;
	char packed[512];
	struct store_frame f = {.data = packed, .n_rows = 1, .n_missing = n_missing};
	struct err err = {0};

	buf_init(&rows, 1000);
	rowbinary_writer_init(&w, &rows);
	rowbinary_put_string(&w, "/old", 4);
	rowbinary_put_string(&w, "a:b:count", 9);
	rowbinary_put_i64(&w, now - 10);
	rowbinary_put_i64(&w, now);
	rowbinary_put_string(&w, "host", 4);
	rowbinary_put_u64(&w, 5);
	rowbinary_put_u64(&w, 0);
	rowbinary_put_i64(&w, 6);
	rowbinary_put_u64(&w, 7);
	rowbinary_put_count(&w, 0);
	rowbinary_put_u64(&w, 8);
	for (; n_missing < STORE_MISSING_RUNTIMES; n_missing++)
		rowbinary_put_count(&w, 0);
	assert_int_equal(rowbinary_writer_finish(&w), 0);
	f.n_bytes = (uint32_t)rows.len;
	f.quarter = (uint32_t)((uint64_t)now / NS_PER_S / STORE_QUARTER_S);
	f.len = ZSTD_compress(packed, sizeof(packed), rows.data, rows.len, 1);
	if (store_insert(s, STORE_QUALITY, NULL, &f, 1, &err) < 0)
		fail_msg("insert: %s", err.msg);
}

/* The log of uploads may have rows of a release before the last columns. */
TEST_FIXTURE(rows_of_an_earlier_release_are_taken, make_dir, NULL)
{
	CLEANUP(store_closep) struct store *s = open_store();

	insert_without(s, STORE_MISSING_RUNTIMES);
	insert_without(s, STORE_MISSING_UNWINDING);
	insert_without(s, STORE_MISSING_STARTS);
	insert_without(s, STORE_MISSING_LABELS);
	assert_int_equal(query_u64(s, "SELECT sum(Samples + Value + Instance + Upload + "
				      "length(Runtimes) + length(Unwinding) + length(Starts) + "
				      "length(Labels) + LabelSet) "
				      "FROM profiling_quality WHERE ServiceName = '/old'"),
			 104);
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(NULL, NULL);
}
