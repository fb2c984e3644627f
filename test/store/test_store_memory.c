/*
 * The embedded store in a container of 512 MiB: queries that want all memory fail with a sentence,
 * inserts succeed or are to be repeated, movers of many stacks are found or refused, stacks whose
 * frames are larger than one answer may be are read in several, and the process is not killed. Root
 * only, for the cgroup. The environment names libchdb.so as CHDB_LIBRARY.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "cluster-agent/query/read/mover_query.h"
#include "cluster-agent/query/read/stack_query.h"
#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "common/system/memory_limit.h"
#include "test/lib/test_cgroup.h"
#include "test/lib/unit.h"

#define LIMIT "536870912"
#define N_ROUNDS 1
#define T(s) ((struct row_text){s, sizeof(s) - 1})

static const char *dir;

static int make_dir(void **state)
{
	(void)state;
	dir = temp_dir();
	return 0;
}

static int write_text(const char *in, const char *file, const char *text)
{
	char path[PATH_MAX + 64];
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", in, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
}

static void limit_memory(const struct test_cgroup *c)
{
	char parent[PATH_MAX];

	snprintf(parent, sizeof(parent), "%s", c->dir);
	*strrchr(parent, '/') = '\0';
	/* v2 has the file only if the parent passes the controller on; v1 knows no such thing */
	(void)write_text(parent, "cgroup.subtree_control", "+memory");
	if (write_text(c->dir, "memory.max", LIMIT) < 0)
		assert_int_equal(write_text(c->dir, "memory.limit_in_bytes", LIMIT), 0);
}

/* The following run in the child, in the cgroup. */

static atomic_uint n_refused; /* queries, for want of memory */

static void *ask_for_too_much(void *arg)
{
	static const char *const queries[] = {
		"SELECT number % 9999991 AS k, groupArray(number) FROM numbers(20000000) GROUP BY "
		"k "
		"FORMAT Null",
		"SELECT count() FROM numbers(10000000) AS a JOIN numbers(10000000) AS b "
		"ON a.number = b.number",
	};
	struct store *s = arg;

	for (size_t i = 0; i < N_ROUNDS * ARRAY_SIZE(queries); i++) {
		CLEANUP(buf_fini) struct buf out;
		const struct store_query q = {.sql = queries[i % ARRAY_SIZE(queries)],
					      .format = "TSV"};
		int r;

		buf_init(&out, (size_t)1 << 20);
		r = store_query(s, &q, &out, NULL);
		if (r == -EREMOTEIO && store_exception_code(out.data, out.len) == 241)
			atomic_fetch_add(&n_refused, 1);
		else if (r < 0 && r != -EREMOTEIO && r != -EAGAIN)
			_exit(10);
	}
	return NULL;
}

static void insert_until(struct store *s, const atomic_bool *done)
{
	const int64_t now = (int64_t)clock_realtime_ns();
	CLEANUP(row_batch_fini) struct row_batch b;
	const struct store_frame *frames;
	bool stored = false;
	size_t n;

	row_batch_init(&b, (size_t)64 << 20, (size_t)64 << 20);
	for (uint64_t i = 0; i < 100000; i++) {
		const struct sample_row row = {T("/svc"), T("a:b:c"), now - 1, now, NULL, 0, i, 1};

		if (row_batch_add_sample(&b, &row) < 0)
			_exit(11);
	}
	if (row_batch_finish(&b) < 0)
		_exit(12);
	frames = row_batch_frames(&b, STORE_SAMPLES, &n);
	while (!stored || !atomic_load(done)) {
		int r = store_insert(s, STORE_SAMPLES, NULL, frames, n, NULL);

		if (r < 0 && r != -EAGAIN && r != -ENOMEM)
			_exit(13);
		stored |= r == 0;
		usleep(100000);
	}
}

struct inserter {
	struct store *store;
	atomic_bool done;
};

static void *keep_inserting(void *arg)
{
	struct inserter *i = arg;

	insert_until(i->store, &i->done);
	return NULL;
}

