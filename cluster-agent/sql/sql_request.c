#include "cluster-agent/sql/sql_request.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>
#include <sys/random.h>

#include "cluster-agent/sql/sql_form.h"
#include "cluster-agent/sql/sql_formats.h"
#include "common/access/credentials.h"

bool sql_request_has_key(const struct http_exchange *x, const struct access *a)
{
	char password[CREDENTIALS_KEY_BYTES];
	const char *authorization = http_exchange_header(x, "Authorization");
	const char *given[] = {
		http_exchange_header(x, "X-ClickHouse-Key"),
		http_exchange_param(x, "password"),
		http_exchange_header(x, "X-Api-Key"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		if (access_key_fits(a, ACCESS_READ, given[i]))
			return true;
	}
	return authorization && credentials_parse(authorization, password) == 0 &&
	       access_key_fits(a, ACCESS_READ, password);
}

void sql_request_query_id(const struct http_exchange *x, char *ret)
{
	const char *id = http_exchange_param(x, "query_id");
	uint32_t r[4] = {0};
	size_t n = 0;

	if (!id)
		id = http_exchange_header(x, "X-ClickHouse-Query-Id");
	while (id && isprint((unsigned char)id[n]))
		n++;
	if (n > 0 && id[n] == '\0' && n < SQL_QUERY_ID_BYTES) {
		memcpy(ret, id, n + 1);
		return;
	}
	/* ids only tell queries apart; one of zeros does no harm */
	if (getrandom(r, sizeof(r), GRND_NONBLOCK) < 0)
		memset(r, 0, sizeof(r));
	snprintf(ret, SQL_QUERY_ID_BYTES, "%08x-%04x-4%03x-a%03x-%04x%08x", r[0], r[1] >> 16,
		 r[1] & 0xfff, r[2] >> 20, r[2] & 0xffff, r[3]);
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

/* Drivers and Metabase may send a role; there are none, except the one that everybody has. */
static int check_role(const struct http_exchange *x, enum clickhouse_code *ret_code,
		      struct err *err)
{
	static const char *const known[] = {"", "none", "default", "all"};
	const char *role = http_exchange_param(x, "role");

	for (size_t i = 0; role && i < ARRAY_SIZE(known); i++) {
		if (strcasecmp(role, known[i]) == 0)
			role = NULL;
	}
	if (!role)
		return 0;
	*ret_code = CLICKHOUSE_UNKNOWN_ROLE;
	return err_set(err, -EINVAL, "There are no roles here");
}

static int read_encoding(struct sql_request *r, enum clickhouse_code *ret_code, struct err *err)
{
	*ret_code = CLICKHOUSE_BAD_ARGUMENTS;
	return sql_encoding_read(&r->encoding, r->exchange, err);
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

struct settings_reader {
	struct sql_request *request;
	enum clickhouse_code code;
	struct err *err;
	int r;
};

static void add_setting(void *ctx, const char *name, const char *value)
{
	struct settings_reader *s = ctx;
	struct sql_request *r = s->request;
	struct sql_setting setting;

	if (s->r < 0)
		return;
	s->r = sql_setting_check(name, value, &setting, s->err);
	s->code = s->r == -EPERM ? CLICKHOUSE_READONLY : CLICKHOUSE_BAD_ARGUMENTS;
	if (s->r == 1 && r->n_settings == SQL_SETTINGS_MAX)
		s->r = err_set(s->err, -E2BIG, "Too many settings");
	else if (s->r == 1)
		r->settings[r->n_settings++] = setting;
}

static int read_settings(struct sql_request *r, enum clickhouse_code *ret_code, struct err *err)
{
	struct settings_reader s = {.request = r, .err = err};

	http_exchange_each_param(r->exchange, add_setting, &s);
	if (s.r >= 0)
		return 0;
	*ret_code = s.code;
	return s.r;
}

const char *sql_request_setting(const struct sql_request *r, const char *name)
{
	for (size_t i = 0; i < r->n_settings; i++) {
		if (strcmp(r->settings[i].name, name) == 0)
			return r->settings[i].value;
	}
	return NULL;
}

static int add_field(void *ctx, const char *name, const char *value)
{
	struct settings_reader *s = ctx;
	struct sql_request *r = s->request;
	int e;

	if (strcmp(name, "query") == 0) {
		e = buf_add(&r->sql, value, strlen(value));
		return e < 0 ? err_set(s->err, e, "The query is too long") : 0;
	}
	add_param(r, name, value);
	if (r->n_params > SQL_REQUEST_MAX_PARAMS)
		return err_set(s->err, -E2BIG, "Too many query parameters");
	add_setting(s, name, value);
	return s->r < 0 ? s->r : 0;
}

/* Drivers may send the query, its parameters and settings as fields of a form. */
static int read_form(struct sql_request *r, const char *content_type, struct err *err)
{
	struct settings_reader s = {.request = r, .err = err};
	int e = sql_encoding_body(r->exchange, &r->form, err);

	if (e < 0)
		return e;
	e = r->form.len == 0
		    ? -EINVAL
		    : sql_form_split(content_type, r->form.data, r->form.len, add_field, &s);
	if (e < 0 && !err->msg[0])
		err_set(err, e, e == -EPERM ? "Tables cannot be uploaded" : "The body is no form");
	return e;
}

static int read_body(struct sql_request *r, struct err *err)
{
	const char *content_type = http_exchange_header(r->exchange, "Content-Type");

	return sql_form_is_type(content_type) ? read_form(r, content_type, err)
					      : sql_encoding_body(r->exchange, &r->sql, err);
}

/* The query may be in the URL, in the body, or begin in one and end in the other. */
static int read_sql(struct sql_request *r, struct err *err)
{
	const char *query = http_exchange_param(r->exchange, "query");
	size_t in_url = query ? strlen(query) : 0;
	int e = 0;

	if (in_url > 0)
		e = buf_add(&r->sql, query, in_url);
	if (e == 0 && in_url > 0)
		e = buf_add(&r->sql, "\n", 1);
	if (e < 0)
		return err_set(err, e, "The query is too long");
	e = read_body(r, err);
	if (e == 0 && in_url > 0 && r->sql.len == in_url + 1)
		buf_truncate(&r->sql, in_url);
	return e;
}

/* The clauses at the end of the query travel apart from it, like those of the URL. */
static int take_clauses(struct sql_request *r, struct err *err)
{
	buf_truncate(&r->sql, r->facts.len);
	if (r->n_settings + r->facts.n_settings > SQL_SETTINGS_MAX)
		return err_set(err, -E2BIG, "Too many settings");
	for (size_t i = 0; i < r->facts.n_settings; i++)
		r->settings[r->n_settings++] = r->facts.settings[i];
	return 0;
}

/* What a server answers to KILL QUERY. The id has neither quotes nor backslashes. */
static int make_kill_answer(struct sql_request *r, struct err *err)
{
	int e;

	buf_truncate(&r->sql, 0);
	e = buf_addf(&r->sql,
		     "SELECT 'finished' AS kill_status, '%s' AS query_id, 'default' AS user, "
		     "'' AS query",
		     r->command.query_id);
	return e < 0 ? err_set(err, e, "Out of memory") : 0;
}

static int check_statement(struct sql_request *r, struct err *err)
{
	int e;

	sql_command_parse(r->sql.data, r->sql.len, &r->command);
	switch (r->command.kind) {
	case SQL_COMMAND_KILL:
		return make_kill_answer(r, err);
	case SQL_COMMAND_NOTHING:
		return 0;
	case SQL_COMMAND_NONE:
		break;
	}
	e = sql_guard_check(r->sql.data, r->sql.len, &r->facts, err);
	return e < 0 ? e : take_clauses(r, err);
}

static int check_sql(struct sql_request *r, enum clickhouse_code *ret_code, struct err *err)
{
	int e = read_sql(r, err);

	if (e == 0 && r->sql.len > 0)
		e = check_statement(r, err);
	*ret_code = e == -EPERM     ? CLICKHOUSE_READONLY
		    : e == -ENOMEM  ? CLICKHOUSE_NO_MEMORY
		    : e == -ENOSYS  ? CLICKHOUSE_NOT_IMPLEMENTED
		    : e == -EBADMSG ? CLICKHOUSE_CANNOT_DECOMPRESS
				    : CLICKHOUSE_SYNTAX_ERROR;
	return e;
}

static int choose_format(struct sql_request *r, enum clickhouse_code *ret_code, struct err *err)
{
	const char *name = http_exchange_param(r->exchange, "default_format");
	const struct sql_format *format;

	if (!name)
		name = http_exchange_header(r->exchange, "X-ClickHouse-Format");
	if (r->facts.format[0])
		name = r->facts.format;
	if (!name || !*name)
		name = "TabSeparated";
	format = sql_format_find(name, strlen(name));
	if (!format) {
		*ret_code = CLICKHOUSE_UNKNOWN_FORMAT;
		return err_set(err, -EINVAL, "Unknown format %.64s, or it is not available here",
			       name);
	}
	r->format = format->name;
	return 0;
}

int sql_request_read(struct sql_request *r, struct http_exchange *x, enum clickhouse_code *ret_code,
		     struct err *err)
{
	int e;

	*r = (struct sql_request){.exchange = x};
	buf_init(&r->sql, 2 * SQL_GUARD_MAX_BYTES + 2);
	buf_init(&r->form, SQL_GUARD_MAX_BYTES);
	e = check_database(x, ret_code, err);
	if (e == 0)
		e = check_role(x, ret_code, err);
	if (e == 0)
		e = read_encoding(r, ret_code, err);
	if (e == 0)
		e = read_settings(r, ret_code, err);
	if (e == 0)
		e = read_params(r, ret_code, err);
	if (e == 0)
		e = check_sql(r, ret_code, err);
	return e < 0 ? e : choose_format(r, ret_code, err);
}

void sql_request_fini(struct sql_request *r)
{
	buf_fini(&r->sql);
	buf_fini(&r->form);
}
