#include "cluster-agent/sql/sql_request.h"

#include <errno.h>

#include "common/text/secret.h"

bool sql_request_has_key(const struct http_exchange *x, const char *api_key)
{
	char password[CLICKHOUSE_PASSWORD_BYTES + 1];
	const char *basic = http_exchange_header(x, "Authorization");
	const char *given[] = {
		http_exchange_header(x, "X-ClickHouse-Key"),
		http_exchange_param(x, "password"),
	};

	if (http_exchange_has_api_key(x, api_key))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		if (secret_equal(given[i], api_key))
			return true;
	}
	return basic && clickhouse_basic_password(basic, password) == 0 &&
	       secret_equal(password, api_key);
}

static int check_database(const struct http_exchange *x, enum clickhouse_code *ret_code,
			  struct err *err)
{
	const char *database = http_exchange_param(x, "database");

	if (!database)
		database = http_exchange_header(x, "X-ClickHouse-Database");
	if (!database || !*database || strcmp(database, "default") == 0 ||
	    strcmp(database, "coroot") == 0)
		return 0;
	*ret_code = CLICKHOUSE_UNKNOWN_DATABASE;
	return err_set(err, -EINVAL,
		       "Only the database coroot can be chosen; name others in the query");
}

/* A client that asks for a feature that we do not have would misread our answer. */
static int check_features(const struct http_exchange *x, enum clickhouse_code *ret_code,
			  struct err *err)
{
	static const char *const binary[] = {"compress", "decompress"};

	for (size_t i = 0; i < ARRAY_SIZE(binary); i++) {
		const char *v = http_exchange_param(x, binary[i]);

		if (!v || strcmp(v, "1") != 0)
			continue;
		*ret_code = CLICKHOUSE_NOT_IMPLEMENTED;
		return err_set(err, -ENOSYS,
			       "The parameters compress and decompress are not supported; "
			       "Accept-Encoding is");
	}
	return 0;
}

static void add_param(void *ctx, const char *name, const char *value)
{
	static const char prefix[] = "param_";
	const size_t n = sizeof(prefix) - 1;
	struct sql_request *r = ctx;

	if (strncmp(name, prefix, n) != 0)
		return;
	/* read_params() refuses the request if there are too many */
	if (r->n_params < SQL_REQUEST_MAX_PARAMS)
		r->params[r->n_params] = (struct store_param){name + n, value};
	r->n_params++;
}

static int read_params(struct sql_request *r, enum clickhouse_code *ret_code, struct err *err)
{
	http_exchange_each_param(r->exchange, add_param, r);
	if (r->n_params <= SQL_REQUEST_MAX_PARAMS)
		return 0;
	*ret_code = CLICKHOUSE_SYNTAX_ERROR;
	return err_set(err, -E2BIG, "Too many query parameters");
}

/* The query may be in the URL, in the body, or begin in one and end in the other. */
static int read_sql(struct sql_request *r)
{
	const char *query = http_exchange_param(r->exchange, "query");
	size_t body_len;
	const void *body = http_exchange_body(r->exchange, &body_len);
	int e = 0;

	if (query)
		e = buf_add(&r->sql, query, strlen(query));
	if (e == 0 && body_len > 0 && r->sql.len > 0)
		e = buf_add(&r->sql, "\n", 1);
	if (e == 0 && body_len > 0)
		e = buf_add(&r->sql, body, body_len);
	return e;
}

static int check_sql(struct sql_request *r, enum clickhouse_code *ret_code, struct err *err)
{
	int e = read_sql(r);

	if (e < 0)
		err_set(err, e, "The query is too long");
	else if (r->sql.len > 0)
		e = sql_guard_check(r->sql.data, r->sql.len, &r->facts, err);
	*ret_code = e == -EPERM    ? CLICKHOUSE_READONLY
		    : e == -ENOMEM ? CLICKHOUSE_NO_MEMORY
				   : CLICKHOUSE_SYNTAX_ERROR;
	return e;
}

static const char *chosen_format(const struct sql_request *r)
{
	const char *format = http_exchange_param(r->exchange, "default_format");

	if (!format)
		format = http_exchange_header(r->exchange, "X-ClickHouse-Format");
	if (r->facts.format[0])
		format = r->facts.format;
	return format && *format ? format : "TabSeparated";
}

int sql_request_read(struct sql_request *r, struct http_exchange *x, enum clickhouse_code *ret_code,
		     struct err *err)
{
	int e;

	*r = (struct sql_request){.exchange = x};
	buf_init(&r->sql, 2 * SQL_GUARD_MAX_BYTES + 2);
	e = check_database(x, ret_code, err);
	if (e == 0)
		e = check_features(x, ret_code, err);
	if (e == 0)
		e = read_params(r, ret_code, err);
	if (e == 0)
		e = check_sql(r, ret_code, err);
	if (e == 0)
		r->format = chosen_format(r);
	return e;
}

void sql_request_fini(struct sql_request *r)
{
	buf_fini(&r->sql);
}
