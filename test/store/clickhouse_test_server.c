/*
 * clickhouse-test-server: libchdb behind ClickHouse's HTTP interface, for tests only.
 *
 * It stands for a ClickHouse server where none can be installed. Tables, SQL, exceptions,
 * deduplication of inserts and durability are the real engine's. The interface is imitated as far
 * as clients of ours use it: queries by GET and POST, bound parameters, settings in the URL, data
 * of inserts with any Content-Encoding that the engine can read, authentication, exception codes
 * and the status that belongs to each (exceptionCodeToHTTPStatus() of ClickHouse 26), and the end
 * of a query whose client has left (cancel_http_readonly_queries_on_client_close).
 *
 * Each request has a connection of its own, which takes the engine half a millisecond, so settings
 * and the chosen database end with the request. The data of an INSERT reaches the engine as an
 * anonymous file (FROM INFILE), which it decompresses and parses itself.
 *
 * Not imitated: sessions, ClickHouse's own compressed blocks, exceptions in the middle of an
 * answer (answers are buffered whole).
 *
 *	clickhouse-test-server --data=DIR [--listen=127.0.0.1:0] [--config=FILE]
 *		[--user=NAME] [--password=SECRET] [--library=FILE] [--die-with-parent]
 *
 * Prints "port N" once it answers. SIGTERM ends it in order; SIGKILL loses nothing that the
 * engine has written.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "cluster-agent/sql/clickhouse_http.h"
#include "cluster-agent/sql/sql_formats.h"
#include "cluster-agent/store/query_turns.h"
#include "cluster-agent/store/store.h"
#include "common/data/gzip.h"
#include "common/http/http_server.h"
#include "common/text/base64.h"
#include "common/thread/worker_pool.h"
#include "test/store/server_engine.h"
#include "test/store/server_form.h"
#include "test/store/server_statement.h"

#define N_THREADS 8
#define SLOT_SETTING "log_queries_min_query_duration_ms"
#define MAX_PARAMS 64
#define MAX_BODY_BYTES ((size_t)512 << 20)
#define MAX_ANSWER_BYTES ((size_t)1 << 30)
#define MAX_SQL_BYTES ((size_t)16 << 20)

enum {
	CODE_UNKNOWN_COMPRESSION = 89,
	CODE_NOT_IMPLEMENTED = 48,
	CODE_BAD_ARGUMENTS = 36,
	CODE_NO_MEMORY = 241,
	CODE_TOO_MANY_QUERIES = 202,
	CODE_AUTHENTICATION_FAILED = 516,
};

struct server {
	struct server_engine engine;
	const char *user; /* NULL: anyone */
	const char *password;
	struct http_server *http;
	struct worker_pool *pool;
	struct query_turns *turns; /* one for each thread: ends queries whose clients have left */
	chdb_handle *ender;
	_Atomic unsigned n_queries;
};

struct request {
	struct http_exchange *exchange;
	bool is_get;
	struct buf text; /* the query, and the body if it is part of the SQL */
	const char *data;
	size_t data_len;
	const char *compression; /* of data */
	const char *format;
	char id[64];
	const char *names[MAX_PARAMS]; /* parameters to bind */
	const char *values[MAX_PARAMS];
	size_t n_params;
	const char *settings[MAX_PARAMS][2];
	size_t n_settings;
	char *form; /* the body, if it is one: parameters lie in it */
	struct server *server;
	struct store_ticket ticket;
};

/* ---- answers ---- */

static void set_header(struct http_exchange *x, const char *name, const char *value)
{
	if (http_exchange_set_header(x, name, value) < 0)
		fprintf(stderr, "header %s was not set\n", name);
}

