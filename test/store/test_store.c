/*
 * The store on the real engine: embedded in this process, and as a server in another one. Both have
 * to pass the same tests, except for those of the embedded engine's directory. The environment
 * names libchdb.so as CHDB_LIBRARY and the server as CLICKHOUSE_SERVER.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <zstd.h>

#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/store/store_clickhouse.h"
#include "cluster-agent/store/store_probe.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"
#include "test/store/clickhouse_process.h"

#define DAY_S UINT64_C(86400)
#define NOISE "\n\n;;\n SELECT 1;\n\t\\'--"
#define T(s) ((struct row_text){s, sizeof(s) - 1})

static const char *dir;
static struct store_chdb_config cfg;
static bool on_server;
static struct clickhouse_process server; /* if on_server */

static int make_dir(void **state)
{
	(void)state;
	dir = temp_dir();
	cfg = (struct store_chdb_config){dir, DAY_S * NS_PER_S, getenv("CHDB_LIBRARY")};
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	if (on_server)
		clickhouse_process_run(&server, "DROP DATABASE IF EXISTS coroot");
	return remove_tree(dir);
}

static struct store *open_on_server_at_once(void)
{
	struct store_clickhouse_config c = {.database = "coroot",
					    .schema = {.ttl_ns = cfg.profiles_ttl_ns}};
	struct clickhouse_address address;
	struct err err = {0};
	struct store *s = NULL;
	char text[32];

	snprintf(text, sizeof(text), "127.0.0.1:%u", server.port);
	assert_int_equal(clickhouse_addresses_parse(text, false, &address, NULL), 1);
	c.client.addresses = &address;
	c.client.n_addresses = 1;
	if (store_clickhouse_open(&s, &c, &err) < 0)
		fail_msg("open: %s", err.msg);
	return s;
}

static void wait_for_tables(struct store *s)
{
	for (int i = 0; store_ping(s) < 0; i++) {
		if (i == 12000)
			fail_msg("the tables were not made in two minutes");
		usleep(10000);
	}
}

static struct store *open_on_server(void)
{
	struct store *s = open_on_server_at_once();

	wait_for_tables(s);
	return s;
}

static struct store *open_store(void)
{
	struct err err = {0};
	struct store *s = NULL;

	if (on_server)
		return open_on_server();
	if (store_chdb_open(&s, &cfg, &err) < 0)
		fail_msg("open: %s", err.msg);
	return s;
}

