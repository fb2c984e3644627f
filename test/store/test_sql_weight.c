/*
 * No statement that the SQL port allows takes more memory or time than the limits of a query
 * admit. Those of test/data/sql/heavy-statements, and each allowed function with large arguments of
 * several types, run in a child process whose memory and CPU time are watched. The engine refuses
 * most of the calls for their types, which is quick. test/data/sql/heavy-calls has the heaviest
 * call of each function that takes a while; by default only those are tried.
 *
 * A row has texts of 30 KB and arrays of 30,000 elements: what is linear in them needs
 * milliseconds, what multiplies two of them seconds, and more is off the list.
 *
 * With SQL_WEIGHT=all (make check-sql-weight) all pairs of types are tried, and triples of the most
 * telling ones, for half an hour; the calls found are written to build/heavy-calls.new. One that
 * fails does not end that. The environment names libchdb.so as CHDB_LIBRARY.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "cluster-agent/sql/sql_functions.h"
#include "cluster-agent/sql/sql_guard.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define MAX_RSS_MIB 900
#define MAX_CPU_S 6.0
#define UNKNOWN_ARGUMENTS 42 /* NUMBER_OF_ARGUMENTS_DOESNT_MATCH */
#define DATA "test/data/sql/"
#define WORTH_MS 5 /* of calls that are not in the list of heavy ones */

/* Between the processes. */
struct watched {
	_Atomic double query_cpu_s; /* CPU time of the child when the query began */
	atomic_uint n_queries;
	atomic_uint n_answered;
	atomic_uint item; /* statement or function that is tried */
	atomic_bool done;
	char query[200];
};

static struct watched *watched;
static const char *dir;

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

/* Of the third argument, if all calls are tried. */
static const char thirds[] = "saN";

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the child ---- */

static int ask(struct store *store, const char *sql, const struct sql_facts *facts, struct buf *out)
{
	struct store_setting settings[SQL_GUARD_MAX_SETTINGS + 1] = {{"max_execution_time", "1"}};
	struct store_query q = {
		.lane = STORE_FOR_SQL,
		.sql = sql,
		.format = facts && facts->format[0] ? facts->format : "TSV",
		.settings = settings,
		.n_settings = 1,
	};

	for (size_t i = 0; facts && i < facts->n_settings; i++) {
		if (strcmp(facts->settings[i].name, "max_execution_time") != 0)
			settings[q.n_settings++] = (struct store_setting){facts->settings[i].name,
									  facts->settings[i].value};
	}
	return store_query(store, &q, out, NULL);
}

/* Returns what the query returned. */
static int run(struct store *store, const char *sql, const struct sql_facts *facts, struct buf *out)
{
	int r;

	atomic_store(&watched->query_cpu_s, cpu_s());
	atomic_fetch_add(&watched->n_queries, 1);
	r = ask(store, sql, facts, out);
	if (r == 0)
		atomic_fetch_add(&watched->n_answered, 1);
	return r;
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

struct function {
	struct store *store;
	const char *name;
	bool is_aggregate;
	double heaviest_s;
	char heaviest[4]; /* letters */
};

/* Returns false if the function does not take so many arguments. */
static bool call(struct function *f, const char *letters)
{
	CLEANUP(buf_fini) struct buf sql, out;
	double used;
	int r;

	buf_init(&sql, 10000);
	buf_init(&out, 1 << 20);
	r = buf_addf(&sql, "SELECT ignore(%s(", f->name);
	if (r == 0)
		r = put_arguments(&sql, letters, f->is_aggregate);
	if (r == 0)
		r = buf_addf(&sql, ")) FROM numbers(%d)", f->is_aggregate ? 20000 : 1);
	if (r < 0)
		_exit(1);
	snprintf(watched->query, sizeof(watched->query), "%s(%s)", f->name, letters);
	r = run(f->store, sql.data, NULL, &out);
	used = cpu_s() - atomic_load(&watched->query_cpu_s);
	if (r == 0 && used > f->heaviest_s) {
		f->heaviest_s = used;
		snprintf(f->heaviest, sizeof(f->heaviest), "%s", letters);
	}
	return r != -EREMOTEIO || store_exception_code(out.data, out.len) != UNKNOWN_ARGUMENTS;
}

static void call_with_all(struct function *f)
{
	const size_t n = ARRAY_SIZE(arguments);
	char letters[4] = "";

	for (size_t i = 0; i < n; i++) {
		letters[0] = arguments[i].letter;
		call(f, letters);
		for (size_t k = 0; k < n; k++) {
			letters[1] = arguments[k].letter;
			if (!call(f, letters))
				break;
		}
		letters[1] = '\0';
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < 9; k++) {
			snprintf(letters, sizeof(letters), "%c%c%c", arguments[i].letter,
				 thirds[k / 3], thirds[k % 3]);
			if (!call(f, letters))
				return;
		}
	}
}

/* ---- what is tried ---- */

static bool tries_all(void)
{
	const char *mode = getenv("SQL_WEIGHT");

	return mode && strcmp(mode, "all") == 0;
}

static struct {
	char *line[2000];
	size_t n;
} statements, calls;

static void read_lines(const char *path, char **line, size_t max, size_t *n)
{
	FILE *f = fopen(path, "r");
	size_t size = 0;

	assert_non_null(f);
	while (getline(&line[*n], &size, f) > 0) {
		char *text = line[*n];

		assert_true(*n + 1 < max);
		text[strcspn(text, "\n")] = '\0';
		if (text[0] == '~' && tries_all())
			text[0] = ' ';
		if (text[0] && text[0] != '#' && text[0] != '~') {
			line[++*n] = NULL;
			size = 0;
		}
	}
	(void)fclose(f);
}