static void respond_exception(struct http_exchange *x, const char *text)
{
	int code = store_exception_code(text, strlen(text));
	struct buf body;
	char number[16];
	size_t len;
	char *data;

	snprintf(number, sizeof(number), "%d", code);
	set_header(x, "X-ClickHouse-Exception-Code", number);
	buf_init(&body, MAX_SQL_BYTES);
	if (buf_addf(&body, "%s (version 26.5.1.1)\n", text) < 0)
		buf_fini(&body);
	data = buf_take(&body, &len);
	http_respond(x, server_status(code), "text/plain; charset=UTF-8", data, len);
}

static void refuse(struct http_exchange *x, int code, const char *why)
{
	char text[512];

	snprintf(text, sizeof(text), "Code: %d. DB::Exception: %s.", code, why);
	respond_exception(x, text);
}

static bool wants_gzip(const struct http_exchange *x)
{
	const char *enabled = http_exchange_param(x, "enable_http_compression");
	const char *accepted = http_exchange_header(x, "Accept-Encoding");

	return enabled && strcmp(enabled, "1") == 0 && accepted && strstr(accepted, "gzip");
}

static void respond_answer(struct server *s, struct request *q, struct chdb_result *result)
{
	struct http_exchange *x = q->exchange;
	const struct sql_format *format = sql_format_find(q->format, strlen(q->format));
	const char *content_type = format ? format->content_type : "text/plain; charset=UTF-8";
	struct buf body;
	size_t len;
	char *data;
	int r;

	buf_init(&body, MAX_ANSWER_BYTES);
	if (wants_gzip(x)) {
		r = gzip_deflate(s->engine.api.buffer(result), s->engine.api.length(result), 1,
				 &body);
		set_header(x, "Content-Encoding", "gzip");
	} else {
		r = buf_add(&body, s->engine.api.buffer(result), s->engine.api.length(result));
	}
	if (r < 0) {
		buf_fini(&body);
		refuse(x, CODE_NO_MEMORY, "the answer is too large");
		return;
	}
	set_header(x, "X-ClickHouse-Format", q->format);
	set_header(x, "X-ClickHouse-Timezone", "UTC");
	data = buf_take(&body, &len);
	http_respond(x, 200, content_type, data, len);
}

/* ---- statements, on the pool's threads ---- */

/* Returns 0, or -EREMOTEIO after it has answered q with the engine's exception. */
static int prepare(struct server *s, struct request *q, chdb_handle *conn, const char *sql)
{
	struct chdb_result *result = server_engine_run(&s->engine, conn, sql);
	const char *text =
		result ? s->engine.api.error(result) : "Code: 241. DB::Exception: no answer";
	int r = text ? -EREMOTEIO : 0;

	if (text)
		respond_exception(q->exchange, text);
	if (result)
		s->engine.api.destroy(result);
	return r;
}

static int set(struct server *s, struct request *q, chdb_handle *conn, const char *name,
	       const char *value)
{
	struct buf sql;
	int r = 0;

	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")]) {
		refuse(q->exchange, CODE_BAD_ARGUMENTS, "bad name of a setting");
		return -EINVAL;
	}
	buf_init(&sql, MAX_SQL_BYTES);
	if (buf_addf(&sql, "SET %s = '", name) < 0)
		r = -ENOMEM;
	for (; *value && r == 0; value++)
		r = buf_addf(&sql, *value == '\'' || *value == '\\' ? "\\%c" : "%c", *value);
	if (r == 0)
		r = buf_add(&sql, "'", 1);
	if (r == 0)
		r = prepare(s, q, conn, sql.data);
	else
		refuse(q->exchange, CODE_NO_MEMORY, "out of memory");
	buf_fini(&sql);
	return r;
}

static int choose_database(struct server *s, struct request *q, chdb_handle *conn)
{
	const char *name = http_exchange_param(q->exchange, "database");
	char sql[256];

	if (!name)
		name = http_exchange_header(q->exchange, "X-ClickHouse-Database");
	if (!name || !*name)
		return 0;
	if (strpbrk(name, "`\\") || strlen(name) > 128) {
		refuse(q->exchange, CODE_BAD_ARGUMENTS, "bad name of a database");
		return -EINVAL;
	}
	snprintf(sql, sizeof(sql), "USE `%s`", name);
	return prepare(s, q, conn, sql);
}