static uint64_t query_u64(struct store *s, const char *sql)
{
	CLEANUP(buf_fini) struct buf out;
	const struct store_query q = {.sql = sql, .format = "RowBinary"};
	struct err err = {0};
	struct rowbinary_reader r;
	uint64_t v;

	buf_init(&out, 1000);
	if (store_query(s, &q, &out, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
	rowbinary_reader_init(&r, out.data, out.len);
	v = rowbinary_get_u64(&r);
	assert_int_equal(rowbinary_reader_finish(&r), 0);
	assert_false(rowbinary_has_more(&r));
	return v;
}

static void fill(struct row_batch *b, uint64_t hash)
{
	const int64_t now = (int64_t)clock_realtime_ns();
	const struct row_text frames[] = {T("leaf a.c:1"), T(NOISE), T("")};
	const struct row_label labels[] = {{T("host.name"), T(NOISE)}};
	const struct row_count lost[] = {{T("ring_full"), 12}}, states[] = {{T("java:off"), 2}};
	const struct row_count ends[] = {{T("jit"), 3}};
	const struct stack_row stack = {T("/svc"), hash, now, frames, 3};
	const struct sample_row sample = {T("/svc"), T("a:b:count"), now - 10, now, labels,
					  1,         hash,           -7};
	const struct quality_row quality = {
		T("/svc"), T("a:b:count"), now - 10, now,  T("host"), 100, 3, -7, lost, 1, 99,
		77,        states,         1,        ends, 1};

	assert_int_equal(row_batch_add_stack(b, &stack), 0);
	assert_int_equal(row_batch_add_sample(b, &sample), 0);
	assert_int_equal(row_batch_add_quality(b, &quality), 0);
}

static int insert_table(struct store *s, enum store_table t, const char *token,
			const struct row_batch *b, struct err *err)
{
	size_t n;
	const struct store_frame *frames = row_batch_frames(b, t, &n);

	return store_insert(s, t, token, frames, n, err);
}

static void insert(struct store *s, const char *token, struct row_batch *b)
{
	assert_int_equal(row_batch_finish(b), 0);
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		struct err err = {0};

		if (insert_table(s, (enum store_table)t, token, b, &err) < 0)
			fail_msg("insert: %s", err.msg);
	}
}

/* The rows of a piece of the log are many frames; they must become one part. */
static void frames_are_one_block_up_to_the_limits(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	const int64_t now = (int64_t)clock_realtime_ns();
	size_t n_frames;
	CLEANUP(row_batch_fini) struct row_batch b;
	char text[202]; /* 256 bytes with what else is in a row */

	(void)state;
	memset(text, 'x', sizeof(text));
	row_batch_init(&b, STORE_INSERT_BYTES, STORE_INSERT_BYTES);
	for (uint64_t i = 0; i < STORE_INSERT_ROWS; i++) {
		const struct row_label labels[] = {{T("label"), {text, sizeof(text)}}};
		const struct sample_row row = {T("/svc"), T("a:b:c"), now - 1, now,
					       labels,    1,          i,       1};

		assert_int_equal(row_batch_add_sample(&b, &row), 0);
	}
	assert_int_equal(row_batch_finish(&b), 0);
	assert_true(b.n_bytes > STORE_INSERT_BYTES * 95 / 100);
	(void)row_batch_frames(&b, STORE_SAMPLES, &n_frames);
	assert_true(n_frames > 100);
	for (int i = 0; i < 2; i++) {
		struct err err = {0};

		if (insert_table(s, STORE_SAMPLES, "00ff", &b, &err) < 0)
			fail_msg("insert: %s", err.msg);
		assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"),
				 STORE_INSERT_ROWS);
		assert_int_equal(query_u64(s, "SELECT count() FROM system.parts WHERE "
					      "table = 'profiling_samples'"),
				 1);
	}
}

static void keeps_every_column_of_every_row(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(row_batch_fini) struct row_batch b;

	(void)state;
	row_batch_init(&b, 10000, 10000);
	fill(&b, UINT64_MAX);
	fill(&b, 10); /* numbers that begin with a newline */
	insert(s, NULL, &b);
	assert_int_equal(
		query_u64(s, "SELECT count() FROM profiling_stacks WHERE ServiceName = '/svc' "
			     "AND Hash IN (10, 18446744073709551615) AND Stack = "
			     "['leaf a.c:1', '\\n\\n;;\\n SELECT 1;\\n\\t\\\\\\'--', '']"),
		2);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples WHERE Value = -7 "
				      "AND Labels['host.name'] LIKE '%SELECT 1%' "
				      "AND toUnixTimestamp64Nano(End) = "
				      "toUnixTimestamp64Nano(Start) + 10"),
			 2);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_quality WHERE Host = 'host' "
				      "AND Samples = 100 AND Truncated = 3 AND Value = -7 "
				      "AND Instance = 99 AND Upload = 77 "
				      "AND Lost['ring_full'] = 12 "
				      "AND Runtimes = map('java:off', 2) "
				      "AND Unwinding = map('jit', 3)"),
			 2);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_profiles FINAL WHERE "
				      "ServiceName = '/svc' AND Type = 'a:b:count'"),
			 1);
}

static void repeats_of_an_insert_do_nothing_also_after_reopening(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(row_batch_fini) struct row_batch b;

	(void)state;
	row_batch_init(&b, 10000, 10000);
	fill(&b, 1);
	insert(s, "00ff", &b);
	insert(s, "00ff", &b);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 1);
	store_close(TAKE_PTR(s));

	s = open_store();
	insert(s, "00ff", &b);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 1);
	insert(s, "00fe", &b);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 2);
	insert(s, NULL, &b);
	insert(s, NULL, &b);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 4);
	assert_int_equal(insert_table(s, STORE_SAMPLES, "' --", &b, NULL), -EINVAL);
}

