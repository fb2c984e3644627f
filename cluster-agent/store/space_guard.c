/*
 * Two queries say what there is: the disks, and the bytes of each day on each disk. Parts that are
 * no longer active wait for their deletion and count as free. After each day that is dropped the
 * rest is judged by what should be free then, as files are deleted later.
 *
 * A partition is taken for a day because of its number. Tables that somebody else has created with
 * other partitions stop the guard: the number of a month is below that of each of its days, so the
 * month would be dropped before them, with today in it.
 *
 * Samples go first: stacks without samples do no harm if the agent ends in between.
 */
#include "cluster-agent/store/space_guard.h"

#include <errno.h>
#include <inttypes.h>

#include "cluster-agent/store/space_plan.h"
#include "cluster-agent/store/store.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "common/text/parse.h"
#include "common/thread/worker_thread.h"

#define INTERVAL_NS (60 * NS_PER_S)
#define ANSWER_BYTES ((size_t)4 << 20)
#define MAX_DISKS 10000u
#define MAX_DAYS 100000u
#define TIMEOUT_EXCEEDED 159 /* ClickHouse's */
/* Servers refuse to drop a partition of 50 GB unless they are told that it is meant. */
#define LARGE_DAY_BYTES (UINT64_C(10) << 30)

enum {
	DROPPED_DAYS,
	DROPPED_BYTES,
	FAILED_CHECKS,
	DISK_USAGE,
	N_METRICS,
};

struct space_guard {
	struct store *store;
	unsigned max_usage_percent;
	uint64_t interval_ns;
	struct worker_thread *thread; /* NULL: not running */
	enum space_verdict verdict;   /* at the end of the last check */
	struct metric metrics[N_METRICS];
};

static const struct metric_def metric_defs[N_METRICS] = {
	[DROPPED_DAYS] = {"coroot_cluster_agent_space_dropped_days_total", NULL,
			  "Days of profiles dropped because a disk of the store was too full"},
	[DROPPED_BYTES] = {"coroot_cluster_agent_space_dropped_bytes_total", NULL,
			   "Bytes on disk of the days that were dropped"},
	[FAILED_CHECKS] = {"coroot_cluster_agent_space_failed_checks_total", NULL,
			   "Checks of the store's disks that failed"},
	[DISK_USAGE] = {"coroot_cluster_agent_space_disk_usage_percent", NULL,
			"Used part of the fullest local disk of the store at the last check",
			METRIC_GAUGE},
};
METRIC_TABLE(metric_table, metric_defs);

/* ---- reading what there is ---- */

static const char *const tables[] = {"profiling_samples", "profiling_quality", "profiling_profiles",
				     "profiling_stacks"};
#define TABLES "'profiling_samples', 'profiling_quality', 'profiling_profiles', 'profiling_stacks'"

struct look {
	struct space_state state;
	char database[SPACE_NAME_BYTES];
};

static void look_fini(struct look *l)
{
	free(l->state.disks);
	free(l->state.days);
}

/* Takes the next field of TSV. False if it does not fit: names that need escapes are not ours. */
static bool take_text(const char **at, char *ret, size_t size)
{
	size_t len = strcspn(*at, "\t\n");

	if (len >= size)
		return false;
	memcpy(ret, *at, len);
	ret[len] = '\0';
	*at += len;
	*at += **at != '\0';
	return true;
}