/* GET implies readonly = 2, and a read-only connection cannot change settings: it comes last. */
static int apply_settings(struct server *s, struct request *q, chdb_handle *conn)
{
	const char *readonly = q->is_get ? "2" : NULL;
	int r = prepare(s, q, conn, "SET implicit_select = 0");

	if (r == 0)
		r = set(s, q, conn, "log_comment", q->id);
	for (size_t i = 0; i < q->n_settings && r == 0; i++) {
		if (strcmp(q->settings[i][0], "readonly") == 0)
			readonly = q->settings[i][1];
		else
			r = set(s, q, conn, q->settings[i][0], q->settings[i][1]);
	}
	return r == 0 && readonly ? set(s, q, conn, "readonly", readonly) : r;
}

static int make_file(const char *data, size_t len)
{
	AUTO_CLOSE int fd = memfd_create("data", MFD_CLOEXEC);

	for (size_t done = 0; fd >= 0 && done < len;) {
		ssize_t n = write(fd, data + done, len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return TAKE_FD(fd);
}

/* Makes the SQL that the engine runs; *ret_fd is the data, or -1. */
static int make_sql(const struct request *q, struct buf *sql, int *ret_fd)
{
	struct server_statement st;
	int r;

	server_statement_split(q->text.data, q->text.len, &st);
	if (!st.has_data)
		return server_statement_add(sql, q->text.data, q->text.len);
	*ret_fd = q->data ? make_file(q->data, q->data_len)
			  : make_file(q->text.data + st.data_offset, q->text.len - st.data_offset);
	if (*ret_fd < 0)
		return *ret_fd;
	r = buf_add(sql, q->text.data, st.source_at);
	if (r == 0)
		r = buf_addf(sql, " FROM INFILE '/proc/self/fd/%d' COMPRESSION '%s' ", *ret_fd,
			     q->compression);
	return r == 0 ? buf_add(sql, q->text.data + st.source_at, st.sql_len - st.source_at) : r;
}

static void run_statement(struct server *s, struct request *q, chdb_handle *conn)
{
	AUTO_CLOSE int fd = -1;
	CLEANUP(buf_fini) struct buf sql;
	struct chdb_result *result;
	const char *text;

	buf_init(&sql, MAX_BODY_BYTES);
	if (make_sql(q, &sql, &fd) < 0) {
		refuse(q->exchange, CODE_NO_MEMORY, "out of memory");
		return;
	}
	result = s->engine.api.query(*conn, sql.data, sql.len, q->format, strlen(q->format),
				     q->names, NULL, q->values, NULL, q->n_params);
	text = result ? s->engine.api.error(result) : "Code: 241. DB::Exception: no answer";
	if (text)
		respond_exception(q->exchange, text);
	else
		respond_answer(s, q, result);
	if (result)
		s->engine.api.destroy(result);
}

/* ---- clients that leave ---- */

static void name_connection(struct server *s, chdb_handle *conn, unsigned slot)
{
	char sql[100];

	/* a setting that has no effect: nothing is logged, and log_comment is the query's id */
	snprintf(sql, sizeof(sql), "SET " SLOT_SETTING " = %u", slot + 1);
	s->engine.api.destroy(server_engine_run(&s->engine, conn, sql));
}

static void end_query(void *ctx, unsigned slot)
{
	struct server *s = ctx;
	char sql[100];

	snprintf(sql, sizeof(sql), "KILL QUERY WHERE Settings['" SLOT_SETTING "'] = '%u' ASYNC",
		 slot + 1);
	s->engine.api.destroy(server_engine_run(&s->engine, s->ender, sql));
}

static void cancel(void *ctx)
{
	struct request *q = ctx;

	atomic_store(&q->ticket.cancelled, true);
	query_turns_wake(q->server->turns);
}

/* As ClickHouse does: only if the client asks for it. */
static bool is_to_be_cancelled(const struct request *q)
{
	for (size_t i = 0; i < q->n_settings; i++) {
		if (strcmp(q->settings[i][0], "cancel_http_readonly_queries_on_client_close") == 0)
			return strcmp(q->settings[i][1], "1") == 0;
	}
	return false;
}

static void run(void *ctx, void *job, struct arena *arena)
{
	struct server *s = ctx;
	struct request *q = job;
	chdb_handle *conn = server_engine_connect(&s->engine);
	unsigned slot;

	(void)arena;
	if (is_to_be_cancelled(q))
		http_exchange_on_left(q->exchange, cancel, q);
	if (conn &&
	    query_turns_take(s->turns, STORE_FOR_PAGE, &q->ticket, UINT64_MAX, &slot, NULL) < 0) {
		server_engine_close(&s->engine, conn);
		conn = NULL;
	}
	if (conn)
		name_connection(s, conn, slot);
	if (!conn)
		refuse(q->exchange, CODE_NO_MEMORY, "no connection to the engine");
	else if (choose_database(s, q, conn) == 0 && apply_settings(s, q, conn) == 0)
		run_statement(s, q, conn);
	if (conn) {
		(void)query_turns_settle(s->turns, slot);
		server_engine_close(&s->engine, conn);
		query_turns_give(s->turns, slot);
	}
	buf_fini(&q->text);
	free(q->form);
	free(q);
}

/* ---- requests, on the HTTP server's threads ---- */

static bool is_allowed(const struct server *s, const struct http_exchange *x)
{
	const char *basic = http_exchange_header(x, "Authorization");
	const char *user = http_exchange_header(x, "X-ClickHouse-User");
	const char *password = http_exchange_header(x, "X-ClickHouse-Key");
	CLEANUP(buf_fini) struct buf text;
	char *colon;

	buf_init(&text, 1024);
	if (!s->user)
		return true;
	if (basic && strncmp(basic, "Basic ", 6) == 0 &&
	    base64_decode(basic + 6, strlen(basic + 6), &text) == 0 && text.data) {
		colon = strchr(text.data, ':');
		if (colon)
			*colon = '\0';
		user = text.data;
		password = colon ? colon + 1 : "";
	}
	user = user ? user : http_exchange_param(x, "user");
	password = password ? password : http_exchange_param(x, "password");
	return strcmp(user ? user : "default", s->user) == 0 &&
	       strcmp(password ? password : "", s->password ? s->password : "") == 0;
}

static void add_param(void *ctx, const char *name, const char *value)
{
	static const char *const other[] = {
		"query",       "database",       "user",     "password",      "quota_key",
		"query_id",    "default_format", "compress", "decompress",    "wait_end_of_query",
		"buffer_size", "stacktrace",     "role",     "close_session", "session_timeout",
	};
	struct request *q = ctx;

	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		if (strcmp(name, other[i]) == 0)
			return;
	}
	if (strncmp(name, "param_", 6) == 0 && q->n_params < MAX_PARAMS) {
		q->names[q->n_params] = name + 6;
		q->values[q->n_params++] = value;
	} else if (q->n_settings < MAX_PARAMS) {
		q->settings[q->n_settings][0] = name;
		q->settings[q->n_settings++][1] = value;
	}
}

/* The engine's name of the compression of the body, or NULL if it is not known. */
static const char *compression_of(const struct http_exchange *x)
{
	static const char *const known[] = {"zstd", "gzip", "deflate", "lz4", "br", "xz", "bz2"};
	const char *encoding = http_exchange_header(x, "Content-Encoding");

	if (!encoding || !*encoding || strcmp(encoding, "identity") == 0)
		return "none";
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(encoding, known[i]) == 0)
			return known[i];
	}
	return NULL;
}