static void add_labelled(struct row_batch *b, struct row_text value, uint64_t hash)
{
	const int64_t now = (int64_t)clock_realtime_ns() / 1000000000 * 1000000000;
	const struct row_label labels[] = {{T("plain"), T("text")}, {T(NOISE), value}};
	const struct sample_row row = {
		T("/svc" NOISE), T("a:b:count"), now - 10, now, labels, 2, hash, -7};

	assert_int_equal(row_batch_add_sample(b, &row), 0);
	assert_int_equal(row_batch_finish(b), 0);
}

static int find_first(struct store *s, const struct row_batch *b)
{
	struct err err = {0};
	size_t n;
	const struct store_frame *frames = row_batch_frames(b, STORE_SAMPLES, &n);
	int r = store_find_samples(s, frames, &err);

	if (r < 0)
		fail_msg("find: %s", err.msg);
	return r;
}

/* What is asked after an insert whose outcome is not known. */
static void rows_are_found_by_all_of_their_columns(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(row_batch_fini) struct row_batch there, missing;
	char service[16];
	size_t n;

	(void)state;
	row_batch_init(&there, 10000, 10000);
	row_batch_init(&missing, 10000, 10000);
	add_labelled(&there, T("\0 a zero"), UINT64_MAX);
	assert_int_equal(find_first(s, &there), 0);
	insert(s, NULL, &there);
	assert_int_equal(find_first(s, &there), 1);
	add_labelled(&missing, T("\0 a Zero"), UINT64_MAX);
	assert_int_equal(find_first(s, &missing), 0);
	row_batch_clear(&missing);
	add_labelled(&missing, T("\0 a zero"), 1);
	assert_int_equal(find_first(s, &missing), 0);
	assert_int_equal(store_has_exact_tokens(s, NULL), 0);
	store_frame_service(row_batch_frames(&there, STORE_SAMPLES, &n), service, sizeof(service));
	assert_string_equal(service, "/svc\n\n;;\n SELEC");
}

static void uploads_are_found_by_their_ids(void **state)
{
	enum { N_IDS = 10000 };
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(row_batch_fini) struct row_batch b;
	static uint64_t ids[N_IDS];
	static bool found[N_IDS];
	struct err err = {0};

	(void)state;
	row_batch_init(&b, 10000, 10000);
	fill(&b, 1); /* upload 77 */
	insert(s, NULL, &b);
	for (size_t i = 0; i < N_IDS; i++)
		ids[i] = UINT64_MAX - i;
	ids[0] = ids[N_IDS - 1] = ids[5000] = 77;
	if (store_find_uploads(s, ids, N_IDS, found, &err) < 0)
		fail_msg("find: %s", err.msg);
	for (size_t i = 0; i < N_IDS; i++)
		assert_int_equal(found[i], i == 0 || i == 5000 || i == N_IDS - 1);
}

static void a_relative_directory_is_as_good(void **state)
{
	AUTO_FREE char *before = getcwd(NULL, 0);
	CLEANUP(row_batch_fini) struct row_batch b;
	struct store *s;

	(void)state;
	assert_non_null(before);
	assert_int_equal(chdir(dir), 0);
	cfg.data_dir = "data";
	s = open_store();
	row_batch_init(&b, 10000, 10000);
	fill(&b, 1);
	insert(s, "00ff", &b);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 1);
	store_close(s);
	assert_int_equal(chdir(before), 0);
}

static void refuses_broken_rows_as_a_whole(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(row_batch_fini) struct row_batch b;
	struct store_frame frame;
	const struct buf *rows;
	char packed[10000];
	size_t n;
	struct err err = {0};

	(void)state;
	row_batch_init(&b, 10000, 10000);
	fill(&b, 1);
	fill(&b, 2);
	/* without the last byte of the last row */
	rows = &b.tables[STORE_SAMPLES].rows;
	n = ZSTD_compress(packed, sizeof(packed), rows->data, rows->len - 1, 1);
	assert_false(ZSTD_isError(n));
	frame = (struct store_frame){.data = packed, .len = n, .n_rows = 2};
	assert_int_equal(store_insert(s, STORE_SAMPLES, NULL, &frame, 1, &err), -EREMOTEIO);
	assert_int_equal(store_exception_code(err.msg, strlen(err.msg)), 33);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 0);
}

