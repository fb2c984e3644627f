/*
 * A function over all applications (fleet_query.h), from sums that the test writes itself: ranks,
 * shares, versions, levels, rows that are there twice, names, also those that come later, and a
 * store that has no such table.
 * The environment names libchdb.so as CHDB_LIBRARY.
 */
#include <errno.h>
#include <math.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/fleet_query.h"
#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/store/store_engine.h"
#include "cluster-agent/symbols/symbol_store.h"
#include "common/symbols/symbol_file_writer.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define DAY INT64_C(86400)
#define FIRST INT64_C(1768003200) /* 2026-01-10 00:00 UTC */
#define CPU "ebpf:cpu:nanoseconds"
#define HEAP "go_runtime:heap_inuse_space:bytes"

static struct store *store;
static struct symbol_store *symbols;

static void run(const char *sql)
{
	struct err err = {""};

	if (store_maintain(store, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
}

/* A row of a day since FIRST, summed at an hour of it. */
static void add(const char *name, const char *type, const char *service, const char *version,
		int day, int hour, int self, int total, int covered_s)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO profiling_functions VALUES ('%s', '%s', '%s', '%s', "
		 "toDate('2026-01-10') + %d, %d, %d, %d, toDateTime64(%lld, 9, 'UTC'))",
		 name, type, service, version, day, self, total, covered_s,
		 (long long)(FIRST + day * DAY + hour * 3600));
	run(sql);
}

/*
 * "/k8s/a/x": three days; json.Marshal appears with version 2 on the third. "/y" has it all the
 * time; a row of it was summed twice, and is in two parts. "/heap" is a level.
 */
static void fill(void)
{
	run("SYSTEM STOP MERGES profiling_functions");
	for (int day = 0; day < 3; day++) {
		add("", CPU, "/k8s/a/x", "1", day, 23, 0, 1000, 0);
		add("main.main", CPU, "/k8s/a/x", "1", day, 23, 0, 1000, 0);
		add("", CPU, "/y", "", day, 22, 0, 100, 0);
		add("json.Marshal", CPU, "/y", "", day, 22, 5, 10, 0);
		add("", HEAP, "/heap", "1", day, 23, 0, 5000 * (day + 1), 1000);
		add("json.Marshal", HEAP, "/heap", "1", day, 23, 0, 1000 * (day + 1), 0);
	}
	add("", CPU, "/k8s/a/x", "2", 2, 23, 0, 1000, 0);
	add("json.Marshal", CPU, "/k8s/a/x", "2", 2, 23, 100, 400, 0);
	add("json.Marshal", CPU, "/y", "", 2, 11, 1, 2, 0);
	add("json.MarshalIndent", CPU, "/y", "", 2, 22, 1, 2, 0);
	add("100%_\\\\x", CPU, "/y", "", 2, 22, 1, 1, 0);
	/* of two builds, the second of which never gets names */
	for (int day = 1; day < 3; day++) {
		add("nginx+0x401010 [nginx@01cd]", CPU, "/z", "1", day, 22, 7, 70, 0);
		add("nginx+0x401020 [nginx:01cd]", CPU, "/z", "1", day, 22, 0, 3, 0);
		add("nginx+0x401010 [nginx@02cd]", CPU, "/z", "2", day, 22, 5, 50, 0);
		add("ngx_process", CPU, "/w", "", day, 22, 1, 10, 0);
	}
	add("nginx+0x401010 [nginx@01cd]", CPU, "/z", "1", 2, 11, 1, 2, 0);
}

static int start(void **state)
{
	struct store_chdb_config cfg = {.data_dir = temp_dir(),
					.profiles_ttl_ns = UINT64_C(3650) * 86400 * NS_PER_S,
					.function_ttl_ns = UINT64_C(3650) * 86400 * NS_PER_S,
					.chdb_library = getenv("CHDB_LIBRARY")};
	struct err err = {""};

	(void)state;
	if (store_chdb_open(&store, &cfg, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	fill();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	store_close(store);
	return 0;
}

static struct query_filter days(int first, int n)
{
	return (struct query_filter){.from_ns = (FIRST + first * DAY + 50) * (int64_t)NS_PER_S,
				     .to_ns = (FIRST + (first + n) * DAY - 50) * (int64_t)NS_PER_S};
}

static void ask_for(const char *function, const struct query_filter *f, const char *version,
		    struct fleet_list *ret)
{
	const struct fleet_question q = {f, function, version, 10};
	struct err err = {""};

	if (fleet_query(store, &q, ret, &err) < 0)
		fail_msg("%s", err.msg);
}

static void ask(const struct query_filter *f, const char *version, struct fleet_list *ret)
{
	ask_for("json.Marshal", f, version, ret);
}

static void expect_figures(const struct fleet_value *v, double self, double total, double whole)
{
	assert_true(fabs(v->self - self) < 1e-6);
	assert_true(fabs(v->total - total) < 1e-6);
	assert_true(fabs(v->whole - whole) < 1e-6);
}

TEST(applications_are_ranked_with_shares_days_and_versions)
{
	const struct query_filter f = days(0, 3);
	CLEANUP(fleet_list_fini) struct fleet_list l;
	const struct fleet_application *x, *y;

	ask(&f, NULL, &l);
	assert_int_equal(l.n_items, 2);
	assert_int_equal(l.n_applications, 2);
	assert_true(fabs(l.total - 430) < 1e-6 && fabs(l.self - 115) < 1e-6);
	x = &l.items[0];
	y = &l.items[1];
	assert_string_equal(x->service, "/k8s/a/x");
	expect_figures(&x->value, 100, 400, 4000);
	assert_true(x->since_ns == (FIRST + 2 * DAY) * (int64_t)NS_PER_S);
	assert_true(x->days[0] == 0 && x->days[1] == 0 && x->days[2] == 400);
	assert_int_equal(x->n_versions, 2);
	assert_string_equal(x->versions[0].name, "1");
	expect_figures(&x->versions[0].value, 0, 0, 3000);
	assert_string_equal(x->versions[1].name, "2");
	expect_figures(&x->versions[1].value, 100, 400, 1000);
	assert_true(x->versions[1].first_ns == (FIRST + 2 * DAY) * (int64_t)NS_PER_S);
	/* once, though a row of it is there twice, and the newest of both */
	assert_string_equal(y->service, "/y");
	expect_figures(&y->value, 15, 30, 300);
	assert_true(y->since_ns == 0);
	/* the store is as new as the sums that are oldest */
	assert_true(l.up_to_ns == (FIRST + 2 * DAY + 22 * 3600) * (int64_t)NS_PER_S);
}

TEST(a_range_counts_its_days_and_a_version_only_its_own)
{
	struct query_filter f = days(0, 2);
	CLEANUP(fleet_list_fini) struct fleet_list two;
	CLEANUP(fleet_list_fini) struct fleet_list second;
	CLEANUP(fleet_list_fini) struct fleet_list none;

	ask(&f, NULL, &two);
	assert_int_equal(two.n_items, 1);
	expect_figures(&two.items[0].value, 10, 20, 200);
	f = days(0, 3);
	ask(&f, "2", &second);
	assert_int_equal(second.n_items, 1);
	expect_figures(&second.items[0].value, 100, 400, 1000);
	f = days(10, 3);
	ask(&f, NULL, &none);
	assert_int_equal(none.n_items, 0);
	assert_true(none.up_to_ns == 0 && none.n_days == 3);
}

TEST(a_level_is_a_mean)
{
	struct query_filter f = days(0, 3);
	CLEANUP(fleet_list_fini) struct fleet_list l;

	f.type = HEAP;
	ask(&f, NULL, &l);
	assert_int_equal(l.n_items, 1);
	expect_figures(&l.items[0].value, 0, 2, 10);
	assert_true(fabs(l.items[0].days[2] - 3) < 1e-6);
	expect_figures(&l.items[0].versions[0].value, 0, 2, 10);
}

static void expect_names(const char *search, const char *first, const char *second)
{
	struct query_filter f = days(0, 3);
	struct fleet_names names;
	struct err err = {""};

	f.symbols = symbols;
	if (fleet_query_names(store, &f, search, 5, &names, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(names.n_items, !first ? 0 : !second ? 1 : 2);
	if (first)
		assert_string_equal(names.items[0], first);
	if (second)
		assert_string_equal(names.items[1], second);
	arena_fini(&names.arena);
}

TEST(names_are_found_by_what_they_contain_or_begin_with)
{
	expect_names("MARSHAL", "json.Marshal", "json.MarshalIndent");
	expect_names("json.MarshalIndent", "json.MarshalIndent", NULL);
	expect_names("arshalI", "json.MarshalIndent", NULL);
	expect_names("js", "json.Marshal", "json.MarshalIndent");
	expect_names("s", NULL, NULL);
	expect_names("0%_\\", "100%_\\x", NULL);
	expect_names("%%%", NULL, NULL);
	expect_names("___", NULL, NULL);
}

/* Symbols of the first build: ngx_process and, only by its address, ngx_exit. */
static void open_symbols(void)
{
	CLEANUP(symbol_file_writer_freep) struct symbol_file_writer *w = NULL;
	CLEANUP(buf_fini) struct buf table;
	AUTO_FREE char *dir = NULL;
	const uint8_t id[] = {0x01, 0xcd};
	enum symbol_put result;

	assert_true(asprintf(&dir, "%s/symbols", temp_dir()) > 0);
	assert_int_equal(
		symbol_store_open(&symbols, &(struct symbol_store_config){dir, 1 << 20}, NULL), 0);
	buf_init(&table, 1 << 20);
	assert_int_equal(symbol_file_writer_new(&w, 0x401000, id, sizeof(id)), 0);
	assert_int_equal(symbol_file_writer_add(w, 0x401010, 0x401020, "ngx_process", NULL), 0);
	assert_int_equal(symbol_file_writer_add(w, 0x401020, 0x401030, "ngx_exit", NULL), 0);
	assert_int_equal(symbol_file_writer_finish(w, &table), 0);
	assert_int_equal(symbol_store_put(symbols, table.data, table.len, &result, NULL), 0);
}

static void expect_unnamed(double total)
{
	struct query_filter f = days(0, 3);
	CLEANUP(fleet_list_fini) struct fleet_list l;

	f.symbols = symbols;
	ask_for("nginx+0x401010", &f, NULL, &l);
	assert_int_equal(l.n_items, 1);
	assert_string_equal(l.items[0].service, "/z");
	assert_true(fabs(l.items[0].value.total - total) < 1e-6);
}

TEST(code_without_a_name_is_found_by_its_place)
{
	expect_names("nginx+0x", "nginx+0x401010", "nginx+0x401020");
	expect_names("ngx_", "ngx_process", NULL);
	expect_unnamed(240);
}

TEST(a_name_that_comes_later_is_found_and_shown)
{
	struct query_filter f = days(0, 3);
	CLEANUP(fleet_list_fini) struct fleet_list l;
	CLEANUP(fleet_list_fini) struct fleet_list old;

	open_symbols();
	expect_names("NGX_PRO", "ngx_process", NULL);
	expect_names("NG", NULL, NULL);
	expect_names("nginx+0x401010", "nginx+0x401010", NULL);
	expect_names("nginx+0x", "nginx+0x401010", "nginx+0x401020");
	expect_unnamed(100);
	f.symbols = symbols;
	ask_for("ngx_process", &f, NULL, &l);
	assert_int_equal(l.n_items, 2);
	assert_string_equal(l.items[0].service, "/z");
	/* the newest sum of each day */
	expect_figures(&l.items[0].value, 14, 140, 0);
	assert_true(l.items[0].days[1] == 70 && l.items[0].days[2] == 70);
	assert_int_equal(l.items[0].n_versions, 1);
	assert_string_equal(l.items[1].service, "/w");
	expect_figures(&l.items[1].value, 2, 20, 0);
	/* only that of another application is found by a name that is stored */
	f.symbols = NULL;
	ask_for("ngx_process", &f, NULL, &old);
	assert_int_equal(old.n_items, 1);
	symbol_store_close(symbols);
	symbols = NULL;
}

/* What one shard answers behind a distributed table is what the plain table does. */
TEST(a_cluster_answers_the_same)
{
	const struct query_filter f = days(0, 3);
	CLEANUP(fleet_list_fini) struct fleet_list l;

	run("CREATE TABLE profiling_functions_distributed AS "
	    "remote('127.0.0.1', currentDatabase(), 'profiling_functions')");
	store->cluster = "here";
	ask(&f, NULL, &l);
	expect_names("arshalI", "json.MarshalIndent", NULL);
	store->cluster = NULL;
	assert_int_equal(l.n_items, 2);
	expect_figures(&l.items[0].value, 100, 400, 4000);
	expect_figures(&l.items[1].value, 15, 30, 300);
}

TEST(without_the_table_a_sentence_says_so)
{
	const struct query_filter f = days(0, 3);
	const struct fleet_question q = {&f, "json.Marshal", NULL, 10};
	struct fleet_list l;
	struct fleet_names names;
	struct err err = {""};

	run("DROP TABLE profiling_functions");
	assert_int_equal(fleet_query(store, &q, &l, &err), -ENOSYS);
	assert_non_null(strstr(err.msg, "there are no sums by function: --functions-ttl is 0"));
	assert_int_equal(fleet_query_names(store, &f, "json", 5, &names, &err), -ENOSYS);
	arena_fini(&names.arena);
}

GROUP_FIXTURE(start, stop)
