/*
 * The list of applications on the embedded engine, with what hostile uploads left in the tables
 * before there were limits. The environment names libchdb.so as CHDB_LIBRARY.
 */
#include <errno.h>

#include "cluster-agent/query/read/application_query.h"
#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define CPU "ebpf:cpu:nanoseconds"
#define NOON INT64_C(1768046400) /* 2026-01-10 12:00 UTC */
#define START "toDateTime64('2026-01-10 12:00:00', 9, 'UTC')"

static struct store *store;

static void insert(const char *service, const char *type, const char *value, unsigned n)
{
	struct err err = {""};
	char sql[1000];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO profiling_quality (ServiceName, Type, Start, End, Host, Samples, "
		 "Value, "
		 "Instance, Upload) SELECT %s, %s, " START ", " START
		 " + 60, 'n', 1, %s, 1, 1 FROM numbers(%u) "
		 "SETTINGS max_block_size = 100",
		 service, type, value, n);
	if (store_maintain(store, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
}

static int start(void **state)
{
	struct store_chdb_config cfg = {temp_dir(), UINT64_C(3650) * 86400 * NS_PER_S,
					getenv("CHDB_LIBRARY")};
	struct err err = {""};

	(void)state;
	if (store_chdb_open(&store, &cfg, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	insert("'busy'", "'" CPU "'", "120000000000", 1);
	insert("'idle'", "'" CPU "'", "6000000000", 1);
	insert("'idle'", "'go:heap_inuse_space:bytes'", "1", 1);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	store_close(store);
	return 0;
}

static void list(struct application_list *ret, uint32_t max)
{
	const struct query_filter f = {.from_ns = NOON * (int64_t)NS_PER_S,
				       .to_ns = (NOON + 60) * (int64_t)NS_PER_S};
	const struct application_question q = {&f, NULL, 10, max};
	struct err err = {""};

	if (application_query(store, &q, ret, &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_service(const struct application *a, const char *service, size_t n_types)
{
	assert_int_equal(a->types->service_len, strlen(service));
	assert_memory_equal(a->types->service, service, strlen(service));
	assert_int_equal(a->n_types, n_types);
}

TEST(a_limit_leaves_the_busiest)
{
	struct application_list l;

	list(&l, 1);
	assert_int_equal(l.n_items, 1);
	assert_int_equal(l.n_services, 2);
	assert_service(&l.items[0], "busy", 1);
	application_list_fini(&l);
	list(&l, 0);
	assert_int_equal(l.n_items, 2);
	assert_service(&l.items[1], "idle", 2);
	application_list_fini(&l);
}

/* 60 uploads of 64 types with names of 60,000 bytes each; compressed they are 329 KB. */
TEST(types_with_endless_names_do_not_break_it)
{
	struct application_list l;

	insert("concat('long', toString(number % 60))",
	       "concat('a:', repeat('x', 60000), toString(intDiv(number, 60)), ':b')", "1",
	       60 * 64);
	list(&l, 0);
	assert_int_equal(l.n_items, 2);
	assert_service(&l.items[0], "busy", 1);
	application_list_fini(&l);
}

TEST(a_service_with_many_types_shows_what_counts)
{
	struct application_list l;

	insert("'idle'", "concat('a:', toString(number), ':b')", "1", 1000);
	list(&l, 0);
	assert_int_equal(l.n_items, 2);
	assert_service(&l.items[1], "idle", 64);
	assert_true(l.items[1].has_cores);
	application_list_fini(&l);
}

TEST(many_services_with_many_types_leave_room_for_the_busiest)
{
	struct application_list l;

	insert("concat('many', toString(number % 1500), repeat('y', 500))",
	       "concat('a:', repeat('x', 100), toString(intDiv(number, 1500)), ':b')", "1",
	       1500 * 64);
	list(&l, 0);
	assert_int_equal(l.n_services, 1502);
	assert_in_range(l.n_items, 100, 1502);
	assert_service(&l.items[0], "busy", 1);
	assert_service(&l.items[1], "idle", 64);
	application_list_fini(&l);
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(start, stop);
}