static bool take_u64(const char **at, uint64_t *ret)
{
	char text[24];

	return take_text(at, text, sizeof(text)) &&
	       parse_u64(text, strlen(text), 0, UINT64_MAX, ret) == 0;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

/* FROM system.<table>, of all servers; "" for host() on a single one. */
static int add_source(struct buf *sql, const struct space_guard *g, const char *table)
{
	const char *cluster = store_cluster(g->store);

	if (!cluster)
		return buf_addf(sql, " FROM system.%s", table);
	return buf_addf(sql, " FROM clusterAllReplicas('%s', system.%s)", cluster, table);
}

static int add_settings(struct buf *sql, const struct space_guard *g)
{
	return store_cluster(g->store) ? buf_addf(sql, " SETTINGS skip_unavailable_shards = 1") : 0;
}

static const char *host_column(const struct space_guard *g)
{
	return store_cluster(g->store) ? "hostName()" : "''";
}

static int read_disks(struct space_guard *g, struct look *l, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	CLEANUP(buf_fini) struct buf answer;
	size_t max;
	int r;

	buf_init(&sql, 4096);
	buf_init(&answer, ANSWER_BYTES);
	r = buf_addf(&sql,
		     "SELECT %s AS host, name, total_space, free_space, toYYYYMMDD(now()), "
		     "currentDatabase()",
		     host_column(g));
	if (r == 0)
		r = add_source(&sql, g, "disks");
	if (r == 0)
		r = buf_addf(&sql, " WHERE lower(type) = 'local' AND total_space > 0 "
				   "ORDER BY host, name");
	if (r == 0)
		r = add_settings(&sql, g);
	if (r == 0)
		r = store_maintain(g->store, sql.data, &answer, err);
	if (r < 0 || answer.len == 0)
		return r;
	max = count_lines(answer.data);
	if (max > MAX_DISKS)
		return err_set(err, -E2BIG, "more than %u disks", MAX_DISKS);
	l->state.disks = calloc(max + 1, sizeof(*l->state.disks));
	if (!l->state.disks)
		return -ENOMEM;
	for (const char *at = answer.data; *at && l->state.n_disks < max; l->state.n_disks++) {
		struct space_disk *d = &l->state.disks[l->state.n_disks];
		uint64_t today;

		if (!take_text(&at, d->host, sizeof(d->host)) ||
		    !take_text(&at, d->name, sizeof(d->name)) || !take_u64(&at, &d->total_bytes) ||
		    !take_u64(&at, &d->free_bytes) || !take_u64(&at, &today) ||
		    !take_text(&at, l->database, sizeof(l->database)))
			return err_set(err, -EBADMSG, "unexpected answer about disks");
		l->state.today = (uint32_t)today;
	}
	return 0;
}

static size_t find_disk(const struct look *l, const char *host, const char *name)
{
	size_t i = 0;

	while (i < l->state.n_disks && (strcmp(l->state.disks[i].host, host) != 0 ||
					strcmp(l->state.disks[i].name, name) != 0))
		i++;
	return i;
}

/* Day 0 are the parts that wait for their deletion. */
static int read_day(struct look *l, const char **at)
{
	char host[SPACE_NAME_BYTES], name[SPACE_NAME_BYTES];
	uint64_t day, bytes;
	size_t disk;

	if (!take_text(at, host, sizeof(host)) || !take_text(at, name, sizeof(name)) ||
	    !take_u64(at, &day) || !take_u64(at, &bytes))
		return -EBADMSG;
	disk = find_disk(l, host, name);
	if (disk == l->state.n_disks)
		return 0;
	if (day == 0)
		l->state.disks[disk].free_bytes += bytes;
	else
		l->state.days[l->state.n_days++] =
			(struct space_day){.disk = disk, .day = (uint32_t)day, .bytes = bytes};
	return 0;
}

static int read_days(struct space_guard *g, struct look *l, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	CLEANUP(buf_fini) struct buf answer;
	size_t max;
	int r;

	buf_init(&sql, 4096);
	buf_init(&answer, ANSWER_BYTES);
	r = buf_addf(&sql,
		     "SELECT %s AS host, disk_name, if(active, toUInt32OrZero(partition_id), 0) "
		     "AS day, sum(bytes_on_disk)",
		     host_column(g));
	if (r == 0)
		r = add_source(&sql, g, "parts");
	if (r == 0)
		r = buf_addf(&sql,
			     " WHERE database = '%s' AND table IN (" TABLES ") "
			     "GROUP BY host, disk_name, day ORDER BY host, disk_name, day",
			     l->database);
	if (r == 0)
		r = add_settings(&sql, g);
	if (r == 0)
		r = store_maintain(g->store, sql.data, &answer, err);
	if (r < 0 || answer.len == 0)
		return r;
	max = count_lines(answer.data);
	if (max > MAX_DAYS)
		return err_set(err, -E2BIG, "more than %u days on all disks", MAX_DAYS);
	l->state.days = calloc(max + 1, sizeof(*l->state.days));
	if (!l->state.days)
		return -ENOMEM;
	for (const char *at = answer.data; *at && r == 0 && l->state.n_days < max;)
		r = read_day(l, &at);
	return r < 0 ? err_set(err, r, "unexpected answer about parts") : 0;
}

static int check_partitions(struct space_guard *g, struct err *err)
{
	/* the embedded engine lists tables as they were when it started, so parts are asked, too */
	static const char sql[] = "SELECT name FROM (SELECT name FROM system.tables "
				  "WHERE database = currentDatabase() AND name IN (" TABLES ") "
				  "AND NOT startsWith(partition_key, 'toDate(') "
				  "UNION ALL SELECT table AS name FROM system.parts "
				  "WHERE database = currentDatabase() AND table IN (" TABLES ") "
				  "AND active AND length(partition_id) != 8) ORDER BY name LIMIT 1";
	CLEANUP(buf_fini) struct buf answer;
	int r;

	buf_init(&answer, ANSWER_BYTES);
	r = store_maintain(g->store, sql, &answer, err);
	if (r < 0 || answer.len == 0)
		return r;
	return err_set(err, -EINVAL, "the partitions of %.*s are no days; nothing can be dropped",
		       (int)strcspn(answer.data, "\n"), answer.data);
}

/* ---- dropping ---- */

static int drop_day(struct space_guard *g, uint32_t day, uint64_t bytes, struct err *err)
{
	const char *cluster = store_cluster(g->store);
	char sql[512], on_cluster[SPACE_NAME_BYTES + 16] = "";
	int r = 0;

	if (cluster)
		snprintf(on_cluster, sizeof(on_cluster), " ON CLUSTER `%s`", cluster);
	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++) {
		snprintf(sql, sizeof(sql), "ALTER TABLE %s%s DROP PARTITION ID '%" PRIu32 "'%s",
			 tables[i], on_cluster, day,
			 bytes > LARGE_DAY_BYTES ? " SETTINGS max_partition_size_to_drop = 0" : "");
		r = store_maintain(g->store, sql, NULL, err);
		/* a server is down: it is not in the plan, and drops the day when it returns */
		if (r == -EREMOTEIO && cluster &&
		    store_exception_code(err->msg, strlen(err->msg)) == TIMEOUT_EXCEEDED)
			r = 0;
	}
	return r;
}