static void add_stack(struct row_batch *b, int64_t last_seen_ns)
{
	const struct row_text frame = T("leaf a.c:1");
	const struct stack_row stack = {T("/svc"), 1, last_seen_ns, &frame, 1};

	assert_int_equal(row_batch_add_stack(b, &stack), 0);
}

/* Queries ask for stacks whose LastSeen is after the beginning of the range. */
static void an_older_profile_does_not_make_a_stack_older(void **state)
{
	const int64_t now = (int64_t)(clock_realtime_ns() / (DAY_S * NS_PER_S) * DAY_S * NS_PER_S);
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(row_batch_fini) struct row_batch b;
	char sql[160];

	(void)state;
	row_batch_init(&b, 10000, 10000);
	add_stack(&b, now + 7200);
	add_stack(&b, now);
	insert(s, NULL, &b);
	snprintf(sql, sizeof(sql),
		 "SELECT count() FROM profiling_stacks FINAL "
		 "WHERE toUnixTimestamp64Nano(LastSeen) = %lld",
		 (long long)now + 7200);
	assert_int_equal(query_u64(s, sql), 1);
}

/* Repeats what a busy machine did not do in time. */
static int query_patiently(struct store *s, const struct store_query *q, struct buf *out)
{
	int r = store_query(s, q, out, NULL);

	for (int tries = 0; r == -EAGAIN && tries < 10; tries++)
		r = store_query(s, q, out, NULL);
	return r;
}

static void a_failed_query_leaves_nothing_in_later_answers(void **state)
{
	static const char *const failing[] = {
		"SELECT number, throwIf(number = 3000000) FROM numbers(10000000)",
		"SELECT number FROM numbers(100000000)",
	};
	static const char *const formats[] = {"TSV", "JSON", "RowBinary"};
	CLEANUP(store_closep) struct store *s = open_store();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(failing) * ARRAY_SIZE(formats); i++) {
		CLEANUP(buf_fini) struct buf out;
		const struct store_query q = {.sql = failing[i % ARRAY_SIZE(failing)],
					      .format = formats[i / ARRAY_SIZE(failing)]};

		buf_init(&out, 10000);
		assert_int_equal(query_patiently(s, &q, &out), -EREMOTEIO);
		for (uint64_t n = 0; n < STORE_MAX_QUERIES; n++)
			assert_int_equal(query_u64(s, "SELECT toUInt64(42)"), 42);
	}
}

static void *query_for_long(void *ctx)
{
	static const struct store_query q = {
		.sql = "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1",
		.format = "TSV",
	};
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};

	buf_init(&out, 1000);
	assert_int_equal(store_query(ctx, &q, &out, &err), -EPIPE);
	assert_string_equal(err.msg, "shutting down");
	return NULL;
}

static void stopping_ends_queries_and_lets_inserts_go_on(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(row_batch_fini) struct row_batch b;
	uint64_t start_ns = clock_monotonic_ns();
	pthread_t threads[STORE_MAX_QUERIES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, query_for_long, s), 0);
	usleep(300000);
	store_stop_queries(s);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_true(clock_monotonic_ns() - start_ns < STORE_QUERY_TIMEOUT_S / 2 * NS_PER_S);
	row_batch_init(&b, 10000, 10000);
	fill(&b, 1);
	insert(s, NULL, &b);
	assert_int_equal(store_ping(s), -EPIPE);
}

static void rows_outlive_a_killed_process(void **state)
{
	CLEANUP(store_closep) struct store *s = NULL;
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		CLEANUP(row_batch_fini) struct row_batch b;

		row_batch_init(&b, 10000, 10000);
		fill(&b, 1);
		insert(open_store(), NULL, &b);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

	s = open_store();
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_stacks"), 1);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 1);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_quality"), 1);
}