#define N_STACKS 24000u
#define N_FRAMES 40u

static void maintain(struct store *s, const char *sql)
{
	struct err err = {0};
	int r = store_maintain(s, sql, NULL, &err);

	if (r < 0) {
		print_error("%s: %s\n", sql, err.msg);
		_exit(20);
	}
}

static int count_stack(void *ctx, const struct flame_frame *frames, size_t n_frames,
		       struct stack_value value)
{
	size_t *n = ctx;

	(void)frames;
	*n += n_frames == N_FRAMES && value.value == 1;
	return 0;
}

/* All frames are twice as large as an answer of the engine may be. */
static void read_deep_stacks(struct store *s)
{
	const int64_t now = (int64_t)clock_realtime_ns(), hour = INT64_C(3600) * (int64_t)NS_PER_S;
	const struct query_filter f = {.service = "deep",
				       .type = "ebpf:cpu:nanoseconds",
				       .from_ns = now - hour,
				       .to_ns = now + hour};
	struct stack_query_result result;
	struct err err = {0};
	size_t n = 0;
	char sql[512];
	int r;

	for (unsigned first = 0; first < N_STACKS; first += 2000) {
		snprintf(
			sql, sizeof(sql),
			"INSERT INTO profiling_stacks SELECT 'deep', number + 1, now64(9) + 86400, "
			"arrayMap(x -> concat('a_function_that_has_a_rather_long_name_', "
			"toString(number), '_', toString(x), ' file.go:1'), range(%u)) "
			"FROM numbers(%u, 2000)",
			N_FRAMES, first);
		maintain(s, sql);
	}
	snprintf(sql, sizeof(sql),
		 "INSERT INTO profiling_samples SELECT 'deep', 'ebpf:cpu:nanoseconds', "
		 "now64(9) - 60, now64(9) - 50, map(), number + 1, 1 FROM numbers(%u)",
		 N_STACKS);
	maintain(s, sql);
	r = stack_query(s, (struct query_sides){&f, NULL}, count_stack, &n, &result, &err);
	if (r < 0) {
		print_error("%d: %s\n", r, err.msg);
		_exit(21);
	}
	if (n != N_STACKS || result.n_stacks_cut != 0)
		_exit(22);
}

static void use_memory(void)
{
	const struct store_chdb_config cfg = {dir, UINT64_C(86400) * NS_PER_S,
					      getenv("CHDB_LIBRARY")};
	pthread_t readers[STORE_MAX_QUERIES], writer;
	struct inserter inserter = {0};
	struct err err = {0};

	if (memory_limit_read() != strtoull(LIMIT, NULL, 10))
		_exit(1);
	if (store_chdb_open(&inserter.store, &cfg, &err) < 0) {
		print_error("open: %s\n", err.msg);
		_exit(2);
	}
	if (pthread_create(&writer, NULL, keep_inserting, &inserter) != 0)
		_exit(3);
	for (size_t i = 0; i < STORE_MAX_QUERIES; i++) {
		if (pthread_create(&readers[i], NULL, ask_for_too_much, inserter.store) != 0)
			_exit(4);
	}
	for (size_t i = 0; i < STORE_MAX_QUERIES; i++)
		pthread_join(readers[i], NULL);
	atomic_store(&inserter.done, true);
	pthread_join(writer, NULL);
	if (store_ping(inserter.store) < 0)
		_exit(5);
	read_deep_stacks(inserter.store);
	store_close(inserter.store);
	_exit(atomic_load(&n_refused) > 0 ? 0 : 6);
}

#define N_MANY 400000u
#define N_FEW 5000u

/* While merges have most of the memory, it is inserted later. */
static void insert_patiently(struct store *s, const char *sql)
{
	eventually(store_maintain(s, sql, NULL, NULL) >= 0);
}

