/*
 * What SIGKILL does to an insert at each of its steps. store.h says what holds afterwards: the
 * rows of a day are there or not, a repetition never doubles them, and what is missing can be
 * inserted. About thirty steps in "make check-store"; every one, for all tables, with SOAK=long.
 * The environment names libchdb.so as CHDB_LIBRARY.
 */
#include <sys/wait.h>

#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"
#include "test/store/call_gate.h"

#define T(s) ((struct row_text){s, sizeof(s) - 1})
#define TOKEN "00ff"
#define N_ROWS 10u
#define DAY_NS ((int64_t)(86400 * NS_PER_S))

static const char *base;
static char data_dir[80];
static const char *const names[] = {"profiling_stacks", "profiling_samples", "profiling_quality"};

/* One way to insert, and where to kill it. */
struct trial {
	enum store_table table;
	unsigned n_days; /* that the rows are of */
	int64_t now;
	const char *what; /* kill at the nth call that contains this */
	unsigned nth;
	unsigned n_seen;
};

static int make_dir(void **state)
{
	(void)state;
	base = temp_dir();
	snprintf(data_dir, sizeof(data_dir), "%s/data", base);
	return 0;
}

/* The following run in children: the engine starts threads, and the parent has to fork again. */

static struct store *open_store(void)
{
	const struct store_chdb_config cfg = {data_dir, 10 * (uint64_t)DAY_NS,
					      getenv("CHDB_LIBRARY")};
	struct err err = {0};
	struct store *s = NULL;

	if (store_chdb_open(&s, &cfg, &err) < 0) {
		print_error("open: %s\n", err.msg);
		_exit(2);
	}
	return s;
}

static void add_row(struct row_batch *b, uint64_t i, int64_t at)
{
	const struct row_text svc = T("/svc"), type = T("a:b:count");
	const struct stack_row stack = {svc, i, at, &type, 1};
	const struct sample_row sample = {svc, type, at - 10, at, NULL, 0, i, 5};
	const struct quality_row quality = {svc, type, at - 10, at, T("host"), 1,
					    0,   5,    NULL,    0,  i,         i};

	if (row_batch_add_stack(b, &stack) < 0 || row_batch_add_sample(b, &sample) < 0 ||
	    row_batch_add_quality(b, &quality) < 0)
		_exit(3);
}

static void insert(struct store *s, const struct trial *t, const char *token)
{
	CLEANUP(row_batch_fini) struct row_batch b;
	const struct store_frame *frames;
	struct err err = {0};
	size_t n;

	row_batch_init(&b, 100000, 100000);
	for (unsigned i = 0; i < N_ROWS; i++)
		add_row(&b, i, t->now - DAY_NS * (i * t->n_days / N_ROWS));
	if (row_batch_finish(&b) < 0)
		_exit(4);
	frames = row_batch_frames(&b, t->table, &n);
	if (store_insert(s, t->table, token, frames, n, &err) < 0) {
		print_error("insert: %s\n", err.msg);
		_exit(5);
	}
}

static uint64_t count(struct store *s, const char *table)
{
	CLEANUP(buf_fini) struct buf out;
	char sql[100];
	const struct store_query q = {.sql = sql, .format = "RowBinary"};
	struct rowbinary_reader r;

	snprintf(sql, sizeof(sql), "SELECT count() FROM %s FINAL", table);
	if (strcmp(table, names[STORE_STACKS]) != 0 && strcmp(table, "profiling_profiles") != 0)
		snprintf(sql, sizeof(sql), "SELECT count() FROM %s", table);
	buf_init(&out, 1000);
	if (store_query(s, &q, &out, NULL) < 0)
		_exit(6);
	rowbinary_reader_init(&r, out.data, out.len);
	return rowbinary_get_u64(&r);
}

static void insert_slowly(const struct trial *t, struct call_gate *gate)
{
	struct store *s = open_store();

	call_gate_enter(gate);
	insert(s, t, TOKEN);
	call_gate_leave(gate);
	for (;;)
		pause();
}