static void a_second_process_learns_which_process_holds_the_directory(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store(), *second = NULL;
	char expected[160];
	struct err err = {0};

	(void)state;
	assert_int_equal(store_chdb_open(&second, &cfg, &err), -EBUSY);
	snprintf(expected, sizeof(expected), "data directory %s is in use by process %d", dir,
		 getpid());
	assert_string_equal(err.msg, expected);
}

static void binds_parameters_instead_of_pasting_them(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(buf_fini) struct buf out;
	const struct store_param params[] = {{"name", "x' OR 1 --"}, {"n", "18446744073709551615"}};
	const struct store_query q = {
		.sql = "SELECT {name:String}, {n:UInt64}",
		.params = params,
		.n_params = 2,
		.format = "TSV",
	};

	(void)state;
	buf_init(&out, 1000);
	assert_int_equal(store_query(s, &q, &out, NULL), 0);
	assert_string_equal(out.data, "x\\' OR 1 --\t18446744073709551615\n");
}

static void gives_the_text_and_code_of_an_exception(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(buf_fini) struct buf out;
	const struct store_query q = {.sql = "SELECT nothing FROM nowhere", .format = "TSV"};

	(void)state;
	buf_init(&out, 10000);
	assert_int_equal(store_query(s, &q, &out, NULL), -EREMOTEIO);
	assert_int_equal(store_exception_code(out.data, out.len), 60);
	assert_non_null(strstr(out.data, "UNKNOWN_TABLE"));
	assert_int_equal(store_ping(s), 0);
}

/* Returns the exception's code; 159 is that of a query that took too long. */
static int greedy_query(struct store *s, const char *sql, int error)
{
	const struct store_query q = {.sql = sql, .format = "RowBinary"};
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 10000);
	assert_int_equal(store_query(s, &q, &out, NULL), error);
	return store_exception_code(out.data, out.len);
}

static void greedy_queries_end_without_ending_us(void **state)
{
	static const struct {
		const char *sql;
		int error, code;
	} cases[] = {
		{"SELECT groupArray(toString(number)) FROM numbers(100000000)", -EREMOTEIO, 241},
		{"SELECT number FROM numbers(100000000)", -EREMOTEIO, 396},
		{"SELECT number FROM numbers(1000000)", -EFBIG, 0},
	};
	CLEANUP(store_closep) struct store *s = open_store();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int code = 159; /* on a busy machine the limit of time may come first, at times */
		for (int k = 0; k < 5 && code == 159; k++)
			code = greedy_query(s, cases[i].sql, cases[i].error);
		assert_int_equal(code, cases[i].code);
	}
	assert_int_equal(store_ping(s), 0);
}

static void readers_can_neither_write_nor_unlock_themselves(void **state)
{
	static const char *const attacks[] = {
		"INSERT INTO profiling_samples (Value) VALUES (1)",
		"SELECT 1; INSERT INTO profiling_samples (Value) VALUES (1)",
		"DROP TABLE profiling_samples",
		"ALTER TABLE profiling_samples DELETE WHERE 1",
		"TRUNCATE TABLE profiling_samples",
		"CREATE TABLE t (x Int8) ENGINE = Memory",
		"SET readonly = 0",
		"SET max_memory_usage = 0",
		"SELECT 1 SETTINGS readonly = 0",
		"SELECT * FROM file('/etc/passwd', 'LineAsString')",
		"SELECT * FROM url('http://127.0.0.1:9/', 'LineAsString')",
		"SELECT * FROM '/etc/passwd'",
	};
	CLEANUP(store_closep) struct store *s = open_store();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
		CLEANUP(buf_fini) struct buf out;
		const struct store_query q = {.sql = attacks[i], .format = "TSV"};

		buf_init(&out, 10000);
		if (store_query(s, &q, &out, NULL) != -EREMOTEIO)
			fail_msg("%s: not refused: %s", attacks[i], out.data);
	}
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 0);
}

