/*
 * No function that the SQL port allows takes more memory or time than the limits of a query admit,
 * with whatever arguments: each is called with large ones of several types, in a child process
 * whose memory and CPU time are watched. The engine refuses most of these calls for their types,
 * which is quick.
 *
 * A row has texts of 30 KB and arrays of 30,000 elements: what is linear in them needs
 * milliseconds, what multiplies two of them seconds, and more is off the list. SQL_WEIGHT=all tries
 * all pairs and triples of types, which takes an hour. The environment names libchdb.so as
 * CHDB_LIBRARY.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "cluster-agent/sql/sql_functions.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "test/lib/remove_tree.h"
#include "test/lib/unit.h"

#define MAX_RSS_MIB 900
#define MAX_CPU_S 6.0
#define UNKNOWN_ARGUMENTS 42 /* NUMBER_OF_ARGUMENTS_DOESNT_MATCH */

/* Between the processes. */
struct watched {
	_Atomic double query_cpu_s; /* CPU time of the child when the query began */
	atomic_uint n_queries;
	atomic_uint n_answered;
	atomic_bool done;
	char query[200];
};

static struct watched *watched;
static char dir[64];

/* A letter for each argument. */
static const struct {
	char letter;
	const char *sql;
	const char *of_many; /* where the rows are many: for aggregate functions */
} arguments[] = {
	{'s', "repeat(concat(toString(number), 'ab'), 10000)", "toString(number)"},
	{'k', "repeat('ab', 15000)", "toString(number % 1000)"},
	{'j', "concat(repeat('{\"a\":', 10000), toString(number), repeat('}', 10000))",
	 "toString(number)"},
	{'a', "range(30000 + number)", "range(number % 10)"},
	{'x', "arrayMap(x -> toString(x), range(30000 + number))", "[toString(number)]"},
	{'f', "arrayMap(x -> sin(x), range(30000 + number))", "sin(number)"},
	{'m', "mapFromArrays(range(30000 + number), range(30000 + number))", "map(number, number)"},
	{'g', "arrayMap(x -> (cos(x) * 80, sin(x) * 80), range(20000 + number))",
	 "(number, number)"},
	{'n', "toUInt64(18446744073709551615 - number)", "number"},
	{'N', "1000000000000", "1000000000000"},
	{'q', "5", "number % 2"},
	{'d', "toDateTime('2020-01-01 00:00:00') + number", "toDateTime(number)"},
	{'B', "bitmapBuild(arrayMap(x -> toUInt32(x), range(30000)))", "toUInt32(number)"},
	{'l', "x -> x", "number"},
	{'L', "(x, y) -> x", "number"},
	{'A', "'sum'", "'sum'"},
};

/* Of one length after the other, as the first that does not fit ends the length. */
static const char *const quick[] = {"s",  "a",  "sk",  "aa",  "ff", "jj",
				    "sx", "gq", "sss", "Laa", "aaa"};

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the child ---- */

static int ask(struct store *store, const char *sql, struct buf *out)
{
	const struct store_setting limit = {"max_execution_time", "1"};
	const struct store_query q = {
		.lane = STORE_FOR_SQL,
		.sql = sql,
		.format = "TSV",
		.settings = &limit,
		.n_settings = 1,
	};

	return store_query(store, &q, out, NULL);
}

static int put_arguments(struct buf *sql, const char *letters, bool aggregate)
{
	int r = 0;

	for (const char *l = letters; *l && r == 0; l++) {
		for (size_t i = 0; i < ARRAY_SIZE(arguments) && r == 0; i++) {
			if (arguments[i].letter == *l)
				r = buf_addf(sql, "%s%s", l > letters ? ", " : "",
					     aggregate ? arguments[i].of_many : arguments[i].sql);
		}
	}
	return r;
}

/* Returns false if the function does not take so many arguments. */
static bool call(struct store *store, const char *name, const char *letters, bool aggregate)
{
	CLEANUP(buf_fini) struct buf sql, out;
	int r;

	buf_init(&sql, 10000);
	buf_init(&out, 1 << 20);
	r = buf_addf(&sql, "SELECT ignore(%s(", name);
	if (r == 0)
		r = put_arguments(&sql, letters, aggregate);
	if (r == 0)
		r = buf_addf(&sql, ")) FROM numbers(%d)", aggregate ? 20000 : 1);
	if (r < 0)
		_exit(1);
	snprintf(watched->query, sizeof(watched->query), "%s(%s)", name, letters);
	atomic_store(&watched->query_cpu_s, cpu_s());
	atomic_fetch_add(&watched->n_queries, 1);
	r = ask(store, sql.data, &out);
	if (r == 0)
		atomic_fetch_add(&watched->n_answered, 1);
	return r != -EREMOTEIO || store_exception_code(out.data, out.len) != UNKNOWN_ARGUMENTS;
}

