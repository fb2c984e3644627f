/*
 * Clients know ClickHouse's conventions and nothing else. So every refusal is worded and
 * numbered as an exception of ClickHouse ("Code: 164. DB::Exception: …",
 * X-ClickHouse-Exception-Code), and its HTTP status follows from the code. Exceptions of the
 * engine are passed through as they are.
 */
#include "cluster-agent/sql/sql_answer.h"

#include <errno.h>

/* text_adopt is the body and is freed with the answer; NULL sends an empty one. */
static void respond_exception(struct http_exchange *x, int code, char *text_adopt, size_t len)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", code);
	/* the answer is of use without the header, too */
	if (http_exchange_set_header(x, "X-ClickHouse-Exception-Code", number) < 0)
		code = CLICKHOUSE_NO_MEMORY;
	http_respond(x, clickhouse_status(code), "text/plain; charset=UTF-8", text_adopt, len);
}

void sql_answer_refusal(struct http_exchange *x, enum clickhouse_code code, const char *text)
{
	CLEANUP(buf_fini) struct buf body;
	size_t len;
	char *data;

	buf_init(&body, 4096);
	if (buf_addf(&body, "Code: %d. DB::Exception: %s.\n", (int)code, text) < 0)
		buf_fini(&body);
	data = buf_take(&body, &len);
	respond_exception(x, (int)code, data, len);
}

void sql_answer_exception(struct http_exchange *x, struct buf *text)
{
	int code = store_exception_code(text->data, text->len);
	size_t len;
	char *data = buf_take(text, &len);

	respond_exception(x, code ? code : CLICKHOUSE_ENGINE, data, len);
}

int sql_answer_encode(struct sql_request *r, struct buf *out, enum clickhouse_code *ret_code,
		      struct err *err)
{
	int e = http_exchange_set_header(r->exchange, "X-ClickHouse-Format", r->format);

	(void)out;
	if (e == 0)
		return 0;
	*ret_code = CLICKHOUSE_UNKNOWN_FORMAT;
	return err_set(err, e, "bad name of a format");
}

void sql_answer_rows(struct sql_request *r, struct buf *out)
{
	size_t len;
	char *data = buf_take(out, &len);

	http_respond(r->exchange, 200, clickhouse_content_type(r->format), data, len);
}