static bool is_set(const struct http_exchange *x, const char *param)
{
	const char *v = http_exchange_param(x, param);

	return v && strcmp(v, "1") == 0;
}

static void add_field(void *ctx, const char *name, const char *value)
{
	struct request *q = ctx;

	if (strcmp(name, "query") != 0)
		add_param(q, name, value);
	else if (buf_addf(&q->text, "%s\n", value) < 0)
		abort();
}

/* Returns 0, or -ENOENT if the body is no form, or -EBADMSG. */
static int read_form(struct request *q, const char *body, size_t len)
{
	const char *type = http_exchange_header(q->exchange, "Content-Type");

	if (!type || strncmp(type, "multipart/", 10) != 0)
		return -ENOENT;
	q->form = malloc(len + 1);
	if (!q->form)
		abort();
	memcpy(q->form, body, len);
	return server_form_parse(type, q->form, len, add_field, q);
}

/* Returns 0, or the code of an exception whose text is then *why. */
static int read_request(struct request *q, const char **why)
{
	struct http_exchange *x = q->exchange;
	const char *query = http_exchange_param(x, "query");
	struct server_statement st = {0};
	size_t len;
	const char *body = http_exchange_body(x, &len);
	int r = 0;

	if (is_set(x, "compress") || is_set(x, "decompress") ||
	    http_exchange_param(x, "session_id")) {
		*why = "compress, decompress and session_id are not supported here";
		return CODE_NOT_IMPLEMENTED;
	}
	q->compression = compression_of(x);
	if (!q->compression) {
		*why = "Unknown compression method";
		return CODE_NOT_IMPLEMENTED;
	}
	buf_init(&q->text, 2 * MAX_BODY_BYTES);
	if (query && *query)
		r = buf_addf(&q->text, "%s\n", query);
	*why = "the form cannot be read";
	switch (read_form(q, body, len)) {
	case 0:
		return 0;
	case -ENOENT:
		break;
	default:
		return CODE_BAD_ARGUMENTS;
	}
	server_statement_split(q->text.data ? q->text.data : "", q->text.len, &st);
	if (st.has_data) {
		q->data = body;
		q->data_len = len;
	} else if (len > 0 && strcmp(q->compression, "gzip") == 0) {
		r = r == 0 ? gzip_inflate(body, len, &q->text) : r;
		q->compression = "none";
	} else if (len > 0 && strcmp(q->compression, "none") != 0) {
		*why = "SQL in the body can only be compressed with gzip here";
		return CODE_NOT_IMPLEMENTED;
	} else if (len > 0) {
		r = r == 0 ? buf_add(&q->text, body, len) : r;
	}
	*why = "the body cannot be read";
	return r < 0 ? CODE_UNKNOWN_COMPRESSION : 0;
}

