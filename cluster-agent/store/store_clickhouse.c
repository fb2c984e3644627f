/*
 * store.h on top of clickhouse_client.h: which statement, with which settings, and what its failure
 * means for the caller.
 *
 * The same exception means different things to the two. For an insert everything that is not the
 * rows' fault is -EAGAIN, because the rows are in a log and can wait for a person; only what
 * clickhouse_error.c calls refused or too large may end them. For a query somebody is waiting, so
 * only what passes by itself is -EAGAIN, and all else is shown.
 *
 * A thread prepares the database, because a server may return at any time and then be empty: it
 * runs until the tables are there, then sleeps until an insert reports that they are not.
 */
#include "cluster-agent/store/store_clickhouse.h"

#include <errno.h>
#include <stdatomic.h>

#include "cluster-agent/store/clickhouse_settings.h"
#include "cluster-agent/store/query_turns.h"
#include "cluster-agent/store/schema.h"
#include "cluster-agent/store/schema_text.h"
#include "cluster-agent/store/store_engine.h"
#include "common/http/backoff.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/condition.h"

#define INSERT_TIMEOUT_NS (120 * NS_PER_S)
#define INSERT_ATTEMPT_NS (60 * NS_PER_S)
/* the server ends a query by itself after STORE_QUERY_TIMEOUT_S, with an exception that says so */
#define QUERY_TIMEOUT_NS ((STORE_QUERY_TIMEOUT_S + 5) * NS_PER_S)
/* to add a column may wait for a merge */
#define SCHEMA_TIMEOUT_NS (240 * NS_PER_S)
#define PREPARE_MIN_NS NS_PER_S
#define PREPARE_MAX_NS (30 * NS_PER_S)
#define SAME_REASON_BYTES 60u /* of a sentence; what follows may have numbers */
#define EXCEPTION_BYTES ((size_t)64 * 1024)

struct store_clickhouse {
	struct store store;
	struct clickhouse_client *client;
	struct query_turns *turns; /* only counts: a transfer looks at its ticket itself */
	struct clickhouse_settings settings;
	char *database;
	char *wanted_cluster;
	char *storage_policy;
	char *move_volume;
	struct schema_config schema; /* of these texts; the preparer's */
	pthread_t preparer;
	bool has_preparer;
	/* written by the preparer before known is set, and constant from then on */
	struct schema_topology topology;
	atomic_bool known;
	pthread_mutex_t lock;     /* of what follows */
	struct condition changed; /* broadcast when any of it has */
	bool no_queries;          /* stop_queries() was called */
	bool ready;               /* the tables are there */
	struct err not_ready;     /* why they are not */
};

/* ---- statements ---- */

struct request {
	struct clickhouse_statement st;
	enum clickhouse_purpose purpose;
	const char *token; /* of an insert */
	struct clickhouse_setting settings[CLICKHOUSE_MAX_SETTINGS];
};

/*
 * Whether a server refuses one of the settings with a statement that has none of its own: then they
 * are left out from now on. What a query says about settings must not have that effect.
 */
static bool drop_refused_settings(struct store_clickhouse *s, const struct clickhouse_statement *of)
{
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_statement st = {
		.sql = "SELECT 1",
		.settings = of->settings,
		.n_settings = of->n_settings,
		.timeout_ns = of->timeout_ns,
		.attempt_timeout_ns = of->attempt_timeout_ns,
		.cancellable = of->cancellable,
		.repeatable = true,
	};
	struct clickhouse_failure failure;

	buf_init(&out, EXCEPTION_BYTES);
	return clickhouse_client_run(s->client, &st, &out, &failure, NULL) == -EREMOTEIO &&
	       failure.advice == CLICKHOUSE_SETTING && out.data &&
	       clickhouse_settings_refuse(&s->settings, out.data);
}

/*
 * Runs the statement with the settings for its purpose, without those that the server refuses. out
 * is not NULL.
 */
static int run(struct store_clickhouse *s, struct request *q, struct buf *out,
	       struct clickhouse_failure *ret, struct err *err)
{
	size_t start = out->len;

