/*
 * Inserts and queries over a network that breaks, on the real engine behind HTTP: each ends with an
 * answer or with -EAGAIN, and an insert that is repeated with its token stores its rows exactly
 * once, whatever became of the first. The environment names the server as CLICKHOUSE_SERVER.
 */
#include <errno.h>
#include <signal.h>

#include <zstd.h>

#include "cluster-agent/store/clickhouse_client.h"
#include "cluster-agent/store/rowbinary.h"
#include "common/system/clock.h"
#include "test/lib/fault_proxy.h"
#include "test/lib/unit.h"
#include "test/store/clickhouse_process.h"

#define N_ROWS 300u
#define TEXT_BYTES 1000u

static struct clickhouse_process server;
static struct fault_proxy proxy;
static struct clickhouse_client *client;

static const struct fault faults[] = {
	{FAULT_CLOSE, false, 0, 1},
	{FAULT_RESET, false, 0, 1},
	{FAULT_CLOSE, false, 100, 1},
	{FAULT_RESET, false, 100, 1},
	{FAULT_CLOSE, false, 1500, 1},
	{FAULT_RESET, false, 1500, 1},
	{FAULT_CLOSE, false, 150000, 1},
	{FAULT_RESET, false, 150000, 1},
	{FAULT_CLOSE, true, 0, 1},
	{FAULT_RESET, true, 0, 1},
	{FAULT_CLOSE, true, 1, 1},
	{FAULT_RESET, true, 20, 1},
	{FAULT_CLOSE, true, 100, 1},
	{FAULT_STALL, false, 0, 1},
	{FAULT_STALL, false, 150000, 1},
	{FAULT_STALL, true, 0, 1},
	{FAULT_STALL, true, 30, 1},
	{FAULT_DRIP, false, 0, 1},
	{FAULT_DRIP, true, 0, 1},
	{FAULT_HTTP, false, 0, 1},
	{FAULT_HTTP, false, 100000, 1},
	/* an outage: the next attempts fail as well */
	{FAULT_HTTP, false, 0, 3},
	{FAULT_RESET, false, 200, 3},
};

static void make_client(void)
{
	struct clickhouse_address address = {0};
	const struct clickhouse_client_config cfg = {.addresses = &address, .n_addresses = 1};

	snprintf(address.url, sizeof(address.url), "http://127.0.0.1:%u/", proxy.port);
	assert_int_equal(clickhouse_client_new(&client, &cfg, NULL), 0);
}

static int start(void **state)
{
	(void)state;
	clickhouse_process_init(&server);
	clickhouse_process_start(&server, NULL);
	clickhouse_process_run(
		&server, "CREATE TABLE t (batch UInt64, text String) ENGINE = MergeTree "
			 "ORDER BY batch SETTINGS non_replicated_deduplication_window = 1000");
	proxy.target_port = server.port;
	fault_proxy_start(&proxy);
	make_client();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	clickhouse_client_free(client);
	fault_proxy_stop(&proxy);
	clickhouse_process_fini(&server);
	return 0;
}

/* Rows that do not compress, so that offsets in the body mean something. */
static void pack_rows(uint64_t batch, struct store_frame *ret, struct buf *out)
{
	CLEANUP(buf_fini) struct buf rows;
	uint64_t random = batch * 0x9e3779b97f4a7c15 + 1;
	char text[TEXT_BYTES];

	buf_init(&rows, SIZE_MAX);
	for (unsigned i = 0; i < N_ROWS; i++) {
		const unsigned char len[2] = {(TEXT_BYTES & 127) | 128, TEXT_BYTES >> 7};

		for (unsigned j = 0; j < TEXT_BYTES; j++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			text[j] = (char)(random >> 56);
		}
		assert_int_equal(buf_add(&rows, &batch, sizeof(batch)), 0);
		assert_int_equal(buf_add(&rows, len, sizeof(len)), 0);
		assert_int_equal(buf_add(&rows, text, sizeof(text)), 0);
	}
	assert_int_equal(buf_reserve(out, ZSTD_compressBound(rows.len)), 0);
	out->len = ZSTD_compress(out->data, out->cap, rows.data, rows.len, 1);
	assert_false(ZSTD_isError(out->len));
	*ret = (struct store_frame){.data = out->data, .len = out->len, .n_rows = N_ROWS};
}

