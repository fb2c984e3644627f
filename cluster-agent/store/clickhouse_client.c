/*
 * Attempts, one after the other, until a server has given a whole answer.
 *
 * libcurl's easy handles keep their connections, so a free handle is kept for the next statement.
 * They share nothing with each other: libcurl's shared connection cache is not thread-safe, and
 * the few statements at once need few connections.
 *
 * A statement goes on to the next server after a failure only if it may be executed twice, because
 * a lost answer says nothing about whether it was. An exception that another replica need not have
 * (a lost session with Keeper, a shutdown) is such a failure as well.
 */
#include "cluster-agent/store/clickhouse_client.h"

#include <errno.h>
#include <fcntl.h>

#include "cluster-agent/store/clickhouse_servers.h"
#include "cluster-agent/store/clickhouse_transfer.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/telemetry/log.h"

#define MAX_IDLE_HANDLES 8u
#define MAX_PASSWORD_BYTES 4096u
/* How long a parsed CA file is kept: without this, each connection would parse it. */
#define CA_CACHE_S 1L

struct clickhouse_client {
	struct clickhouse_servers servers;
	char *user;
	char *password_file;
	char *ca_file;
	char *cert_file;
	char *key_file;
	bool skip_verify;
	atomic_bool stopped;  /* for cancellable statements */
	atomic_bool ended;    /* for all others */
	pthread_mutex_t lock; /* of what follows */
	char *password;
	CURL *idle[MAX_IDLE_HANDLES];
	size_t n_idle;
};

/* ---- password ---- */

static void free_password(char *password)
{
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
}

static bool is_one_line(const char *s)
{
	return !s[strcspn(s, "\r\n")];
}

