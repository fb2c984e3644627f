/*
 * A row of samples is found by all of its columns: two containers of a service may have the same
 * stack and value in the same interval, and differ in a label. Texts go to the engine as hex
 * digits, so that no byte of them needs an escape.
 */
#include "cluster-agent/store/store_probe.h"

#include <errno.h>
#include <inttypes.h>

#include <zstd.h>

#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/schema.h"
#include "common/data/buf.h"

#define PARAM_BYTES ((size_t)1024 * 1024)
#define ANSWER_BYTES ((size_t)1024 * 1024)

static const struct schema_topology local; /* a single server */

/* The tables that queries name. */
static const char *table_suffix(const struct store *s)
{
	return store_is_distributed(s) ? SCHEMA_DISTRIBUTED : "";
}

static int ask(struct store *s, const char *sql, const struct store_param *params, size_t n,
	       struct buf *answer, struct err *err)
{
	const struct store_query q = {
		.lane = STORE_FOR_AGENT,
		.sql = sql,
		.params = params,
		.n_params = n,
		.format = "RowBinary",
	};

	return store_query(s, &q, answer, err);
}

/* The first column of the only row. */
static int ask_number(struct store *s, const char *sql, const struct store_param *params, size_t n,
		      uint64_t *ret, struct err *err)
{
	CLEANUP(buf_fini) struct buf answer;
	struct rowbinary_reader in;
	int r;

	buf_init(&answer, ANSWER_BYTES);
	r = ask(s, sql, params, n, &answer, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&in, answer.data, answer.len);
	*ret = rowbinary_get_u64(&in);
	return rowbinary_reader_finish(&in) < 0 ? err_set(err, -EBADMSG, "answer without a row")
						: 0;
}

/* ---- partitions ---- */

#define SQL_DAYS                                                                             \
	"SELECT toUInt32(toDate(fromUnixTimestamp64Nano(toInt64(q) * 900000000000))) FROM (" \
	"SELECT arrayJoin({quarters:Array(UInt64)}) AS q)"
_Static_assert(STORE_QUARTER_S == 900, "as in the SQL");

static int find_some_days(struct store *s, const uint64_t *quarters, size_t n, uint32_t *days,
			  struct err *err)
{
	CLEANUP(buf_fini) struct buf list;
	CLEANUP(buf_fini) struct buf answer;
	struct rowbinary_reader in;
	int r;

	buf_init(&list, PARAM_BYTES);
	buf_init(&answer, ANSWER_BYTES);
	r = store_add_ids(&list, quarters, n);
	if (r == 0)
		r = ask(s, SQL_DAYS, &(struct store_param){"quarters", list.data}, 1, &answer, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&in, answer.data, answer.len);
	for (size_t i = 0; i < n; i++)
		days[i] = rowbinary_get_u32(&in);
	return rowbinary_reader_finish(&in) < 0 || rowbinary_has_more(&in)
		       ? err_set(err, -EBADMSG, "unexpected answer of the store")
		       : 0;
}

int store_find_days(struct store *s, const uint64_t *quarters, size_t n, uint32_t *days,
		    struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i += STORE_IDS_AT_ONCE) {
		size_t some = n - i < STORE_IDS_AT_ONCE ? n - i : STORE_IDS_AT_ONCE;

		r = find_some_days(s, quarters + i, some, days + i, err);
	}
	return r;
}

/* ---- uploads ---- */

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int store_add_ids(struct buf *out, const uint64_t *ids, size_t n)
{
	int r = n == 0 ? buf_add(out, "[", 1) : 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = buf_addf(out, "%c%" PRIu64, i == 0 ? '[' : ',', ids[i]);
	return r < 0 ? r : buf_add(out, "]", 1);
}

static int find_some(struct store *s, const uint64_t *ids, size_t n, bool *found, struct err *err)
{
	CLEANUP(buf_fini) struct buf list;
	CLEANUP(buf_fini) struct buf answer;
	struct rowbinary_reader in;
	struct store_param param;
	uint64_t *stored;
	size_t n_stored;
	char sql[160];
	int r;

	buf_init(&list, PARAM_BYTES);
	buf_init(&answer, ANSWER_BYTES);
	r = store_add_ids(&list, ids, n);
	if (r < 0)
		return r;
	param = (struct store_param){"ids", list.data};
	snprintf(sql, sizeof(sql),
		 "SELECT DISTINCT Upload FROM %s%s WHERE Upload IN {ids:Array(UInt64)}",
		 schema_table_name(STORE_QUALITY, &local), table_suffix(s));
	r = ask(s, sql, &param, 1, &answer, err);
	if (r < 0)
		return r;
	/* in place: the answer is an array of UInt64 */
	n_stored = answer.len / sizeof(uint64_t);
	stored = (uint64_t *)(void *)answer.data;
	rowbinary_reader_init(&in, answer.data, answer.len);
	for (size_t i = 0; i < n_stored; i++)
		stored[i] = rowbinary_get_u64(&in);
	if (n_stored > 0)
		qsort(stored, n_stored, sizeof(stored[0]), compare_ids);
	for (size_t i = 0; i < n; i++)
		found[i] = n_stored > 0 && bsearch(&ids[i], stored, n_stored, sizeof(stored[0]),
						   compare_ids) != NULL;
	return 0;
}

int store_find_uploads(struct store *s, const uint64_t *ids, size_t n, bool *found, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i += STORE_IDS_AT_ONCE) {
		size_t left = n - i;

		r = find_some(s, ids + i, left < STORE_IDS_AT_ONCE ? left : STORE_IDS_AT_ONCE,
			      found + i, err);
	}
	return r;
}

/* ---- samples ---- */