static int insert(uint64_t batch, uint64_t timeout_ns, struct err *err)
{
	CLEANUP(buf_fini) struct buf packed, answer;
	struct store_frame frame;
	char token[32];
	const struct clickhouse_setting settings[] = {{"insert_deduplication_token", token},
						      {"wait_end_of_query", "1"}};
	const struct clickhouse_statement st = {
		.sql = "INSERT INTO t FORMAT RowBinary",
		.settings = settings,
		.n_settings = 2,
		.frames = &frame,
		.n_frames = 1,
		.timeout_ns = timeout_ns,
		.attempt_timeout_ns = timeout_ns,
		.repeatable = true,
	};
	struct clickhouse_failure failure;

	buf_init(&packed, SIZE_MAX);
	buf_init(&answer, 10000);
	snprintf(token, sizeof(token), "%016llx", (unsigned long long)batch);
	pack_rows(batch, &frame, &packed);
	return clickhouse_client_run(client, &st, &answer, &failure, err);
}

static int query(uint64_t timeout_ns, struct buf *out, struct err *err)
{
	const struct clickhouse_statement st = {
		.sql = "SELECT number FROM numbers(50000)",
		.format = "RowBinary",
		.timeout_ns = timeout_ns,
		.attempt_timeout_ns = timeout_ns,
		.repeatable = true,
	};
	struct clickhouse_failure failure;

	return clickhouse_client_run(client, &st, out, &failure, err);
}

static uint64_t rows_of(uint64_t batch)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "SELECT count() FROM t WHERE batch = %llu",
		 (unsigned long long)batch);
	return clickhouse_process_u64(&server, sql);
}

static uint64_t timeout_of(const struct fault *f)
{
	/* what stalls ends by its time-out; a busy machine must not end the others */
	return (f->kind == FAULT_STALL ? 2 : 120) * NS_PER_S;
}

TEST(repeated_inserts_store_their_rows_once)
{
	unsigned n_failed = 0;

	for (uint64_t i = 0; i < ARRAY_SIZE(faults); i++) {
		unsigned before = fault_proxy_broken(&proxy);
		struct err err = {0};
		int r;

		fault_proxy_set(&proxy, faults[i]);
		for (unsigned n = 0; (r = insert(i, timeout_of(&faults[i]), &err)) < 0; n++) {
			if (r != -EAGAIN || n > 50)
				fail_msg("fault %llu: %d %s", (unsigned long long)i, r, err.msg);
			n_failed++;
		}
		if (fault_proxy_broken(&proxy) == before)
			fail_msg("fault %llu did not come", (unsigned long long)i);
		if (rows_of(i) != N_ROWS)
			fail_msg("fault %llu: %llu rows", (unsigned long long)i,
				 (unsigned long long)rows_of(i));
		/* once more, as after a restart */
		fault_proxy_set(&proxy, (struct fault){0});
		assert_int_equal(insert(i, 120 * NS_PER_S, &err), 0);
		assert_int_equal(rows_of(i), N_ROWS);
	}
	assert_true(n_failed >= ARRAY_SIZE(faults) - 2);
}

static void check_answer(const struct buf *out)
{
	struct rowbinary_reader reader;

	assert_int_equal(out->len, 50000 * sizeof(uint64_t));
	rowbinary_reader_init(&reader, out->data, out->len);
	for (uint64_t n = 0; n < 50000; n++)
		assert_int_equal(rowbinary_get_u64(&reader), n);
}

TEST(answers_are_whole_or_none)
{
	for (uint64_t i = 0; i < ARRAY_SIZE(faults); i++) {
		CLEANUP(buf_fini) struct buf out;
		struct err err = {0};
		int r;

		buf_init(&out, 1000000);
		fault_proxy_set(&proxy, faults[i]);
		for (unsigned n = 0; (r = query(timeout_of(&faults[i]), &out, &err)) < 0; n++) {
			if (r != -EAGAIN || n > 50)
				fail_msg("fault %llu: %d %s", (unsigned long long)i, r, err.msg);
			assert_int_equal(out.len, 0);
		}
		check_answer(&out);
	}
}

TEST(an_insert_outlives_a_killed_server)
{
	struct err err = {0};
	int r;

	fault_proxy_set(&proxy, (struct fault){FAULT_STALL, true, 0, 1});
	/* the rows arrive, the answer does not, and the server is gone */
	assert_int_equal(insert(1000, 2 * NS_PER_S, &err), -EAGAIN);
	clickhouse_process_stop(&server, SIGKILL);
	fault_proxy_set(&proxy, (struct fault){0});
	assert_int_equal(insert(1000, 120 * NS_PER_S, &err), -EAGAIN);
	clickhouse_process_start(&server, NULL);
	for (unsigned n = 0; (r = insert(1000, 120 * NS_PER_S, &err)) == -EAGAIN && n < 100; n++)
		usleep(100000);
	assert_int_equal(r, 0);
	assert_int_equal(rows_of(1000), N_ROWS);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return unit_run(start, stop);
}
