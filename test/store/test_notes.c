/*
 * Notes and snapshots (note_store.h), on the embedded engine and on a server: what is written comes
 * back as it was, whatever its text is, a deleted note is gone for good, snapshots outlive their
 * profiles, and a store without the table says so. The environment names libchdb.so as CHDB_LIBRARY
 * and the server as CLICKHOUSE_SERVER.
 */
#include "cluster-agent/notes/note_store.h"

#include <errno.h>
#include <jansson.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/store/store_clickhouse.h"
#include "cluster-agent/store/store_engine.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "test/lib/unit.h"
#include "test/store/clickhouse_process.h"

#define YEARS_NS (UINT64_C(3650) * 86400 * NS_PER_S)
#define APP "/k8s/shop/cart"
#define OTHER "/k8s/shop/other"
#define CPU "ebpf:cpu:nanoseconds"
#define AT (INT64_C(1768046400) * (int64_t)NS_PER_S)

static const char hostile[] =
	"'; DROP TABLE profiling_notes -- {id:UInt64} ${notes} \\'\t<b>\xe2\x80\xae";

static struct clickhouse_process server;
static struct store *stores[2]; /* embedded, server */

static struct store *open_server(const char *database, uint64_t note_ttl_ns)
{
	struct clickhouse_address address = {0};
	struct store_clickhouse_config cfg = {
		.client.addresses = &address,
		.client.n_addresses = 1,
		.client.user = "default",
		.client.password = "",
		.database = database,
		.schema.ttl_ns = YEARS_NS,
		.schema.note_ttl_ns = note_ttl_ns,
	};
	struct store *s;
	struct err err = {""};