/* Two days of a service, with a profile on each, and the samples of n stacks. */
static void fill_days(struct store *s, const char *service, unsigned n)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO profiling_quality SELECT '%s', 'ebpf:cpu:nanoseconds', now64(9) - "
		 "toIntervalHour(k), now64(9) - toIntervalHour(k - 1), 'h', %u, 0, 3600000000000, "
		 "1, map(), k, map(), map(), map(), map(), 0 FROM (SELECT number + 2 AS k FROM "
		 "numbers(46))",
		 service, n);
	maintain(s, sql);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO profiling_stacks SELECT '%s', number, now64(9), "
		 "[concat('leaf', toString(number %% 50), ' file.go:1')] FROM numbers(%u)",
		 service, n < N_FEW ? n : N_FEW);
	maintain(s, sql);
	for (unsigned first = 0; first < n; first += 20000) {
		snprintf(sql, sizeof(sql),
			 "INSERT INTO profiling_samples SELECT '%s', 'ebpf:cpu:nanoseconds', t, "
			 "t + 60, map(), number, 1 + number %% 50 * k FROM (SELECT number, "
			 "arrayJoin([3, 30]) AS k, now64(9) - toIntervalHour(k) AS t FROM "
			 "numbers(%u, %u))",
			 service, first, n - first < 20000 ? n - first : 20000);
		insert_patiently(s, sql);
	}
}

/* Movers of yesterday and today. Returns what mover_query() does. */
static int ask_movers(struct store *s, const char *service, size_t *ret_n, struct err *err)
{
	const int64_t now = (int64_t)clock_realtime_ns(), day = 86400 * (int64_t)NS_PER_S;
	const struct query_filter f = {.service = service, .from_ns = now - day, .to_ns = now};
	const struct query_filter base = {.from_ns = now - 2 * day, .to_ns = now - day};
	struct mover_list l = {0};
	int r = mover_query(s, &f, &base, 20, &l, err);

	*ret_n = l.n_items;
	if (r == 0)
		mover_list_fini(&l);
	return r;
}

static bool is_refused(int r, const struct err *err)
{
	return (r == -EFBIG || r == -ENOMEM) && strstr(err->msg, "for a shorter range");
}

/* About as many stacks as a query of such a container may add up, and a service of a few. */
static void compare_many_stacks(void)
{
	const struct store_chdb_config cfg = {dir, UINT64_C(30 * 86400) * NS_PER_S,
					      getenv("CHDB_LIBRARY")};
	struct store *s;
	struct err err = {0};
	size_t n;
	int r;

	if (store_chdb_open(&s, &cfg, &err) < 0)
		_exit(31);
	fill_days(s, "many", N_MANY);
	fill_days(s, "few", N_FEW);
	r = ask_movers(s, "many", &n, &err);
	if (r == 0 ? n == 0 : !is_refused(r, &err)) {
		print_error("%zu movers of many stacks: %d, %s\n", n, r, err.msg);
		_exit(32);
	}
	if (ask_movers(s, "few", &n, &err) < 0 || n != 20) {
		print_error("%zu movers of few stacks: %s\n", n, err.msg);
		_exit(33);
	}
	if (store_ping(s) < 0)
		_exit(34);
	store_close(s);
	_exit(0);
}

/* Calls fn, which does not return, in a process that may have as much memory as LIMIT says. */
static void run_in_container(void (*fn)(void))
{
	AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cgroup_hierarchy *h;
	struct test_cgroup c;
	char path[100];
	int status;
	pid_t pid;

	assert_int_equal(cgroup_hierarchy_new(&h, proc), 0);
	snprintf(path, sizeof(path), "/test_store_memory.%d", (int)getpid());
	test_cgroup_make(&c, h, path);
	limit_memory(&c);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		test_cgroup_enter(&c);
		fn();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	test_cgroup_remove(&c);
	cgroup_hierarchy_free(h);
	assert_int_equal(status, 0);
}

TEST_FIXTURE(greedy_queries_do_not_kill_the_process, make_dir, NULL)
{
	run_in_container(use_memory);
}

TEST_FIXTURE(movers_of_many_stacks_are_within_the_memory_or_fail_with_a_sentence, make_dir, NULL)
{
	run_in_container(compare_many_stacks);
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(NULL, NULL);
}