	q->st.settings = q->settings;
	/* each turn leaves out at least one setting */
	for (unsigned i = 0;; i++) {
		int r;

		q->st.n_settings =
			clickhouse_settings_get(&s->settings, q->purpose, q->token, q->settings);
		r = clickhouse_client_run(s->client, &q->st, out, ret, err);
		if (r != -EREMOTEIO || ret->advice != CLICKHOUSE_SETTING ||
		    i > CLICKHOUSE_MAX_SETTINGS || !drop_refused_settings(s, &q->st))
			return r;
		buf_truncate(out, start);
	}
}

/* ---- the database and its tables ---- */

static int run_statement(struct store_clickhouse *s, const char *database, const char *sql,
			 struct buf *out, struct clickhouse_failure *ret, struct err *err)
{
	CLEANUP(buf_fini) struct buf ignored;
	struct request request = {
		.purpose = CLICKHOUSE_FOR_SCHEMA,
		.st.sql = sql,
		.st.database = database,
		.st.format = "TSV",
		.st.timeout_ns = SCHEMA_TIMEOUT_NS,
		.st.attempt_timeout_ns = SCHEMA_TIMEOUT_NS,
		.st.cancellable = true,
	};

	buf_init(&ignored, EXCEPTION_BYTES);
	return run(s, &request, out ? out : &ignored, ret, err);
}

static int run_for_schema(void *ctx, const char *sql, struct buf *out, struct err *err)
{
	struct store_clickhouse *s = ctx;
	struct clickhouse_failure failure;

	return run_statement(s, s->database, sql, out, &failure, err);
}

static int run_without_database(void *ctx, const char *sql, struct buf *out, struct err *err)
{
	struct clickhouse_failure failure;

	return run_statement(ctx, NULL, sql, out, &failure, err);
}

/* Once is enough: a server does not join a cluster while it runs. */
static int learn_topology(struct store_clickhouse *s, struct err *err)
{
	int r;

	if (atomic_load(&s->known))
		return 0;
	r = schema_find_cluster(run_without_database, s, s->wanted_cluster, &s->topology, err);
	if (r < 0)
		return r;
	if (s->topology.cluster[0])
		s->store.cluster = s->topology.cluster;
	atomic_store(&s->known, true);
	return 0;
}

static int prepare(struct store_clickhouse *s, struct err *err)
{
	int r = learn_topology(s, err);

	if (r < 0)
		return r;
	r = schema_create_database(run_without_database, s, &s->topology, s->database, err);
	if (r < 0)
		return r;
	r = schema_apply(run_for_schema, s, &s->topology, &s->schema, err);
	if (r < 0)
		return r;
	s->schema.keep_ttl = true;
	return 0;
}

