/*
 * The space guard on a cluster, which a function here plays: what is sent to it, and what if some
 * of it fails. test_space_guard.c has a real engine.
 */
#include <errno.h>

#include "cluster-agent/store/space_guard.h"
#include "cluster-agent/store/store_engine.h"
#include "common/telemetry/log.h"
#include "test/lib/unit.h"

#define DISKS "host-1\tdefault\t1000000\t50000\t20260110\tcoroot\n"
#define DAYS                                 \
	"host-1\tdefault\t20260108\t60000\n" \
	"host-1\tdefault\t20260109\t60000\n" \
	"host-1\tdefault\t20260110\t60000\n"

static struct {
	const char *other; /* a table whose partitions are no days, with a newline */
	int code;          /* of the exception that each ALTER ends in; 0: none */
	struct buf log;    /* the ALTERs, one per line */
} server;

static int maintain(struct store *s, const char *sql, struct buf *out, struct err *err)
{
	const char *answer = strstr(sql, "system.tables")  ? server.other
			     : strstr(sql, "system.disks") ? DISKS
			     : strstr(sql, "system.parts") ? DAYS
							   : NULL;

	(void)s;
	if (answer)
		return buf_add(out, answer, strlen(answer));
	assert_memory_equal(sql, "ALTER TABLE ", 12);
	assert_int_equal(buf_addf(&server.log, "%s\n", sql), 0);
	return server.code ? err_set(err, -EREMOTEIO, "Code: %d. DB::Exception: x", server.code)
			   : 0;
}

static const struct store_engine engine = {.maintain = maintain};
static struct store store = {.engine = &engine};

static int check(const char *cluster, int code, struct err *err)
{
	const struct space_guard_config cfg = {.store = &store, .max_usage_percent = 90};
	CLEANUP(space_guard_freep) struct space_guard *g = NULL;

	store.cluster = cluster;
	server.code = code;
	server.log.len = 0;
	assert_int_equal(buf_add(&server.log, "", 0), 0);
	assert_int_equal(space_guard_new(&g, &cfg), 0);
	return space_guard_check(g, err);
}

static int start(void **state)
{
	(void)state;
	server.other = "";
	buf_init(&server.log, 100000);
	log_set_level(LOG_LEVEL_ERROR);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	buf_fini(&server.log);
	return 0;
}

#define DROP(table) \
	"ALTER TABLE profiling_" table " ON CLUSTER `main` DROP PARTITION ID '20260108'\n"

TEST_FIXTURE(a_day_goes_from_all_tables_though_a_server_is_down, start, stop)
{
	static const int codes[] = {0, 159};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct err err = {0};

		assert_int_equal(check("main", codes[i], &err), 1);
		assert_string_equal(server.log.data, DROP("samples") DROP("quality")
							     DROP("profiles") DROP("stacks"));
	}
}

TEST_FIXTURE(another_failure_ends_the_check, start, stop)
{
	struct err err = {0};

	assert_int_equal(check("main", 497, &err), -EREMOTEIO);
	assert_string_equal(server.log.data, DROP("samples"));
	/* on a single server nobody drops the day later */
	assert_int_equal(check(NULL, 159, &err), -EREMOTEIO);
}

TEST_FIXTURE(partitions_that_are_no_days_are_left_alone, start, stop)
{
	struct err err = {0};

	server.other = "profiling_quality\n";
	assert_int_equal(check("main", 0, &err), -EINVAL);
	assert_int_equal(server.log.len, 0);
	assert_non_null(strstr(err.msg, "profiling_quality"));
}
