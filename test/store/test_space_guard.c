/*
 * The space guard on a small disk: the embedded engine in a tmpfs. The environment names libchdb.so
 * as CHDB_LIBRARY.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "cluster-agent/store/space_guard.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "test/lib/unit.h"

#define N_DAYS 5
/* Random text, which does not compress: about 6 MB a day of the disk's 100. */
#define DAY_ROWS 6000
#define DISK "size=100m"

static const char *dir;
static struct store *store;

/* Mounts the disk where only this process and its children see it. */
static int start(void **state)
{
	struct store_chdb_config cfg = {.data_dir = NULL,
					.profiles_ttl_ns = UINT64_C(30) * 86400 * NS_PER_S,
					.chdb_library = getenv("CHDB_LIBRARY")};
	struct err err = {0};
	char data[80];

	(void)state;
	dir = temp_dir();
	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", dir, "tmpfs", 0, DISK) < 0) {
		perror("small disk");
		return -1;
	}
	snprintf(data, sizeof(data), "%s/data", dir);
	cfg.data_dir = data;
	if (store_chdb_open(&store, &cfg, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	log_set_level(LOG_LEVEL_ERROR);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	store_close(store);
	umount2(dir, MNT_DETACH);
	return rmdir(dir);
}

static void run(const char *sql)
{
	struct err err = {0};

	if (store_maintain(store, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
}

static uint64_t number(const char *sql)
{
	CLEANUP(buf_fini) struct buf out;
	struct err err = {0};

	buf_init(&out, 10000);
	if (store_maintain(store, sql, &out, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
	return strtoull(out.data, NULL, 10);
}

/* The table's columns of the time are set to noon, n days ago. */
static void fill_day(unsigned n)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO profiling_samples SELECT '/svc', 'a:b:c', t, t, "
		 "map('x', randomString(1000)), number, 1 FROM (SELECT number, "
		 "toDateTime64(today(), 9) - toIntervalDay(%u) AS t FROM numbers(%d))",
		 n, DAY_ROWS);
	run(sql);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO profiling_stacks SELECT '/svc', %u, "
		 "toDateTime64(today(), 9) - toIntervalDay(%u), ['f a.c:1']",
		 n, n);
	run(sql);
}

static unsigned usage(void)
{
	struct statvfs st;

	assert_int_equal(statvfs(dir, &st), 0);
	return (unsigned)((st.f_blocks - st.f_bavail) * 100 / st.f_blocks);
}

static uint64_t days_of(const char *table, const char *column)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT uniqExact(toDate(%s)) FROM %s", column, table);
	return number(sql);
}

static int check(unsigned max_usage_percent)
{
	const struct space_guard_config cfg = {.store = store,
					       .max_usage_percent = max_usage_percent};
	CLEANUP(space_guard_freep) struct space_guard *g = NULL;
	struct err err = {0};
	int r;

	assert_int_equal(space_guard_new(&g, &cfg), 0);
	r = space_guard_check(g, &err);
	if (r < 0)
		fail_msg("%s", err.msg);
	return r;
}

TEST(the_oldest_days_are_dropped_from_all_tables)
{
	unsigned before;

	for (unsigned i = 0; i < N_DAYS; i++)
		fill_day(N_DAYS - 1 - i);
	before = usage();
	assert_true(before > 25 && before < 90);
	assert_int_equal(check(before + 3), 0);
	assert_int_equal(days_of("profiling_samples", "Start"), N_DAYS);

	/* a day is six percent: two of them make room */
	assert_int_equal(check(before - 9), 2);
	assert_int_equal(days_of("profiling_samples", "Start"), N_DAYS - 2);
	assert_int_equal(days_of("profiling_stacks", "LastSeen"), N_DAYS - 2);
	assert_int_equal(number("SELECT max(Hash) FROM profiling_stacks"), N_DAYS - 3);
	eventually(usage() <= before - 9);
	assert_int_equal(check(before - 9), 0);
}

TEST(a_disk_full_of_other_files_costs_no_profiles)
{
	uint64_t days = days_of("profiling_samples", "Start");
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/other", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (80 - (off_t)usage()) << 20), 0);
	assert_int_equal(check(30), 0);
	assert_int_equal(days_of("profiling_samples", "Start"), days);
	unlink(path);
	close(fd);
}

TEST(the_newest_day_is_left)
{
	while (days_of("profiling_samples", "Start") > 1)
		assert_true(check(usage() - 3) >= 0);
	assert_int_equal(check(usage() - 3), 0);
	assert_int_equal(number("SELECT toDate(any(Start)) = today() FROM profiling_samples"), 1);
}

TEST(the_thread_looks_by_itself)
{
	struct space_guard_config cfg = {.store = store, .interval_ns = 10 * NS_PER_MS};
	CLEANUP(space_guard_freep) struct space_guard *g = NULL;
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, 100000);
	fill_day(2);
	cfg.max_usage_percent = usage() - 3;
	assert_int_equal(space_guard_new(&g, &cfg), 0);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(space_guard_register(g, ms), 0);
	assert_int_equal(space_guard_start(g), 0);
	eventually(days_of("profiling_samples", "Start") <= 1);
	space_guard_stop(g);
	assert_int_equal(metrics_write(ms, &text), 0);
	assert_non_null(strstr(text.data, "\ncoroot_cluster_agent_space_dropped_days_total 1\n"));
}

/* The number of a month is below that of each of its days. */
TEST(months_are_not_taken_for_old_days)
{
	const struct space_guard_config cfg = {.store = store, .max_usage_percent = 1};
	CLEANUP(space_guard_freep) struct space_guard *g = NULL;
	struct err err = {0};

	run("DROP TABLE profiling_quality");
	run("CREATE TABLE profiling_quality (Start DateTime64(9)) ENGINE = MergeTree "
	    "PARTITION BY toYYYYMM(Start) ORDER BY Start");
	run("INSERT INTO profiling_quality SELECT now64(9)");
	fill_day(1);
	assert_int_equal(space_guard_new(&g, &cfg), 0);
	assert_int_equal(space_guard_check(g, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "profiling_quality"));
	assert_int_equal(days_of("profiling_quality", "Start"), 1);
	assert_int_equal(days_of("profiling_samples", "Start"), 2);
}

GROUP_FIXTURE(start, stop)