static int read_password(const char *path, char **ret, struct err *err)
{
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, MAX_PASSWORD_BYTES);
	r = fs_read_at(AT_FDCWD, path, &text);
	if (r < 0)
		return err_set(err, r, "read the password of ClickHouse from %s: %s", path,
			       strerror(-r));
	while (text.len > 0 && strchr("\r\n", text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	*ret = strdup(text.data ?: "");
	if (text.data)
		explicit_bzero(text.data, text.len);
	if (!*ret)
		return err_set(err, -ENOMEM, "out of memory");
	if (is_one_line(*ret))
		return 0;
	free_password(TAKE_PTR(*ret));
	return err_set(err, -EINVAL, "the password of ClickHouse in %s has several lines", path);
}

/* Returns a copy, as another thread may replace the password; NULL if there is no memory. */
static char *copy_password(struct clickhouse_client *c)
{
	char *copy;

	pthread_mutex_lock(&c->lock);
	copy = strdup(c->password);
	pthread_mutex_unlock(&c->lock);
	return copy;
}

/* After used was refused. Returns whether there is another one. */
static bool renew_password(struct clickhouse_client *c, const char *used)
{
	struct err err = {0};
	char *password = NULL;
	bool is_new;

	if (c->password_file) {
		if (read_password(c->password_file, &password, &err) < 0) {
			log_warn_limited("keeping the last password of ClickHouse", "error=%s",
					 LOG_QUOTED(err.msg));
			return false;
		}
		pthread_mutex_lock(&c->lock);
		free_password(c->password);
		c->password = password;
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_lock(&c->lock);
	is_new = strcmp(c->password, used) != 0;
	pthread_mutex_unlock(&c->lock);
	return is_new;
}

/* ---- handles ---- */

static int set_string(CURL *easy, CURLoption option, const char *value)
{
	return !value || curl_easy_setopt(easy, option, value) == CURLE_OK ? 0 : -ENOMEM;
}

static int set_up(const struct clickhouse_client *c, CURL *easy)
{
	bool zstd = curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ZSTD;
	int r = set_string(easy, CURLOPT_CAINFO, c->ca_file);

	if (r == 0)
		r = set_string(easy, CURLOPT_SSLCERT, c->cert_file);
	if (r == 0)
		r = set_string(easy, CURLOPT_SSLKEY, c->key_file);
	if (r == 0)
		r = set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	if (r == 0)
		r = set_string(easy, CURLOPT_USERAGENT, "coroot-cluster-agent");
	/* servers prefer gzip if both are asked for, which costs them several times as much */
	if (r == 0)
		r = set_string(easy, CURLOPT_ACCEPT_ENCODING, zstd ? "zstd" : "gzip");
	if (r < 0)
		return r;
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, CA_CACHE_S);
	/*
	 * A resumed session is trusted for what its first handshake verified, and keeps our old
	 * certificate: after one of the files has changed, it would count for hours.
	 */
	curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, c->skip_verify ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, c->skip_verify ? 0L : 2L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	return 0;
}

static CURL *take_handle(struct clickhouse_client *c)
{
	CURL *easy = NULL;

	pthread_mutex_lock(&c->lock);
	if (c->n_idle > 0)
		easy = c->idle[--c->n_idle];
	pthread_mutex_unlock(&c->lock);
	if (easy)
		return easy;
	easy = curl_easy_init();
	if (easy && set_up(c, easy) < 0) {
		curl_easy_cleanup(easy);
		easy = NULL;
	}
	return easy;
}

static void put_handle(struct clickhouse_client *c, CURL *easy)
{
	pthread_mutex_lock(&c->lock);
	if (c->n_idle < MAX_IDLE_HANDLES) {
		c->idle[c->n_idle++] = easy;
		easy = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	if (easy)
		curl_easy_cleanup(easy);
}

/* ---- attempts ---- */

/* A statement on its way through the servers. */
struct run {
	struct clickhouse_client *c;
	const struct clickhouse_statement *st;
	CURL *easy;
	struct buf *out;
	uint64_t deadline_ns;
	struct clickhouse_failure failure;
};

static const atomic_bool *stop_flag(const struct clickhouse_client *c,
				    const struct clickhouse_statement *st)
{
	return st->cancellable ? &c->stopped : &c->ended;
}

/* Asks one server, again if a kept connection was closed or the password has changed. */
static int ask(struct run *run, int server, struct err *err)
{
	struct clickhouse_client *c = run->c;
	bool has_password = false, had_idle = false;
	uint64_t deadline_ns = clock_monotonic_ns() + run->st->attempt_timeout_ns;

	if (deadline_ns > run->deadline_ns)
		deadline_ns = run->deadline_ns;
	for (;;) {
		char *password = copy_password(c);
		struct clickhouse_transfer t = {
			.st = run->st,
			.base = c->servers.server[server].url,
			.user = c->user,
			.password = password,
			.inflate = clickhouse_servers_inflates(&c->servers, server),
			.deadline_ns = deadline_ns,
			.stop = stop_flag(c, run->st),
			.out = run->out,
		};
		size_t start = run->out ? run->out->len : 0;
		bool again = false;
		int r;

		if (!password)
			return err_set(err, -ENOMEM, "out of memory");
		r = clickhouse_transfer_run(&t, run->easy, err);
		run->failure = t.failure;
		if (r == -EREMOTEIO && t.failure.code == CLICKHOUSE_UNKNOWN_COMPRESSION_METHOD &&
		    run->st->n_frames > 0 && !t.inflate) {
			clickhouse_servers_set_inflates(&c->servers, server);
			again = true;
		} else if (r < 0 && t.failure.advice == CLICKHOUSE_DENIED && !has_password) {
			has_password = true;
			again = renew_password(c, password);
		} else if (r == -EAGAIN && t.was_idle && run->st->repeatable && !had_idle) {
			had_idle = true;
			again = true;
		}
		free_password(password);
		if (!again)
			return r;
		if (run->out)
			buf_truncate(run->out, start);
	}
}

static bool is_of_server(int r, const struct clickhouse_failure *f)
{
	if (r == -EAGAIN)
		return true;
	/* a server that was set up anew may lack the user that the others know */
	return r == -EREMOTEIO &&
	       (f->advice == CLICKHOUSE_ELSEWHERE ||
		(f->advice == CLICKHOUSE_DENIED && clickhouse_is_about_user(f->code)));
}

static int ask_all(struct run *run, struct err *err)
{
	struct clickhouse_servers *servers = &run->c->servers;
	size_t start = run->out ? run->out->len : 0;
	struct err why = {0};
	unsigned tried = 0;
	int r = -EAGAIN;

	for (;;) {
		int i = clickhouse_servers_pick(servers, tried, clock_monotonic_ns());

		if (i < 0)
			return r;
		if (run->out)
			buf_truncate(run->out, start);
		if (tried)
			log_warn_limited("trying the next ClickHouse server", "server=%s error=%s",
					 LOG_QUOTED(servers->server[i].url), LOG_QUOTED(why.msg));
		tried |= 1u << i;
		why = (struct err){0};
		r = ask(run, i, &why);
		if (r == -ECANCELED) /* which says nothing about the server */
			return err_set(err, r, "%s", why.msg);
		if (!is_of_server(r, &run->failure)) {
			clickhouse_servers_worked(servers, i);
		} else {
			clickhouse_servers_failed(servers, i, clock_monotonic_ns());
			/* the text of an exception remains the beginning */
			if (r == -EAGAIN)
				err_wrap(&why, r, "%s", servers->server[i].url);
		}
		if (err && r < 0)
			*err = why;
		if (!is_of_server(r, &run->failure) || !run->st->repeatable ||
		    clock_monotonic_ns() >= run->deadline_ns)
			return r;
	}
}

int clickhouse_client_run(struct clickhouse_client *c, const struct clickhouse_statement *st,
			  struct buf *out, struct clickhouse_failure *ret, struct err *err)
{
	struct run run = {
		.c = c,
		.st = st,
		.out = out,
		.deadline_ns = clock_monotonic_ns() + st->timeout_ns,
	};
	int r;

	if (atomic_load(stop_flag(c, st)))
		return err_set(err, -EPIPE, "shutting down");
	run.easy = take_handle(c);
	if (!run.easy)
		return err_set(err, -ENOMEM, "out of memory");
	r = ask_all(&run, err);
	put_handle(c, run.easy);
	if (ret)
		*ret = run.failure;
	return r;
}

void clickhouse_client_stop(struct clickhouse_client *c)
{
	atomic_store(&c->stopped, true);
}

void clickhouse_client_end(struct clickhouse_client *c)
{
	atomic_store(&c->ended, true);
}

/* ---- create and destroy ---- */

static int copy(char **ret, const char *s)
{
	*ret = s ? strdup(s) : NULL;
	return !s || *ret ? 0 : -ENOMEM;
}

static int copy_strings(struct clickhouse_client *c, const struct clickhouse_client_config *cfg)
{
	int r = copy(&c->user, cfg->user && cfg->user[0] ? cfg->user : "default");

	if (r < 0)
		return r;
	r = copy(&c->password_file, cfg->password_file);
	if (r < 0)
		return r;
	r = copy(&c->ca_file, cfg->ca_file);
	if (r < 0)
		return r;
	r = copy(&c->cert_file, cfg->cert_file);
	if (r < 0)
		return r;
	return copy(&c->key_file, cfg->key_file);
}

int clickhouse_client_new(struct clickhouse_client **ret,
			  const struct clickhouse_client_config *cfg, struct err *err)
{
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, -ENOMEM, "out of memory");
	c = calloc(1, sizeof(*c));
	if (!c) {
		curl_global_cleanup();
		return err_set(err, -ENOMEM, "out of memory");
	}
	pthread_mutex_init(&c->lock, NULL);
	clickhouse_servers_init(&c->servers, cfg->addresses, cfg->n_addresses);
	c->skip_verify = cfg->skip_verify;
	r = copy_strings(c, cfg);
	if (r < 0)
		return err_set(err, r, "out of memory");
	if (c->password_file)
		r = read_password(c->password_file, &c->password, err);
	else if (copy(&c->password, cfg->password ? cfg->password : "") < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0 || !c->password)
		return r < 0 ? r : -ENOMEM;
	if (!is_one_line(c->user) || !is_one_line(c->password))
		return err_set(err, -EINVAL,
			       "user and password of ClickHouse must be of one line each");
	*ret = TAKE_PTR(c);
	return 0;
}

void clickhouse_client_free(struct clickhouse_client *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_idle; i++)
		curl_easy_cleanup(c->idle[i]);
	free_password(c->password);
	free(c->user);
	free(c->password_file);
	free(c->ca_file);
	free(c->cert_file);
	free(c->key_file);
	clickhouse_servers_fini(&c->servers);
	pthread_mutex_destroy(&c->lock);
	free(c);
	curl_global_cleanup();
}