/* Waits until the tables are to be prepared. Returns false if the store is stopping. */
static bool wait_until_needed(struct store_clickhouse *s, uint64_t delay_ns)
{
	uint64_t end_ns = condition_deadline_ns(delay_ns);
	bool in_time = true, r;

	pthread_mutex_lock(&s->lock);
	while (!s->no_queries && (s->ready || (delay_ns > 0 && in_time)))
		in_time =
			condition_wait_until(&s->changed, &s->lock, s->ready ? UINT64_MAX : end_ns);
	r = !s->no_queries;
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* A new reason at once, the same one again once a minute. */
static void log_failure(struct err *last, const struct err *err)
{
	static const char msg[] = "cannot prepare the tables in ClickHouse yet; retrying";

	if (strncmp(last->msg, err->msg, SAME_REASON_BYTES) != 0)
		log_warn(msg, "error=%s", LOG_QUOTED(err->msg));
	else
		log_warn_limited(msg, "error=%s", LOG_QUOTED(err->msg));
	*last = *err;
}

static void *prepare_when_needed(void *ctx)
{
	struct backoff delays = {.min_ns = PREPARE_MIN_NS, .max_ns = PREPARE_MAX_NS};
	struct store_clickhouse *s = ctx;
	struct err last = {0};
	uint64_t delay_ns = 0;

	while (wait_until_needed(s, delay_ns)) {
		struct err err = {0};
		int r = prepare(s, &err);

		delay_ns = backoff_next_ns(&delays);
		pthread_mutex_lock(&s->lock);
		s->ready = r == 0;
		s->not_ready = err;
		pthread_mutex_unlock(&s->lock);
		if (r == 0) {
			backoff_reset(&delays);
			log_info("the tables are ready", "database=%s", s->database);
		} else if (r != -EPIPE) {
			log_failure(&last, &err);
		}
	}
	return NULL;
}

static bool is_ready(struct store_clickhouse *s, struct err *ret_why)
{
	bool r;

	pthread_mutex_lock(&s->lock);
	r = s->ready;
	*ret_why = s->not_ready;
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int not_yet(const struct err *why, struct err *err)
{
	return err_set(err, -EAGAIN, "%s",
		       why->msg[0] ? why->msg : "the tables are being prepared");
}

static void prepare_again(struct store_clickhouse *s, const struct err *why)
{
	pthread_mutex_lock(&s->lock);
	s->ready = false;
	if (why)
		s->not_ready = *why;
	condition_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* Whether the same statement may succeed in a while, without anybody's help. */
static bool passes(struct store_clickhouse *s, const struct clickhouse_failure *f)
{
	struct err why;

	switch (f->advice) {
	case CLICKHOUSE_ELSEWHERE:
		return true;
	case CLICKHOUSE_DENIED:
		return clickhouse_is_about_user(f->code);
	case CLICKHOUSE_SCHEMA:
		return !is_ready(s, &why);
	case CLICKHOUSE_BUSY:
		return clickhouse_is_overload(f->code);
	default:
		return false;
	}
}

/* ---- inserts ---- */

static int judge_insert(struct store_clickhouse *s, int r, const struct clickhouse_failure *f,
			const struct err *why)
{
	/* of our own making: bad frames are the rows' fault as well */
	if (r != -EREMOTEIO)
		return r == -EBADMSG ? -EREMOTEIO : r;
	switch (f->advice) {
	case CLICKHOUSE_REFUSED:
		return -EREMOTEIO;
	case CLICKHOUSE_TOO_LARGE:
		return -ENOMEM;
	case CLICKHOUSE_SCHEMA:
		prepare_again(s, why);
		return -EAGAIN;
	default:
		return -EAGAIN;
	}
}

static int clickhouse_insert(struct store *store, enum store_table table, const char *token,
			     const struct store_frame *frames, size_t n_frames, struct err *err)
{
	struct store_clickhouse *s = (struct store_clickhouse *)store;
	CLEANUP(buf_fini) struct buf answer;
	struct clickhouse_failure failure;
	struct err why;
	char sql[512];
	struct request request = {
		.purpose = CLICKHOUSE_FOR_INSERT,
		.token = token,
		.st.sql = sql,
		.st.database = s->database,
		.st.frames = frames,
		.st.n_frames = n_frames,
		.st.timeout_ns = INSERT_TIMEOUT_NS,
		.st.attempt_timeout_ns = INSERT_ATTEMPT_NS,
		.st.repeatable = true, /* by its token */
	};
	int r;

	buf_init(&answer, EXCEPTION_BYTES);
	if (!is_ready(s, &why))
		return not_yet(&why, err);
	snprintf(sql, sizeof(sql), "INSERT INTO %s %s FORMAT RowBinary",
		 schema_table_name(table, &s->topology), schema_columns(table, frames));
	why = (struct err){0};
	r = run(s, &request, &answer, &failure, &why);
	if (r == 0)
		return 0;
	if (err)
		*err = why;
	/* the others are as ready as before */
	if (store_table_is_optional(table) && r == -EREMOTEIO &&
	    failure.advice == CLICKHOUSE_SCHEMA)
		return r;
	return judge_insert(s, r, &failure, &why);
}

static int run_for_types(void *ctx, const char *sql, struct buf *out, struct err *err)
{
	struct store_clickhouse *s = ctx;
	CLEANUP(buf_fini) struct buf ignored;
	struct clickhouse_failure failure;
	struct request request = {
		.purpose = CLICKHOUSE_FOR_SCHEMA,
		.st.sql = sql,
		.st.database = s->database,
		.st.format = "TSV",
		.st.timeout_ns = INSERT_TIMEOUT_NS,
		.st.attempt_timeout_ns = INSERT_ATTEMPT_NS,
		.st.repeatable = true,
	};
	struct err why = {0};
	int r;

	buf_init(&ignored, EXCEPTION_BYTES);
	r = run(s, &request, out ? out : &ignored, &failure, &why);
	if (r < 0 && err)
		*err = why;
	return judge_insert(s, r, &failure, &why);
}

static int clickhouse_restore_types(struct store *store, int64_t from_ns, int64_t to_ns,
				    struct err *err)
{
	struct store_clickhouse *s = (struct store_clickhouse *)store;
	struct err why;

	if (!is_ready(s, &why))
		return not_yet(&why, err);
	return schema_restore_types(run_for_types, s, &s->topology, from_ns, to_ns, err);
}

static int clickhouse_maintain(struct store *store, const char *sql, struct buf *out,
			       struct err *err)
{
	struct store_clickhouse *s = (struct store_clickhouse *)store;
	CLEANUP(buf_fini) struct buf ignored;
	struct clickhouse_failure failure;
	struct err why;
	int r;

	buf_init(&ignored, EXCEPTION_BYTES);
	/* without its cluster, a statement would change this server alone */
	if (!atomic_load(&s->known) && !is_ready(s, &why))
		return not_yet(&why, err);
	r = run_statement(s, s->database, sql, out ? out : &ignored, &failure, err);
	return r == -EREMOTEIO && passes(s, &failure) ? -EAGAIN : r;
}

/* ---- queries ---- */

static int judge_query(struct store_clickhouse *s, int r, const struct clickhouse_failure *f,
		       bool is_ours, struct buf *out, size_t start)
{
	bool stopping;

	if (r != -EREMOTEIO)
		return r;
	pthread_mutex_lock(&s->lock);
	stopping = s->no_queries;
	pthread_mutex_unlock(&s->lock);
	if (stopping)
		r = -EPIPE;
	else if (passes(s, f))
		r = -EAGAIN;
	if (r == -EREMOTEIO && is_ours && f->advice == CLICKHOUSE_SCHEMA) {
		/* the drain asks before it inserts, so its inserts would not find it out */
		prepare_again(s, NULL);
		r = -EAGAIN;
	}
	if (r != -EREMOTEIO)
		buf_truncate(out, start);
	return r;
}

static int clickhouse_query(struct store *store, const struct store_query *q, struct buf *out,
			    struct err *err)
{
	struct store_clickhouse *s = (struct store_clickhouse *)store;
	struct clickhouse_failure failure;
	size_t start = out->len;
	struct err why;
	struct request request = {
		.purpose = q->lane == STORE_FOR_SQL ? CLICKHOUSE_FOR_SQL : CLICKHOUSE_FOR_QUERY,
		.st.sql = q->sql,
		.st.database = s->database,
		.st.format = q->format,
		.st.params = q->params,
		.st.n_params = q->n_params,
		.st.query_settings = q->settings,
		.st.n_query_settings = q->n_settings,
		.st.timeout_ns = QUERY_TIMEOUT_NS,
		.st.attempt_timeout_ns = QUERY_TIMEOUT_NS,
		.st.cancellable = true,
		.st.cancelled = q->ticket ? &q->ticket->cancelled : NULL,
		.st.repeatable = true,
	};
	unsigned slot;
	int r;

	/* until it is known, the SQL cannot name the right tables */
	if (!atomic_load(&s->known) && !is_ready(s, &why))
		return not_yet(&why, err);
	r = query_turns_take(s->turns, q->lane, q->ticket, QUERY_TIMEOUT_NS, &slot, err);
	if (r < 0)
		return r;
	r = run(s, &request, out, &failure, err);
	(void)query_turns_settle(s->turns, slot);
	query_turns_give(s->turns, slot);
	r = judge_query(s, r, &failure, q->lane == STORE_FOR_AGENT, out, start);
	return r == -EPIPE ? err_set(err, r, "shutting down") : r;
}

static int clickhouse_ping(struct store *store)
{
	struct err why;

	return is_ready((struct store_clickhouse *)store, &why) ? 0 : -EAGAIN;
}

static void clickhouse_stop_queries(struct store *store)
{
	struct store_clickhouse *s = (struct store_clickhouse *)store;

	clickhouse_client_stop(s->client);
	pthread_mutex_lock(&s->lock);
	s->no_queries = true;
	condition_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	query_turns_stop(s->turns, STORE_STOP_TIMEOUT_S * NS_PER_S);
}

static void clickhouse_cancel(struct store *store)
{
	struct store_clickhouse *s = (struct store_clickhouse *)store;

	query_turns_wake(s->turns);
}

static void clickhouse_stop_inserts(struct store *store)
{
	struct store_clickhouse *s = (struct store_clickhouse *)store;

	clickhouse_client_end(s->client);
}

/* ---- open and close ---- */

static int copy(char **ret, const char *text)
{
	*ret = text ? strdup(text) : NULL;
	return !text || *ret ? 0 : -ENOMEM;
}

static int copy_config(struct store_clickhouse *s, const struct store_clickhouse_config *cfg)
{
	int r = copy(&s->database, cfg->database);

	if (r == 0)
		r = copy(&s->wanted_cluster, cfg->cluster);
	if (r == 0)
		r = copy(&s->storage_policy, cfg->schema.storage_policy);
	if (r == 0)
		r = copy(&s->move_volume, cfg->schema.move_volume);
	s->schema = cfg->schema;
	s->schema.storage_policy = s->storage_policy;
	s->schema.move_volume = s->move_volume;
	return r;
}

static void clickhouse_free(struct store_clickhouse *s)
{
	if (!s)
		return;
	if (s->has_preparer) {
		clickhouse_stop_queries(&s->store);
		pthread_join(s->preparer, NULL);
	}
	clickhouse_client_free(s->client);
	query_turns_free(s->turns);
	free(s->database);
	free(s->wanted_cluster);
	free(s->storage_policy);
	free(s->move_volume);
	condition_fini(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
DEFINE_CLEANUP(struct store_clickhouse *, clickhouse_free);

static void clickhouse_close(struct store *store)
{
	clickhouse_free((struct store_clickhouse *)store);
}

static const struct store_engine clickhouse_engine = {
	.is_shared = true,
	.insert = clickhouse_insert,
	.restore_types = clickhouse_restore_types,
	.query = clickhouse_query,
	.cancel = clickhouse_cancel,
	.maintain = clickhouse_maintain,
	.ping = clickhouse_ping,
	.stop_queries = clickhouse_stop_queries,
	.stop_inserts = clickhouse_stop_inserts,
	.close = clickhouse_close,
};

int store_clickhouse_open(struct store **ret, const struct store_clickhouse_config *cfg,
			  struct err *err)
{
	CLEANUP(clickhouse_freep) struct store_clickhouse *s = NULL;
	const struct query_turns_config turns = {
		.n_slots = {[STORE_FOR_PAGE] = STORE_MAX_QUERIES,
			    [STORE_FOR_SQL] = STORE_MAX_QUERIES,
			    [STORE_FOR_AGENT] = STORE_MAX_AGENT_QUERIES},
		.wait_ns = STORE_QUERY_TIMEOUT_S * NS_PER_S,
	};
	int r;

	if (cfg->schema.ttl_ns < NS_PER_S)
		return err_set(err, -EINVAL, "profiles must be kept for at least a second");
	if (!schema_name_is_plain(cfg->database))
		return err_set(err, -EINVAL, "\"%.40s\" is not the name of a database",
			       cfg->database);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->store.engine = &clickhouse_engine;
	s->store.note_ttl_ns = cfg->schema.note_ttl_ns;
	pthread_mutex_init(&s->lock, NULL);
	condition_init(&s->changed);
	r = copy_config(s, cfg);
	if (r < 0)
		return err_set(err, r, "out of memory");
	r = query_turns_new(&s->turns, &turns);
	if (r < 0)
		return err_set(err, r, "out of memory");
	r = clickhouse_client_new(&s->client, &cfg->client, err);
	if (r < 0)
		return r;
	r = pthread_create(&s->preparer, NULL, prepare_when_needed, s);
	if (r != 0)
		return err_set(err, -EAGAIN, "start a thread: %s", strerror(r));
	s->has_preparer = true;
	*ret = &s->store;
	s = NULL; /* store_close() frees it */
	return 0;
}