static int expect(bool holds, const char *what, uint64_t n)
{
	if (!holds)
		print_error("%s: %llu rows\n", what, (unsigned long long)n);
	return holds ? 0 : 1;
}

/* Returns 0 if all that store.h promises holds. */
static int check_after(const struct trial *t)
{
	const char *table = names[t->table];
	const unsigned day = N_ROWS / t->n_days;
	struct store *s = open_store();
	uint64_t n = count(s, table), repeated;
	int failed = expect(n % day == 0 && n <= N_ROWS, "killed", n);

	insert(s, t, TOKEN);
	repeated = count(s, table);
	failed |= expect(repeated >= n && repeated % day == 0 && repeated <= N_ROWS, "repeated",
			 repeated);
	/* a token is no proof; so who finds no rows inserts them without one */
	if (repeated == 0) {
		insert(s, t, NULL);
		repeated = count(s, table);
		failed |= expect(repeated == N_ROWS, "inserted again", repeated);
	}
	if (t->table == STORE_SAMPLES) {
		if (store_restore_types(s, 0, INT64_MAX, NULL) < 0)
			failed = 1;
		n = count(s, "profiling_profiles");
		failed |= expect(n == 1, "types", n);
	}
	store_close(s);
	return failed;
}

/* In the parent. */

static void copy_template(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf %s && cp -a %s/template %s", data_dir, base,
		 data_dir);
	assert_int_equal(system(command), 0);
}

static void make_template(void)
{
	char to[100];
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		store_close(open_store());
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	snprintf(to, sizeof(to), "%s/template", base);
	assert_int_equal(rename(data_dir, to), 0);
}

static bool is_where_to_kill(void *ctx, const char *call)
{
	struct trial *t = ctx;

	return strstr(call, data_dir) && strstr(call, t->what) && ++t->n_seen == t->nth;
}

/* Returns false if there are fewer than nth such calls. */
static bool kill_and_check(struct trial *t)
{
	struct call_gate *gate = call_gate_new();
	bool killed;
	pid_t pid;
	int status;

	t->n_seen = 0;
	copy_template();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		insert_slowly(t, gate);
	killed = call_gate_run(gate, pid, is_where_to_kill, t);
	call_gate_free(gate);

	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check_after(t));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("%s, %u days, killed at %s #%u: status %x", names[t->table], t->n_days,
			 t->what, t->nth, status);
	return killed;
}

/* Kills at every step-th call that contains what. Returns how often. */
static unsigned kill_at(enum store_table table, unsigned n_days, const char *what, unsigned step)
{
	struct trial t = {.table = table,
			  .n_days = n_days,
			  .what = what,
			  .nth = 1,
			  .now = (int64_t)clock_realtime_ns()};
	unsigned n = 0;

	for (; kill_and_check(&t); t.nth += step)
		n++;
	return n;
}

TEST_FIXTURE(an_insert_is_whole_or_can_be_repeated_after_a_kill, make_dir, NULL)
{
	const char *soak = getenv("SOAK");

	make_template();
	if (!soak || strcmp(soak, "long") != 0) {
		/* two for each of the tables of samples and types */
		assert_true(kill_at(STORE_SAMPLES, 1, "deduplication_logs", 1) >= 4);
		assert_true(kill_at(STORE_SAMPLES, 1, "rename", 1) >= 2);
		assert_true(kill_at(STORE_SAMPLES, 1, "", 16) >= 3);
		assert_true(kill_at(STORE_SAMPLES, 2, "rename", 1) >= 3);
		return;
	}
	for (int table = 0; table < STORE_TABLE_MAX; table++) {
		assert_true(kill_at((enum store_table)table, 1, "", 1) >= 20);
		assert_true(kill_at((enum store_table)table, 2, "", 1) >= 40);
	}
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(NULL, NULL);
}