static void a_new_time_to_live_changes_existing_tables(void **state)
{
	static const char count_of[] = "SELECT countIf(position(engine_full, "
				       "'toIntervalSecond(%llu)') > 0) FROM system.tables "
				       "WHERE database = 'coroot' AND "
				       "name NOT IN ('profiling_claims', 'profiling_functions', "
				       "'profiling_notes')";
	static const unsigned long long ttls_s[] = {86400, 86400, 3600};
	char sql[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ttls_s); i++) {
		CLEANUP(store_closep) struct store *s = NULL;

		cfg.profiles_ttl_ns = ttls_s[i] * NS_PER_S;
		s = open_store();
		/* four tables: the view stores nothing itself */
		snprintf(sql, sizeof(sql), count_of, ttls_s[i]);
		assert_int_equal(query_u64(s, sql), 4);
	}
}

static void expired_rows_go(void **state)
{
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(row_batch_fini) struct row_batch b;
	const struct sample_row old = {T("/svc"), T("a:b:count"), 10, 20, NULL, 0, 1, 1};

	(void)state;
	s = open_store();
	row_batch_init(&b, 10000, 10000);
	assert_int_equal(row_batch_add_sample(&b, &old), 0);
	insert(s, NULL, &b);
	for (int i = 0; i < 1200; i++) {
		if (query_u64(s, "SELECT count() FROM profiling_samples") == 0)
			return;
		usleep(100000);
	}
	fail_msg("rows of 1970 are still there after two minutes");
}

static void bad_places_are_refused_with_a_sentence(void **state)
{
	CLEANUP(store_closep) struct store *s = NULL;
	struct err err = {0};
	char path[128];
	int fd;

	(void)state;
	cfg.chdb_library = "/nonexistent/libchdb.so";
	assert_int_equal(store_chdb_open(&s, &cfg, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/libchdb.so"));

	snprintf(path, sizeof(path), "%s/LOCK", dir);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/other", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(store_chdb_open(&s, &cfg, &err), -ENOTEMPTY);
	assert_non_null(strstr(err.msg, dir));
}

static void rows_outlive_a_killed_server(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(row_batch_fini) struct row_batch b;

	(void)state;
	row_batch_init(&b, 10000, 10000);
	fill(&b, 1);
	insert(s, NULL, &b);
	clickhouse_process_stop(&server, SIGKILL);
	assert_int_equal(store_ping(s), -EAGAIN);
	clickhouse_process_start(&server, NULL);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_stacks"), 1);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 1);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_quality"), 1);
}

static void the_server_may_come_later_and_come_back_empty(void **state)
{
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(row_batch_fini) struct row_batch b;

	(void)state;
	row_batch_init(&b, 10000, 10000);
	fill(&b, 1);
	assert_int_equal(row_batch_finish(&b), 0);
	clickhouse_process_stop(&server, SIGTERM);
	s = open_on_server_at_once();
	assert_int_equal(insert_table(s, STORE_SAMPLES, "0a", &b, NULL), -EAGAIN);
	assert_int_equal(store_ping(s), -EAGAIN);
	clickhouse_process_start(&server, NULL);
	wait_for_tables(s);
	assert_int_equal(insert_table(s, STORE_SAMPLES, "0a", &b, NULL), 0);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 1);

	clickhouse_process_run(&server, "DROP DATABASE coroot");
	assert_int_equal(insert_table(s, STORE_SAMPLES, "0a", &b, NULL), -EAGAIN);
	wait_for_tables(s);
	assert_int_equal(insert_table(s, STORE_SAMPLES, "0a", &b, NULL), 0);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 1);
}