static void call_with_all(struct store *store, const char *name, bool aggregate)
{
	const size_t n = ARRAY_SIZE(arguments);
	char letters[4] = "";

	for (size_t i = 0; i < n; i++) {
		letters[0] = arguments[i].letter;
		for (size_t k = 0; k < n; k++) {
			letters[1] = arguments[k].letter;
			if (!call(store, name, letters, aggregate))
				break;
			for (size_t m = 0; m < n; m++) {
				letters[2] = arguments[m].letter;
				if (!call(store, name, letters, aggregate))
					break;
			}
			letters[2] = '\0';
		}
		letters[1] = '\0';
	}
}

static void try_function(struct store *store, const char *name, bool aggregate)
{
	const char *mode = getenv("SQL_WEIGHT");
	size_t unfit = 0; /* number of arguments */

	for (size_t i = 0; i < ARRAY_SIZE(quick); i++) {
		if (strlen(quick[i]) != unfit && !call(store, name, quick[i], aggregate))
			unfit = strlen(quick[i]);
	}
	if (mode && strcmp(mode, "all") == 0)
		call_with_all(store, name, aggregate);
}

static void run_child(void)
{
	struct store_chdb_config cfg = {dir, UINT64_C(86400) * NS_PER_S, getenv("CHDB_LIBRARY")};
	static const char list[] = "SELECT name, is_aggregate FROM system.functions "
				   "WHERE alias_to = '' ORDER BY name";
	struct store *store;
	struct buf out;

	buf_init(&out, 1 << 20);
	if (store_chdb_open(&store, &cfg, NULL) < 0 || ask(store, list, &out) < 0 ||
	    buf_add(&out, "", 1) < 0)
		_exit(1);
	for (char *name = out.data, *end; (end = strchr(name, '\n')); name = end + 1) {
		char *tab = strchr(name, '\t');

		*end = *tab = '\0';
		if (sql_function_is_allowed(name, strlen(name)))
			try_function(store, name, tab[1] == '1');
	}
	atomic_store(&watched->done, true);
	_exit(0);
}

/* ---- the watch ---- */

static size_t read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static double rss_mib(pid_t pid)
{
	char text[200], *at = text;

	read_file(pid, "statm", text, sizeof(text));
	(void)strtoull(text, &at, 10);
	return (double)strtoull(at, NULL, 10) * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static double cpu_of(pid_t pid)
{
	char text[1000], *at;
	unsigned long long user;

	read_file(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')');
	for (int i = 0; at && i < 12; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	user = strtoull(at, &at, 10);
	return (double)(user + strtoull(at, NULL, 10)) / (double)sysconf(_SC_CLK_TCK);
}

/* Returns what is wrong with the query that runs, or NULL. */
static const char *judge(pid_t pid)
{
	static char text[300];
	double rss = rss_mib(pid), used = cpu_of(pid) - atomic_load(&watched->query_cpu_s);

	if (rss > MAX_RSS_MIB)
		snprintf(text, sizeof(text), "%s: %.0f MiB", watched->query, rss);
	else if (atomic_load(&watched->n_queries) > 0 && used > MAX_CPU_S)
		snprintf(text, sizeof(text), "%s: %.1f s of CPU time", watched->query, used);
	else
		return NULL;
	return text;
}

TEST(allowed_functions_are_bounded_in_memory_and_time)
{
	const char *why = NULL;
	int status = 0;
	pid_t pid;

	watched = mmap(NULL, sizeof(*watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_ptr_not_equal(watched, MAP_FAILED);
	snprintf(dir, sizeof(dir), "/tmp/test_weight.XXXXXX");
	assert_non_null(mkdtemp(dir));
	pid = fork();
	if (pid == 0)
		run_child();
	while (waitpid(pid, &status, WNOHANG) == 0) {
		usleep(5000);
		why = why ?: judge(pid);
		if (why)
			kill(pid, SIGKILL);
	}
	remove_tree(dir);
	if (why)
		fail_msg("%s", why);
	if (!atomic_load(&watched->done))
		fail_msg("%s: the engine ended, status %d", watched->query, status);
	print_message("%u of %u calls answered\n", atomic_load(&watched->n_answered),
		      atomic_load(&watched->n_queries));
	assert_true(atomic_load(&watched->n_answered) > 500);
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(NULL, NULL);
}
