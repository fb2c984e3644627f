#include "cluster-agent/ingest/clock_skews.h"

#include <errno.h>
#include <pthread.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "common/text/json_writer.h"
#include "common/text/utf8.h"

#define LOG_EVERY_NS (3600 * NS_PER_S)
#define UNKNOWN_HOST "unknown"

struct skewed_host {
	char name[CLOCK_SKEW_HOST_BYTES]; /* "": the entry is free */
	int64_t skew_ns;
	enum clock_skew_kind kind;
	uint64_t seen_ns;   /* monotonic */
	uint64_t logged_ns; /* monotonic; 0: never */
};

struct clock_skews {
	pthread_mutex_t lock;
	struct skewed_host hosts[CLOCK_SKEWS_MAX_HOSTS];
};

static const struct metric_def metric_defs[] = {
	{"coroot_cluster_agent_clock_skew_seconds", "host",
	 "How far a host's clock is ahead of this agent's, behind if negative; only of hosts whose "
	 "profiles of the last 10 min had to be corrected for it",
	 METRIC_GAUGE},
};
METRIC_TABLE(metric_table, metric_defs);

static int64_t to_seconds(int64_t ns)
{
	return ns / (int64_t)NS_PER_S;
}

void clock_skew_text(int64_t skew_ns, char ret[static CLOCK_SKEW_TEXT_BYTES])
{
	static const struct {
		uint64_t seconds;
		char letter;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}};
	uint64_t seconds = (uint64_t)llabs(to_seconds(skew_ns)), unit;
	size_t i = 0;

	/* about two of a unit at least, so that two hours are that a moment later, too */
	while (i + 1 < ARRAY_SIZE(units) && seconds + units[i].seconds / 20 < 2 * units[i].seconds)
		i++;
	unit = units[i].seconds;
	snprintf(ret, CLOCK_SKEW_TEXT_BYTES, "%llu%c %s",
		 (unsigned long long)((seconds + unit / 2) / unit), units[i].letter,
		 skew_ns < 0 ? "behind" : "ahead");
}

int clock_skews_new(struct clock_skews **ret)
{
	struct clock_skews *cs = calloc(1, sizeof(*cs));

	if (!cs)
		return -ENOMEM;
	pthread_mutex_init(&cs->lock, NULL);
	*ret = cs;
	return 0;
}

void clock_skews_free(struct clock_skews *cs)
{
	if (!cs)
		return;
	pthread_mutex_destroy(&cs->lock);
	free(cs);
}

static void copy_name(char ret[static CLOCK_SKEW_HOST_BYTES], struct row_text host)
{
	size_t len = host.len < CLOCK_SKEW_HOST_BYTES - 1 ? host.len : CLOCK_SKEW_HOST_BYTES - 1;

	if (len > 0)
		memcpy(ret, host.data, len);
	ret[utf8_make_printable(ret, len)] = '\0';
	if (!ret[0])
		snprintf(ret, CLOCK_SKEW_HOST_BYTES, "%s", UNKNOWN_HOST);
}

/* The host's entry, or the one that it takes; the lock is held. */
static struct skewed_host *find(struct clock_skews *cs, const char *name)
{
	struct skewed_host *oldest = &cs->hosts[0];

	for (size_t i = 0; i < CLOCK_SKEWS_MAX_HOSTS; i++) {
		struct skewed_host *h = &cs->hosts[i];

		if (strcmp(h->name, name) == 0)
			return h;
		if (h->seen_ns < oldest->seen_ns)
			oldest = h;
	}
	*oldest = (struct skewed_host){.name = ""};
	snprintf(oldest->name, sizeof(oldest->name), "%s", name);
	return oldest;
}

void clock_skews_note(struct clock_skews *cs, struct row_text host, int64_t skew_ns,
		      enum clock_skew_kind kind)
{
	char name[CLOCK_SKEW_HOST_BYTES], text[CLOCK_SKEW_TEXT_BYTES];
	uint64_t now_ns = clock_monotonic_ns();
	struct skewed_host *h;
	bool must_log;