	snprintf(address.url, sizeof(address.url), "http://127.0.0.1:%u", server.port);
	if (store_clickhouse_open(&s, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	eventually(store_ping(s) == 0);
	return s;
}

static int start(void **state)
{
	const struct store_chdb_config cfg = {.data_dir = temp_dir(),
					      .profiles_ttl_ns = YEARS_NS,
					      .note_ttl_ns = YEARS_NS,
					      .chdb_library = getenv("CHDB_LIBRARY")};
	struct err err = {""};

	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	clickhouse_process_init(&server);
	clickhouse_process_start(&server, NULL);
	if (store_chdb_open(&stores[0], &cfg, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	stores[1] = open_server("notes", YEARS_NS);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		store_close(stores[i]);
	clickhouse_process_fini(&server);
	return 0;
}

static void run(struct store *store, const char *sql)
{
	struct err err = {""};

	if (store_maintain(store, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
}

/* Each test begins without notes. */
static void clear(struct store *store)
{
	run(store, "TRUNCATE TABLE profiling_notes");
}

static uint64_t add(struct store *store, const char *service, const char *name, int64_t at_ns)
{
	struct note n = {
		.service = service, .name = name, .text = hostile, .url = "?x", .at_ns = at_ns};
	struct err err = {""};

	if (note_store_add(store, NULL, &n, NULL, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return n.id;
}

static void list(struct store *store, const char *service, uint64_t id, uint32_t limit,
		 struct note_list *ret)
{
	const struct query_filter f = {.service = service};
	struct err err = {""};

	if (note_store_list(store, &f, id, limit, ret, &err) < 0)
		fail_msg("%s", err.msg);
}

static void note_list_fini(struct note_list *l)
{
	arena_fini(&l->arena);
}

TEST(a_note_comes_back_as_it_was_written)
{
	for (int i = 0; i < 2; i++) {
		CLEANUP(note_list_fini) struct note_list l;
		uint64_t id;

		clear(stores[i]);
		id = add(stores[i], APP, hostile, AT);
		list(stores[i], NULL, 0, 10, &l);
		assert_int_equal(l.n, 1);
		assert_true(l.items[0].id == id && l.items[0].at_ns == AT);
		assert_string_equal(l.items[0].service, APP);
		assert_string_equal(l.items[0].name, hostile);
		assert_string_equal(l.items[0].text, hostile);
		assert_string_equal(l.items[0].url, "?x");
		assert_int_equal(l.items[0].n_bytes, 0);
	}
}

TEST(an_application_has_its_own_notes_and_those_about_all)
{
	for (int i = 0; i < 2; i++) {
		CLEANUP(note_list_fini) struct note_list l, cut, one;
		uint64_t id;

		clear(stores[i]);
		add(stores[i], OTHER, "other", AT);
		add(stores[i], "", "all", AT + 1);
		id = add(stores[i], APP, "own", AT + 2);
		list(stores[i], APP, 0, 10, &l);
		assert_int_equal(l.n_items, 2);
		assert_string_equal(l.items[0].name, "own");
		assert_string_equal(l.items[1].name, "all");
		list(stores[i], "", 0, 1, &cut);
		assert_int_equal(cut.n_items, 1);
		assert_int_equal(cut.n, 3);
		list(stores[i], NULL, id, 10, &one);
		assert_int_equal(one.n_items, 1);
		assert_string_equal(one.items[0].name, "own");
	}
}

TEST(a_deleted_note_is_gone_and_its_text_with_it)
{
	for (int i = 0; i < 2; i++) {
		CLEANUP(note_list_fini) struct note_list l;
		struct err err = {""};
		uint64_t id;

		clear(stores[i]);
		id = add(stores[i], APP, "gone", AT);
		add(stores[i], APP, "stays", AT);
		assert_int_equal(note_store_delete(stores[i], NULL, id, &err), 0);
		list(stores[i], APP, 0, 10, &l);
		assert_int_equal(l.n_items, 1);
		assert_string_equal(l.items[0].name, "stays");
		assert_int_equal(note_store_delete(stores[i], NULL, id, &err), -ENOENT);
		assert_int_equal(note_store_delete(stores[i], NULL, 12345, &err), -ENOENT);
		assert_non_null(strstr(err.msg, "not there"));
	}
	run(stores[0], "OPTIMIZE TABLE profiling_notes FINAL");
	{
		CLEANUP(buf_fini) struct buf out;

		buf_init(&out, 1000);
		assert_int_equal(store_maintain(stores[0],
						"SELECT count() FROM profiling_notes WHERE "
						"Name = 'gone'",
						&out, NULL),
				 0);
		assert_string_equal(out.data, "0\n");
	}
}

TEST(a_distributed_table_is_asked_as_the_plain_one_is)
{
	CLEANUP(note_list_fini) struct note_list l;
	struct store *s = stores[0];
	uint64_t id;

	clear(s);
	id = add(s, APP, "here", AT);
	assert_int_equal(note_store_delete(s, NULL, add(s, APP, "gone", AT), NULL), 0);
	run(s, "CREATE TABLE profiling_notes_distributed AS "
	       "remote('127.0.0.1', currentDatabase(), 'profiling_notes')");
	s->cluster = "here";
	list(s, APP, 0, 10, &l);
	s->cluster = NULL;
	run(s, "DROP TABLE profiling_notes_distributed");
	assert_int_equal(l.n_items, 1);
	assert_true(l.items[0].id == id);
}

/* ---- snapshots ---- */

/* Two hours of a program that did something else in the second one. */
static void fill(struct store *s)
{
	run(s, "INSERT INTO profiling_stacks SELECT '" APP "', number, now64(9), "
	       "['leaf' || toString(number) || ' a.c:1', 'main a.c:3'] FROM numbers(2)");
	run(s, "INSERT INTO profiling_samples SELECT '" APP "', '" CPU "', "
	       "fromUnixTimestamp64Nano(toInt64(1768046400000000000)) + number * 3600, "
	       "fromUnixTimestamp64Nano(toInt64(1768046400000000000)) + number * 3600 + 60, "
	       "map(), number, 1000000 * (number + 1) FROM numbers(2)");
}

static struct query_request request(bool compared)
{
	struct query_request p = {
		.filter = {.service = APP,
			   .type = CPU,
			   .from_ns = AT + 3600 * (int64_t)NS_PER_S,
			   .to_ns = AT + 7200 * (int64_t)NS_PER_S},
		.name = "a release",
		.text = "two\nlines",
		.url = "?service=" APP,
		.at_ns = AT,
		.has_base = compared,
	};

	p.base = p.filter;
	p.base.from_ns = AT;
	p.base.to_ns = AT + 3600 * (int64_t)NS_PER_S;
	return p;
}

static uint64_t id_of(const struct buf *answer)
{
	json_t *doc = json_loadb(answer->data, answer->len, 0, NULL);
	uint64_t id;

	assert_non_null(doc);
	id = strtoull(json_string_value(json_object_get(doc, "id")), NULL, 16);
	json_decref(doc);
	return id;
}

static void expect_side(struct store *s, uint64_t id, bool is_base, const struct buf *expected)
{
	CLEANUP(buf_fini) struct buf got;
	struct err err = {""};

	buf_init(&got, NOTE_STORE_SIDE_BYTES);
	if (note_store_read(s, NULL, id, is_base, &got, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(got.len, expected->len);
	assert_memory_equal(got.data, expected->data, got.len);
}

TEST(a_snapshot_has_both_sides_and_outlives_the_profiles)
{
	CLEANUP(buf_fini) struct buf a, b, answer;
	struct query_request p = request(true), base = {0};
	struct store *s = stores[0];
	struct err err = {""};
	uint64_t id;

	clear(s);
	fill(s);
	buf_init(&a, NOTE_STORE_SIDE_BYTES);
	buf_init(&b, NOTE_STORE_SIDE_BYTES);
	buf_init(&answer, 10000);
	if (profile_query_snapshot_add(s, &p, &answer, &err) < 0)
		fail_msg("%s", err.msg);
	id = id_of(&answer);
	p.has_base = false;
	base.filter = p.base;
	assert_int_equal(profile_query_pprof(s, &p, &a, &err), 0);
	assert_int_equal(profile_query_pprof(s, &base, &b, &err), 0);
	assert_true(a.len > 50 && (a.len != b.len || memcmp(a.data, b.data, a.len) != 0));
	run(s, "TRUNCATE TABLE profiling_samples");
	run(s, "TRUNCATE TABLE profiling_stacks");
	expect_side(s, id, false, &a);
	expect_side(s, id, true, &b);
}

TEST(a_snapshot_without_a_comparison_has_one_side)
{
	CLEANUP(note_list_fini) struct note_list l;
	CLEANUP(buf_fini) struct buf answer, side;
	struct query_request p = request(false);
	struct store *s = stores[0];
	struct err err = {""};

	clear(s);
	fill(s);
	buf_init(&answer, 10000);
	buf_init(&side, 10000);
	if (profile_query_snapshot_add(s, &p, &answer, &err) < 0)
		fail_msg("%s", err.msg);
	list(s, APP, 0, 10, &l);
	assert_true(l.items[0].n_bytes > 50 && l.items[0].n_base_bytes == 0);
	assert_string_equal(l.items[0].text, "two\nlines");
	p.id = id_of(&answer);
	p.side = 1;
	assert_int_equal(profile_query_snapshot(s, &p, &side, &err), -ENOENT);
	p.side = 0;
	assert_int_equal(profile_query_snapshot(s, &p, &side, &err), 0);
	assert_int_equal(side.len, l.items[0].n_bytes);
}

static uint64_t n_notes(struct store *s)
{
	CLEANUP(note_list_fini) struct note_list l;

	list(s, NULL, 0, 10, &l);
	return l.n;
}

TEST(a_snapshot_may_expire_earlier_than_other_notes)
{
	CLEANUP(note_list_fini) struct note_list l;
	CLEANUP(buf_fini) struct buf answer, body;
	struct query_request p = request(false);
	struct store *s = stores[0];
	struct err err = {""};
	int64_t life_ns;

	clear(s);
	fill(s);
	buf_init(&answer, 10000);
	buf_init(&body, 10000);
	p.ttl_ns = YEARS_NS + NS_PER_S;
	assert_int_equal(profile_query_snapshot_add(s, &p, &answer, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "ttl is longer than --notes-ttl"));
	p.ttl_ns = 86400 * NS_PER_S;
	if (profile_query_snapshot_add(s, &p, &answer, &err) < 0)
		fail_msg("%s", err.msg);
	p.id = id_of(&answer);
	add(s, APP, "a note", AT - 1);
	list(s, APP, 0, 10, &l);
	assert_int_equal(l.n_items, 2);
	life_ns = l.items[0].expires_ns - l.items[0].created_ns;
	assert_true(life_ns > 86000 * (int64_t)NS_PER_S && life_ns <= 86400 * (int64_t)NS_PER_S);
	life_ns = l.items[1].expires_ns - l.items[1].created_ns;
	assert_true(llabs(life_ns - (int64_t)YEARS_NS) < (int64_t)(600 * NS_PER_S));
	/* almost a day later, and a day later: a shorter life is the same as a later time */
	s->note_ttl_ns -= 82000 * NS_PER_S;
	assert_int_equal(n_notes(s), 2);
	assert_int_equal(profile_query_snapshot(s, &p, &body, &err), 0);
	s->note_ttl_ns -= 4500 * NS_PER_S;
	assert_int_equal(n_notes(s), 1);
	assert_int_equal(profile_query_snapshot(s, &p, &body, &err), -ENOENT);
	assert_int_equal(note_store_delete(s, NULL, p.id, &err), -ENOENT);
	s->note_ttl_ns = YEARS_NS;
}

/* ---- refusals ---- */

TEST(a_note_that_would_be_a_trap_is_refused)
{
	static const struct {
		const char *name, *text, *url;
	} bad[] = {
		{"n", "", "javascript:alert(1)"},
		{"n", "", "//evil.example"},
		{"two\nlines", "", ""},
		{"n", "\x01", ""},
		{"\xff", "", ""},
		{"n", "\xc3", ""},
		{"n", "", "?\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP(buf_fini) struct buf out;
		const struct query_request p = {
			.name = bad[i].name, .text = bad[i].text, .url = bad[i].url};
		struct err err = {""};

		buf_init(&out, 10000);
		assert_int_equal(profile_query_note_add(stores[0], &p, &out, &err), -EINVAL);
		assert_true(err.msg[0] != '\0');
	}
}

TEST(there_is_a_limit_to_all_notes_and_to_all_snapshots)
{
	struct note n = {.service = APP, .name = "n"};
	struct store *s = stores[0];
	struct err err = {""};
	CLEANUP(buf_fini) struct buf body;

	clear(s);
	buf_init(&body, 100);
	assert_int_equal(buf_addf(&body, "body"), 0);
	run(s, "INSERT INTO profiling_notes (Id, Created, Size) SELECT 1, now64(9), 1073741824");
	assert_int_equal(note_store_add(s, NULL, &n, &body, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "1 GiB"));
	assert_int_equal(note_store_add(s, NULL, &n, NULL, NULL, &err), 0);
	run(s, "INSERT INTO profiling_notes (Id, Created) SELECT 2 + number, now64(9) "
	       "FROM numbers(9998)");
	assert_int_equal(note_store_add(s, NULL, &n, NULL, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "10000 notes"));
}

TEST(a_store_without_the_table_says_so)
{
	CLEANUP(store_closep) struct store *s = open_server("without", 0);
	struct note n = {.service = APP, .name = "n"};
	const struct query_filter all = {0};
	struct note_list l;
	struct err err = {""};

	assert_int_equal(note_store_list(s, &all, 0, 10, &l, &err), -ENOSYS);
	note_list_fini(&l);
	assert_non_null(strstr(err.msg, "--notes-ttl"));
	assert_int_equal(note_store_add(s, NULL, &n, NULL, NULL, &err), -ENOSYS);
	assert_int_equal(note_store_delete(s, NULL, 1, &err), -ENOSYS);
}

GROUP_FIXTURE(start, stop)