/* Rows are in the table when somebody else's view of it fails. */
static void a_view_of_somebody_else_neither_loses_nor_doubles_rows(void **state)
{
	CLEANUP(store_closep) struct store *s = open_store();
	CLEANUP(row_batch_fini) struct row_batch b;
	struct err err = {0};

	(void)state;
	row_batch_init(&b, 10000, 10000);
	fill(&b, 1);
	assert_int_equal(row_batch_finish(&b), 0);
	clickhouse_process_run(&server, "CREATE MATERIALIZED VIEW coroot.theirs "
					"ENGINE = MergeTree ORDER BY tuple() AS "
					"SELECT toUInt64(CAST(ServiceName, 'String')) AS n "
					"FROM coroot.profiling_samples");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(insert_table(s, STORE_SAMPLES, "0a", &b, &err), -EAGAIN);
		assert_non_null(strstr(err.msg, "Code: 6. "));
	}
	clickhouse_process_run(&server, "DROP TABLE coroot.theirs SYNC");
	assert_int_equal(insert_table(s, STORE_SAMPLES, "0a", &b, NULL), 0);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_samples"), 1);
	assert_int_equal(query_u64(s, "SELECT count() FROM profiling_profiles FINAL"), 1);
}

static void what_depends_on_the_cluster_waits_until_it_is_known(void **state)
{
	static const struct store_query q = {.sql = "SELECT 1", .format = "TSV"};
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(buf_fini) struct buf out;

	(void)state;
	buf_init(&out, 1000);
	/* it takes connections, and does not answer */
	kill(server.pid, SIGSTOP);
	s = open_on_server_at_once();
	assert_int_equal(store_query(s, &q, &out, NULL), -EAGAIN);
	assert_int_equal(store_maintain(s, "DROP DATABASE coroot", NULL, NULL), -EAGAIN);
	kill(server.pid, SIGCONT);
	wait_for_tables(s);
	assert_int_equal(store_query(s, &q, &out, NULL), 0);
	assert_int_equal(store_maintain(s, "SELECT 1", NULL, NULL), 0);
}

static int start_server(void **state)
{
	(void)state;
	clickhouse_process_init(&server);
	clickhouse_process_start(&server, NULL);
	on_server = true;
	return 0;
}

static int stop_server(void **state)
{
	(void)state;
	clickhouse_process_fini(&server);
	on_server = false;
	return 0;
}

#define WITH_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

/* in both groups */
#define SHARED                                                                                     \
	WITH_DIR(greedy_queries_end_without_ending_us), WITH_DIR(keeps_every_column_of_every_row), \
		WITH_DIR(frames_are_one_block_up_to_the_limits),                                   \
		WITH_DIR(repeats_of_an_insert_do_nothing_also_after_reopening),                    \
		WITH_DIR(rows_are_found_by_all_of_their_columns),                                  \
		WITH_DIR(uploads_are_found_by_their_ids),                                          \
		WITH_DIR(refuses_broken_rows_as_a_whole),                                          \
		WITH_DIR(an_older_profile_does_not_make_a_stack_older),                            \
		WITH_DIR(a_failed_query_leaves_nothing_in_later_answers),                          \
		WITH_DIR(stopping_ends_queries_and_lets_inserts_go_on),                            \
		WITH_DIR(binds_parameters_instead_of_pasting_them),                                \
		WITH_DIR(gives_the_text_and_code_of_an_exception),                                 \
		WITH_DIR(readers_can_neither_write_nor_unlock_themselves),                         \
		WITH_DIR(a_new_time_to_live_changes_existing_tables), WITH_DIR(expired_rows_go)

int main(void)
{
	const struct CMUnitTest embedded[] = {
		/* the first one, as it forks: the engine must have no threads yet */
		WITH_DIR(rows_outlive_a_killed_process),
		WITH_DIR(a_relative_directory_is_as_good),
		WITH_DIR(a_second_process_learns_which_process_holds_the_directory),
		WITH_DIR(bad_places_are_refused_with_a_sentence),
		SHARED,
	};
	const struct CMUnitTest on_a_server[] = {
		WITH_DIR(rows_outlive_a_killed_server),
		WITH_DIR(the_server_may_come_later_and_come_back_empty),
		WITH_DIR(a_view_of_somebody_else_neither_loses_nor_doubles_rows),
		WITH_DIR(what_depends_on_the_cluster_waits_until_it_is_known),
		SHARED,
	};
	int r;

	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	r = cmocka_run_group_tests(embedded, NULL, NULL);
	return r + cmocka_run_group_tests(on_a_server, start_server, stop_server);
}