static void set_usage(struct space_guard *g, const struct look *l)
{
	unsigned fullest = 0;

	for (size_t i = 0; i < l->state.n_disks; i++) {
		unsigned percent = space_usage_percent(&l->state.disks[i]);

		fullest = percent > fullest ? percent : fullest;
	}
	atomic_store(&g->metrics[DISK_USAGE].value, fullest);
}

/* Says so once, until it changes: a disk may be full for weeks. */
static void report_verdict(struct space_guard *g, const struct look *l, enum space_verdict verdict,
			   const struct space_choice *c)
{
	const struct space_disk *d = l->state.disks + c->disk;

	if (verdict == g->verdict)
		return;
	g->verdict = verdict;
	if (verdict == SPACE_OTHERS)
		log_warn("disk is full of other data, so no profiles are dropped",
			 "disk=%s host=%s usage=%u%% max=%u%%", d->name, d->host, c->usage_percent,
			 g->max_usage_percent);
	if (verdict == SPACE_NONE)
		log_warn("disk is too full, and only the newest day of profiles is left",
			 "disk=%s host=%s usage=%u%% max=%u%%", d->name, d->host, c->usage_percent,
			 g->max_usage_percent);
}

static int relieve(struct space_guard *g, struct look *l, struct err *err)
{
	struct space_choice c = {0};
	enum space_verdict verdict;
	int n = 0;

	while ((verdict = space_plan(&l->state, &c)) == SPACE_DROP) {
		const struct space_disk *d = &l->state.disks[c.disk];
		int r = drop_day(g, c.day, c.bytes, err);

		if (r < 0)
			return err_wrap(err, r, "drop the profiles of %" PRIu32, c.day);
		metric_add(&g->metrics[DROPPED_DAYS], 1);
		metric_add(&g->metrics[DROPPED_BYTES], c.bytes);
		log_warn("dropped the oldest day of profiles: the disk is too full",
			 "day=%" PRIu32 " bytes=%" PRIu64 " disk=%s host=%s usage=%u%% max=%u%%",
			 c.day, c.bytes, d->name, d->host, c.usage_percent, g->max_usage_percent);
		n++;
	}
	report_verdict(g, l, verdict, &c);
	return n;
}

int space_guard_check(struct space_guard *g, struct err *err)
{
	CLEANUP(look_fini) struct look l = {.state.max_usage_percent = g->max_usage_percent};
	int r = check_partitions(g, err);

	if (r == 0)
		r = read_disks(g, &l, err);
	if (r == 0)
		r = read_days(g, &l, err);
	if (r < 0)
		return err_wrap(err, r, "check the store's disks");
	set_usage(g, &l);
	return relieve(g, &l, err);
}

/* ---- the thread ---- */

static void run(void *ctx, struct worker_thread *t)
{
	struct space_guard *g = ctx;

	while (!worker_thread_must_end(t)) {
		struct err err = {0};
		int r = space_guard_check(g, &err);

		if (r < 0)
			metric_add(&g->metrics[FAILED_CHECKS], 1);
		/* that a server does not answer is the store's to report */
		if (r < 0 && r != -EAGAIN && r != -EPIPE)
			log_warn_limited("check of the store's disks failed, retrying", "reason=%s",
					 LOG_QUOTED(err.msg));
		worker_thread_wait(t, g->interval_ns);
	}
}

int space_guard_new(struct space_guard **ret, const struct space_guard_config *cfg)
{
	struct space_guard *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->store = cfg->store;
	g->max_usage_percent = cfg->max_usage_percent;
	g->interval_ns = cfg->interval_ns ? cfg->interval_ns : INTERVAL_NS;
	*ret = g;
	return 0;
}

int space_guard_register(struct space_guard *g, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, g->metrics, NULL);
}

int space_guard_start(struct space_guard *g)
{
	const struct worker_thread_config cfg = {.name = "space", .run = run, .ctx = g};

	return worker_thread_start(&g->thread, &cfg);
}

void space_guard_stop(struct space_guard *g)
{
	if (!g || !g->thread)
		return;
	worker_thread_join(g->thread, UINT64_MAX);
	g->thread = NULL;
}

void space_guard_free(struct space_guard *g)
{
	space_guard_stop(g);
	free(g);
}