static void read_names(struct server *s, struct request *q)
{
	const char *id = http_exchange_param(q->exchange, "query_id");
	const char *format = http_exchange_param(q->exchange, "default_format");

	format = format ? format : http_exchange_header(q->exchange, "X-ClickHouse-Format");
	q->format = format && *format ? format : "TabSeparated";
	if (id && *id)
		snprintf(q->id, sizeof(q->id), "%s", id);
	else
		snprintf(q->id, sizeof(q->id), "query-%u", ++s->n_queries);
	set_header(q->exchange, "X-ClickHouse-Query-Id", q->id);
}

static void handle(struct server *s, struct http_exchange *x, bool is_get)
{
	struct request *q;
	const char *why;
	int code;

	if (!is_allowed(s, x)) {
		refuse(x, CODE_AUTHENTICATION_FAILED,
		       "Authentication failed: password is incorrect, or there is no user with "
		       "such name");
		return;
	}
	q = calloc(1, sizeof(*q));
	if (!q)
		abort();
	q->server = s;
	q->exchange = x;
	q->is_get = is_get;
	read_names(s, q);
	http_exchange_each_param(x, add_param, q);
	code = read_request(q, &why);
	if (code)
		refuse(x, code, why);
	else if (q->text.len == 0)
		http_respond_text(x, 200, "Ok.");
	else if (worker_pool_submit(s->pool, q) == 0)
		return;
	else
		refuse(x, CODE_TOO_MANY_QUERIES, "Too many simultaneous queries");
	buf_fini(&q->text);
	free(q->form);
	free(q);
}