	copy_name(name, host);
	pthread_mutex_lock(&cs->lock);
	h = find(cs, name);
	h->skew_ns = skew_ns;
	h->kind = kind;
	h->seen_ns = now_ns;
	must_log = h->logged_ns == 0 || now_ns - h->logged_ns >= LOG_EVERY_NS;
	if (must_log)
		h->logged_ns = now_ns;
	pthread_mutex_unlock(&cs->lock);
	if (!must_log)
		return;
	clock_skew_text(skew_ns, text);
	log_warn_limited("the clock of a host is wrong; placed its profiles by this agent's clock",
			 "host=%s skew=\"%s\" corrected_by=%s", LOG_QUOTED(name), text,
			 kind == CLOCK_SKEW_CORRECTED ? "sender" : "time_of_arrival");
}

static bool is_shown(const struct skewed_host *h, uint64_t now_ns)
{
	return h->name[0] && now_ns < h->seen_ns + CLOCK_SKEW_SHOWN_NS;
}

static int write_lines(void *ctx, size_t family, struct buf *out)
{
	struct clock_skews *cs = ctx;
	uint64_t now_ns = clock_monotonic_ns();
	int r = 0;

	pthread_mutex_lock(&cs->lock);
	for (size_t i = 0; r == 0 && i < CLOCK_SKEWS_MAX_HOSTS; i++) {
		const struct skewed_host *h = &cs->hosts[i];

		if (!is_shown(h, now_ns))
			continue;
		r = buf_addf(out, "%s{host=\"", metric_defs[family].name);
		if (r == 0)
			r = metrics_add_label_value(out, h->name);
		if (r == 0)
			r = buf_addf(out, "\"} %lld\n", (long long)to_seconds(h->skew_ns));
	}
	pthread_mutex_unlock(&cs->lock);
	return r;
}

int clock_skews_register(struct clock_skews *cs, struct metrics *ms)
{
	return metrics_register_families(ms, "", &metric_table, write_lines, cs);
}

static int by_skew(const void *a, const void *b)
{
	const struct skewed_host *x = a, *y = b;
	int64_t p = llabs(to_seconds(x->skew_ns)), q = llabs(to_seconds(y->skew_ns));

	return p != q ? (p < q) - (p > q) : strcmp(x->name, y->name);
}

/* Returns the number of hosts that are shown. */
static size_t list_hosts(struct clock_skews *cs, uint64_t now_ns, struct skewed_host *ret)
{
	size_t n = 0;

	pthread_mutex_lock(&cs->lock);
	for (size_t i = 0; i < CLOCK_SKEWS_MAX_HOSTS; i++)
		if (is_shown(&cs->hosts[i], now_ns))
			ret[n++] = cs->hosts[i];
	pthread_mutex_unlock(&cs->lock);
	qsort(ret, n, sizeof(*ret), by_skew);
	return n;
}

int clock_skews_json(struct clock_skews *cs, struct buf *out)
{
	uint64_t now_ns = clock_monotonic_ns(), real_ns = clock_realtime_ns();
	AUTO_FREE struct skewed_host *hosts = calloc(CLOCK_SKEWS_MAX_HOSTS, sizeof(*hosts));
	struct json_writer w;
	size_t n;

	if (!hosts)
		return -ENOMEM;
	n = list_hosts(cs, now_ns, hosts);
	json_writer_init(&w, out);
	json_open(&w, '{');
	json_key(&w, "hosts");
	json_open(&w, '[');
	for (size_t i = 0; i < n; i++) {
		json_open(&w, '{');
		json_member_text(&w, "host", hosts[i].name);
		json_key(&w, "skewSeconds");
		json_put_int(&w, to_seconds(hosts[i].skew_ns));
		json_key(&w, "corrected");
		json_put_bool(&w, hosts[i].kind == CLOCK_SKEW_CORRECTED);
		json_key(&w, "lastSeen");
		json_put_int(&w, (int64_t)((real_ns - (now_ns - hosts[i].seen_ns)) / NS_PER_MS));
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	return json_writer_finish(&w);
}