static void try_statement(struct store *store, const char *sql)
{
	CLEANUP(buf_fini) struct buf text, out;
	struct err err = {0};
	struct sql_facts facts;

	buf_init(&text, 10000);
	buf_init(&out, 64 << 20);
	snprintf(watched->query, sizeof(watched->query), "%.190s", sql);
	if (sql_guard_check(sql, strlen(sql), &facts, &err) < 0) {
		print_message("%s\n    %s\n", sql, err.msg);
		_exit(2);
	}
	if (buf_add(&text, sql, facts.len) < 0 || buf_add(&text, "", 1) < 0)
		_exit(1);
	(void)run(store, text.data, &facts, &out);
	if (getenv("SQL_WEIGHT"))
		print_message("%5.2f s %.*s: %.100s\n",
			      cpu_s() - atomic_load(&watched->query_cpu_s),
			      (int)(out.len < 90 ? out.len : 90), out.len ? out.data : "", sql);
}

/* A line of heavy-calls. */
static void try_call(struct store *store, const char *line)
{
	char name[100], letters[4], kind;
	struct function f = {.store = store, .name = name};

	if (sscanf(line, "%99s %3s %c", name, letters, &kind) != 3)
		_exit(1);
	f.is_aggregate = kind == 'a';
	if (sql_function_is_allowed(name, strlen(name)))
		call(&f, letters);
}

static void try_function(struct store *store, const char *name, bool aggregate, FILE *list)
{
	struct function f = {.store = store, .name = name, .is_aggregate = aggregate};

	call_with_all(&f);
	if (f.heaviest_s * 1e3 > WORTH_MS)
		fprintf(list, "%s %s %c\n", name, f.heaviest, aggregate ? 'a' : 'o');
	(void)fflush(list);
}

/* All functions of the engine that are allowed; their items follow those of the statements. */
static void try_functions(struct store *store, unsigned first)
{
	static const char sql[] = "SELECT name, is_aggregate FROM system.functions "
				  "WHERE alias_to = '' ORDER BY name";
	FILE *list = fopen("build/heavy-calls.new", "a");
	unsigned item = (unsigned)statements.n;
	struct buf out;

	buf_init(&out, 1 << 20);
	if (!list || ask(store, sql, NULL, &out) < 0 || buf_add(&out, "", 1) < 0)
		_exit(1);
	for (char *name = out.data, *end; (end = strchr(name, '\n')); name = end + 1) {
		char *tab = strchr(name, '\t');

		*end = *tab = '\0';
		if (!sql_function_is_allowed(name, strlen(name)) || item++ < first)
			continue;
		atomic_store(&watched->item, item - 1);
		try_function(store, name, tab[1] == '1', list);
	}
}

/* Tries the item first and all that follow. */
static void run_child(unsigned first)
{
	struct store_chdb_config cfg = {dir, UINT64_C(86400) * NS_PER_S, getenv("CHDB_LIBRARY")};
	struct store *store;

	if (store_chdb_open(&store, &cfg, NULL) < 0)
		_exit(1);
	for (size_t i = first; i < statements.n; i++) {
		atomic_store(&watched->item, (unsigned)i);
		try_statement(store, statements.line[i]);
	}
	if (tries_all())
		try_functions(store, first);
	for (size_t i = first > statements.n ? first - statements.n : 0;
	     i < calls.n && !tries_all(); i++) {
		atomic_store(&watched->item, (unsigned)(statements.n + i));
		try_call(store, calls.line[i]);
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
		snprintf(text, sizeof(text), "%.0f MiB", rss);
	else if (atomic_load(&watched->n_queries) > 0 && used > MAX_CPU_S)
		snprintf(text, sizeof(text), "%.1f s of CPU time", used);
	else
		return NULL;
	return text;
}

/* Returns whether all was tried; if not, what is wrong is in *why. */
static bool watch_child(unsigned first, const char **why)
{
	int status = 0;
	pid_t pid;

	dir = temp_dir();
	atomic_store(&watched->query_cpu_s, 1000);
	pid = fork();
	if (pid == 0)
		run_child(first);
	*why = NULL;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		usleep(5000);
		*why = *why ?: judge(pid);
		if (*why)
			kill(pid, SIGKILL);
	}
	if (!*why && !atomic_load(&watched->done))
		*why = "the engine ended";
	return !*why;
}

TEST(allowed_statements_are_bounded_in_memory_and_time)
{
	unsigned n_failed = 0, first = 0;
	const char *why;

	watched = mmap(NULL, sizeof(*watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_ptr_not_equal(watched, MAP_FAILED);
	read_lines(DATA "heavy-statements", statements.line, ARRAY_SIZE(statements.line),
		   &statements.n);
	read_lines(DATA "heavy-calls", calls.line, ARRAY_SIZE(calls.line), &calls.n);
	while (!watch_child(first, &why)) {
		print_message("%s: %s\n", watched->query, why);
		n_failed++;
		first = atomic_load(&watched->item) + 1;
	}
	print_message("%u of %u queries answered\n", atomic_load(&watched->n_answered),
		      atomic_load(&watched->n_queries));
	assert_int_equal(n_failed, 0);
	assert_true(atomic_load(&watched->n_answered) > 100);
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(NULL, NULL);
}
