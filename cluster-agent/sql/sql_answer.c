/*
 * Clients know ClickHouse's conventions and nothing else. So every refusal is worded and
 * numbered as an exception of ClickHouse ("Code: 164. DB::Exception: … (READONLY)",
 * X-ClickHouse-Exception-Code), and its HTTP status follows from the code. Exceptions of the
 * engine are passed through as they are, with the version that a server adds.
 *
 * Answers are of use without the headers that only describe them, so a lack of memory for these
 * is ignored.
 */
#include "cluster-agent/sql/sql_answer.h"

#include <errno.h>

#include "cluster-agent/sql/sql_formats.h"

/* How long clients may keep a connection for its next use; the server keeps it for longer. */
#define KEEP_ALIVE "timeout=30"

static void set_header(struct http_exchange *x, const char *name, const char *value)
{
	int r = http_exchange_set_header(x, name, value);

	(void)r;
}

void sql_answer_describe(struct http_exchange *x, const struct sql_server *server,
			 const char *query_id)
{
	set_header(x, "X-ClickHouse-Query-Id", query_id);
	set_header(x, "X-ClickHouse-Server-Display-Name", server->name);
	set_header(x, "Keep-Alive", KEEP_ALIVE);
}

/* Takes the content of text. */
static void respond_exception(struct http_exchange *x, int code, struct buf *text)
{
	struct sql_encoding encoding;
	struct err err;
	char number[16];
	size_t len;
	char *data;

	/* a request that is refused may have a bad revision, and frames all the same */
	if (sql_encoding_read(&encoding, x, &err) < 0)
		encoding.revision = 0;
	if (sql_encoding_apply_exception(&encoding, text) < 0)
		buf_fini(text);
	data = buf_take(text, &len);
	snprintf(number, sizeof(number), "%d", code);
	set_header(x, "X-ClickHouse-Exception-Code", number);
	http_respond(x, clickhouse_status(code), "text/plain; charset=UTF-8", data, len);
}

void sql_answer_refusal(struct http_exchange *x, const struct sql_server *server,
			enum clickhouse_code code, const char *text)
{
	const char *name = clickhouse_code_name((int)code);
	CLEANUP(buf_fini) struct buf body;

	buf_init(&body, 4096);
	if (buf_addf(&body, "Code: %d. DB::Exception: %s. (%s) (version %s)\n", (int)code, text,
		     name ? name : "STD_EXCEPTION", server->version) < 0)
		buf_fini(&body);
	respond_exception(x, (int)code, &body);
}

void sql_answer_exception(struct http_exchange *x, const struct sql_server *server,
			  struct buf *text)
{
	int code = store_exception_code(text->data, text->len);
	int r = buf_addf(text, " (version %s)\n", server->version);

	(void)r;
	respond_exception(x, code ? code : CLICKHOUSE_ENGINE, text);
}

int sql_answer_encode(struct sql_request *r, struct buf *out, enum clickhouse_code *ret_code,
		      struct err *err)
{
	int e = http_exchange_set_header(r->exchange, "X-ClickHouse-Format", r->format);

	if (e < 0) {
		*ret_code = CLICKHOUSE_UNKNOWN_FORMAT;
		return err_set(err, e, "bad name of a format");
	}
	e = sql_encoding_apply(&r->encoding, r->format, out, err);
	if (e == 0 && !http_exchange_hold(r->exchange, out->len)) {
		*ret_code = CLICKHOUSE_TOO_MANY_QUERIES;
		return err_set(err, -EAGAIN,
			       "Too many answers have not been read by their clients");
	}
	if (e == 0)
		return 0;
	*ret_code = e == -EOPNOTSUPP ? CLICKHOUSE_NOT_IMPLEMENTED
		    : e == -EBADMSG  ? CLICKHOUSE_ENGINE
				     : CLICKHOUSE_NO_MEMORY;
	return err->msg[0] ? e : err_set(err, e, "Out of memory");
}

/* The fields and their form are ClickHouse's. */
static void set_summary(struct http_exchange *x, const struct store_query_cost *cost)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "{\"read_rows\":\"%llu\",\"read_bytes\":\"%llu\",\"written_rows\":\"0\","
		 "\"written_bytes\":\"0\",\"total_rows_to_read\":\"%llu\",\"result_rows\":\"%llu\","
		 "\"result_bytes\":\"%llu\",\"elapsed_ns\":\"%llu\"}",
		 (unsigned long long)cost->rows_read, (unsigned long long)cost->bytes_read,
		 (unsigned long long)cost->rows_read, (unsigned long long)cost->result_rows,
		 (unsigned long long)cost->result_bytes, (unsigned long long)cost->elapsed_ns);
	set_header(x, "X-ClickHouse-Summary", text);
}

void sql_answer_rows(struct sql_request *r, const struct sql_server *server,
		     const struct store_query_cost *cost, struct buf *out)
{
	const struct sql_format *format = sql_format_find(r->format, strlen(r->format));
	const char *time_zone = sql_request_setting(r, "session_timezone");
	size_t len;
	char *data = buf_take(out, &len);

	set_header(r->exchange, "X-ClickHouse-Timezone",
		   time_zone && *time_zone ? time_zone : server->time_zone);
	set_summary(r->exchange, cost);
	if (r->encoding.http && len > 0)
		set_header(r->exchange, "Content-Encoding", r->encoding.http);
	http_respond(r->exchange, 200, format->content_type, data, len);
}
