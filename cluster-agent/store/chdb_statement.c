#include "cluster-agent/store/chdb_statement.h"

#include <errno.h>

#include "common/system/clock.h"

#define MAX_PARAMS 128

static void note_cost(const struct chdb_api *api, struct chdb_result *result,
		      struct store_query_cost *ret)
{
	*ret = (struct store_query_cost){
		.elapsed_ns = (uint64_t)(api->elapsed(result) * (double)NS_PER_S),
		.rows_read = api->storage_rows(result),
		.bytes_read = api->storage_bytes(result),
		.result_rows = api->rows(result),
		.result_bytes = api->bytes(result),
	};
}

int chdb_run(const struct chdb_api *api, chdb_handle *conn, const struct chdb_statement *st,
	     struct buf *out, struct err *err)
{
	const char *names[MAX_PARAMS], *values[MAX_PARAMS], *text;
	struct chdb_result *result;
	int r = 0;

	if (st->n_params > MAX_PARAMS)
		return err_set(err, -E2BIG, "more than %d query parameters", MAX_PARAMS);
	for (size_t i = 0; i < st->n_params; i++) {
		names[i] = st->params[i].name;
		values[i] = st->params[i].value;
	}
	result = api->query(*conn, st->sql, st->sql_len, st->format, strlen(st->format), names,
			    NULL, values, NULL, st->n_params);
	if (!result)
		return err_set(err, -ENOMEM, "the embedded engine gave no answer");
	text = api->error(result);
	if (text) {
		r = out ? buf_add(out, text, strlen(text)) : 0;
		r = r < 0 ? r : -EREMOTEIO;
		err_set(err, r, "%.*s", (int)strcspn(text, "\n"), text);
	} else if (out) {
		r = buf_add(out, api->buffer(result), api->length(result));
		if (r < 0)
			err_set(err, r, "the answer has %zu bytes", api->length(result));
	}
	if (r == 0 && st->cost)
		note_cost(api, result, st->cost);
	api->destroy(result);
	return r;
}

int chdb_run_sql(const struct chdb_api *api, chdb_handle *conn, const char *sql, struct buf *out,
		 struct err *err)
{
	const struct chdb_statement st = {.sql = sql, .sql_len = strlen(sql), .format = "TSV"};

	return chdb_run(api, conn, &st, out, err);
}