/* A frame of row_batch.h is not larger. */
#define FRAME_BYTES (ROW_BATCH_FRAME_BYTES + ROW_BATCH_ROW_BYTES)

static int inflate(struct buf *out, const struct store_frame *frame)
{
	size_t n;
	int r = buf_reserve(out, frame->n_bytes);

	if (r < 0)
		return r;
	n = ZSTD_decompress(out->data, out->cap, frame->data, frame->len);
	if (ZSTD_isError(n) || n != frame->n_bytes)
		return -EBADMSG;
	out->len = n;
	return 0;
}

static int add_hex(struct buf *out, const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	int r = buf_reserve(out, 2 * len);

	if (r < 0)
		return r;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		out->data[out->len++] = digits[c >> 4];
		out->data[out->len++] = digits[c & 15];
	}
	if (out->data)
		out->data[out->len] = '\0';
	return 0;
}

/* The columns of a row as values of parameters. */
struct row_params {
	struct buf service, type, labels; /* as hex digits */
	char start[24], end[24], hash[24], value[24];
};

static void row_params_fini(struct row_params *p)
{
	buf_fini(&p->service);
	buf_fini(&p->type);
	buf_fini(&p->labels);
}

static int read_text(struct rowbinary_reader *in, struct buf *out)
{
	size_t len;
	const char *text = rowbinary_get_string(in, &len);
	int r = add_hex(out, text, len);

	/* a buffer that has got nothing has no text either */
	return r < 0 ? r : buf_add(out, "", 0);
}

/* Labels are compared as one text: name, a zero, value, a zero, … */
static int read_labels(struct rowbinary_reader *in, struct buf *out)
{
	uint64_t n = rowbinary_get_count(in);
	int r = 0;

	for (uint64_t i = 0; i < 2 * n && r == 0; i++) {
		r = read_text(in, out);
		if (r == 0)
			r = add_hex(out, "", 1);
	}
	return r;
}

static int read_row(struct row_params *p, const struct buf *rows)
{
	struct rowbinary_reader in;
	int r;

	rowbinary_reader_init(&in, rows->data, rows->len);
	r = read_text(&in, &p->service);
	if (r == 0)
		r = read_text(&in, &p->type);
	snprintf(p->start, sizeof(p->start), "%" PRId64, rowbinary_get_i64(&in));
	snprintf(p->end, sizeof(p->end), "%" PRId64, rowbinary_get_i64(&in));
	if (r == 0)
		r = read_labels(&in, &p->labels);
	snprintf(p->hash, sizeof(p->hash), "%" PRIu64, rowbinary_get_u64(&in));
	snprintf(p->value, sizeof(p->value), "%" PRId64, rowbinary_get_i64(&in));
	return r < 0 ? r : rowbinary_reader_finish(&in);
}

static int find_row(struct store *s, const struct row_params *p, struct err *err)
{
	const struct store_param params[] = {
		{"service", p->service.data ?: ""},
		{"type", p->type.data ?: ""},
		{"labels", p->labels.data ?: ""},
		{"start", p->start},
		{"end", p->end},
		{"hash", p->hash},
		{"value", p->value},
	};
	uint64_t n = 0;
	char sql[640];
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT count() FROM %s%s WHERE ServiceName = unhex({service:String}) "
		 "AND Type = unhex({type:String}) "
		 "AND Start = fromUnixTimestamp64Nano({start:Int64}) "
		 "AND End = fromUnixTimestamp64Nano({end:Int64}) "
		 "AND StackHash = {hash:UInt64} AND Value = {value:Int64} "
		 "AND arrayStringConcat(arrayMap((k, v) -> concat(k, '\\0', v, '\\0'), "
		 "mapKeys(Labels), mapValues(Labels))) = unhex({labels:String})",
		 schema_table_name(STORE_SAMPLES, &local), table_suffix(s));
	r = ask_number(s, sql, params, ARRAY_SIZE(params), &n, err);
	return r < 0 ? r : n > 0;
}

int store_find_samples(struct store *s, const struct store_frame *frame, struct err *err)
{
	CLEANUP(buf_fini) struct buf rows;
	CLEANUP(row_params_fini) struct row_params p;
	int r;

	buf_init(&rows, FRAME_BYTES);
	buf_init(&p.service, PARAM_BYTES);
	buf_init(&p.type, PARAM_BYTES);
	buf_init(&p.labels, 16 * PARAM_BYTES);
	r = inflate(&rows, frame);
	if (r == 0)
		r = read_row(&p, &rows);
	if (r < 0)
		return err_set(err, r, "cannot read a frame of rows: %s", strerror(-r));
	return find_row(s, &p, err);
}

void store_frame_service(const struct store_frame *frame, char *ret, size_t size)
{
	CLEANUP(buf_fini) struct buf rows;
	struct rowbinary_reader in;
	const char *service;
	size_t len;

	ret[0] = '\0';
	buf_init(&rows, FRAME_BYTES);
	if (inflate(&rows, frame) < 0)
		return;
	rowbinary_reader_init(&in, rows.data, rows.len);
	service = rowbinary_get_string(&in, &len);
	snprintf(ret, size, "%.*s", (int)(len < size ? len : size - 1), service);
}

/* ---- tokens ---- */

int store_has_exact_tokens(struct store *s, struct err *err)
{
	uint64_t n = 0;
	char sql[240];
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT countIf(engine LIKE 'Replicated%%' OR engine LIKE 'Shared%%') "
		 "FROM system.tables WHERE database = currentDatabase() AND name = '%s'",
		 schema_table_name(STORE_SAMPLES, &local));
	r = ask_number(s, sql, NULL, 0, &n, err);
	return r < 0 ? r : n > 0;
}