static void handle_get(void *ctx, struct http_exchange *x)
{
	handle(ctx, x, true);
}

static void handle_post(void *ctx, struct http_exchange *x)
{
	handle(ctx, x, false);
}

static void handle_ping(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_text(x, 200, "Ok.");
}

/* ---- start ---- */

struct options {
	struct server_engine_config engine;
	const char *listen;
	const char *user;
	const char *password;
};

static void read_options(int argc, char **argv, struct options *ret)
{
	static const struct option names[] = {
		{"data", required_argument, NULL, 0},      {"listen", required_argument, NULL, 1},
		{"config", required_argument, NULL, 2},    {"library", required_argument, NULL, 3},
		{"user", required_argument, NULL, 4},      {"password", required_argument, NULL, 5},
		{"die-with-parent", no_argument, NULL, 6}, {0},
	};
	const char **const values[] = {&ret->engine.data,    &ret->listen, &ret->engine.config,
				       &ret->engine.library, &ret->user,   &ret->password};
	int c;

	*ret = (struct options){.listen = "127.0.0.1:0", .engine.library = getenv("CHDB_LIBRARY")};
	while ((c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		if (c < (int)ARRAY_SIZE(values))
			*values[c] = optarg;
		else if (c != 6 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
			exit(2);
	}
	if (!ret->engine.data || optind != argc) {
		fprintf(stderr, "usage: %s --data=DIR …; see the head of its source\n", argv[0]);
		exit(2);
	}
}

static void fail(const char *what, const struct err *err)
{
	fprintf(stderr, "clickhouse-test-server: %s: %s\n", what, err->msg);
	exit(1);
}

static void start_http(struct server *s, const struct options *o)
{
	const struct worker_pool_config pool = {
		.n_threads = N_THREADS, .max_queued = 256, .run = run, .ctx = s};
	const struct http_route routes[] = {
		{"GET", "/", 0, handle_get, s},
		{"POST", "/", MAX_BODY_BYTES, handle_post, s},
		{"GET", "/ping", 0, handle_ping, s},
		{0},
	};
	const struct http_server_config http = {
		.listen = o->listen,
		.max_connections = 512,
		.timeout_s = 30,
		.max_body_memory_bytes = 2 * MAX_BODY_BYTES,
		.routes = routes,
	};
	const struct query_turns_config turns = {
		.n_slots = {[STORE_FOR_PAGE] = N_THREADS}, .end = end_query, .ctx = s};
	struct err err = {0};

	s->ender = server_engine_connect(&s->engine);
	if (!s->ender || query_turns_new(&s->turns, &turns) < 0)
		fail("end queries", &err);
	if (worker_pool_new(&s->pool, &pool) < 0 || worker_pool_start(s->pool) < 0)
		fail("start threads", &err);
	if (http_server_new(&s->http, &http, &err) < 0)
		fail("listen", &err);
}

int main(int argc, char **argv)
{
	static struct server s;
	struct err err = {0};
	struct options o;
	sigset_t stop;
	int signo;

	read_options(argc, argv, &o);
	s.user = o.user ? o.user : o.password ? "default" : NULL;
	s.password = o.password;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (server_engine_start(&s.engine, &o.engine, &err) < 0)
		fail("start", &err);
	start_http(&s, &o);
	printf("port %u\n", http_server_port(s.http));
	fflush(stdout);
	sigwait(&stop, &signo);
	http_server_free(s.http);
	worker_pool_free(s.pool);
	query_turns_free(s.turns);
	server_engine_close(&s.engine, s.ender);
	server_engine_stop(&s.engine);
	return 0;
}
