/*
 * Counters of a container only ever grow, although its processes come and go: each process's
 * share holds the previous reading and adds the difference. Gauges are the sum over the
 * processes that are alive: a share holds what it last added and takes that back first.
 *
 * The alternative, to sum over all processes whenever metrics are scraped, would lose the
 * counters of processes that have exited, and would make a scrape wait for threads that read
 * processes.
 *
 * A thread that is abandoned in the middle of a reading keeps its shares and may still use
 * them, at any time. So shares are never taken away from it; each has the number of the
 * generation that it was made in, and runtime_containers_disown() begins a new one: shares of
 * earlier generations change nothing.
 */
#include "node-agent/runtime/runtime_containers.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <utlist.h>

#include "common/data/table.h"
#include "common/text/kube_names.h"
#include "node-agent/runtime/container_series.h"

struct container {
	UT_hash_handle hh;    /* by id */
	struct workload *raw; /* a reference; NULL: the name is final */
	bool is_pending;      /* a better name is being asked for */
	struct container_share *shares;
	size_t n_shares;
	uint64_t idle_since_ns; /* 0: it has not been seen idle */
	/* gauges: processes that have it; counters: not 0 if any process ever reported it */
	uint32_t n_known[CONTAINER_VALUES_MAX];
	uint64_t v[CONTAINER_VALUES_MAX];
	const char *app_id; /* after id */
	char id[];
};

struct container_share {
	struct container_share *prev, *next; /* of the same container; likewise */
	struct runtime_containers *containers;
	struct container *of; /* valid unless the share is disowned */
	uint64_t generation;
	uint32_t known; /* counters: reported before; gauges: added to the sum */
	uint64_t v[CONTAINER_VALUES_MAX];
	struct series_list series;
};

struct runtime_containers {
	struct runtime_containers_config cfg;
	pthread_mutex_t lock; /* of all that follows */
	struct container *table;
	uint64_t generation; /* of shares; those of earlier ones are disowned */
};

static bool is_gauge(const struct runtime_containers *cs, size_t value)
{
	return cs->cfg.values->defs[value].kind == METRIC_GAUGE;
}

/* ---- containers ---- */

static void drop(struct runtime_containers *cs, struct container *c)
{
	HASH_DEL(cs->table, c);
	workload_unref(c->raw);
	table_free(c);
	metric_set(cs->cfg.n_containers, HASH_COUNT(cs->table));
}

static int add_container(struct runtime_containers *cs, const struct container_labels *labels,
			 struct container **ret)
{
	size_t id_size = strlen(labels->container_id) + 1, app_size = strlen(labels->app_id) + 1;
	struct container *c = table_malloc(sizeof(*c) + id_size + app_size);

	if (!c)
		return -ENOMEM;
	*c = (struct container){0};
	memcpy(c->id, labels->container_id, id_size);
	memcpy(c->id + id_size, labels->app_id, app_size);
	c->app_id = c->id + id_size;
	HASH_ADD_STR(cs->table, id, c);
	if (!TABLE_ADDED(hh, c)) {
		table_free(c);
		return -ENOMEM;
	}
	c->raw = labels->raw ? workload_ref(labels->raw) : NULL;
	metric_set(cs->cfg.n_containers, HASH_COUNT(cs->table));
	*ret = c;
	return 0;
}

/* ---- names ---- */

struct container_labels container_labels_of(struct workload *w)
{
	return (struct container_labels){
		.container_id = w->container_id,
		.app_id = strcmp(w->service, w->container_id) != 0 ? w->service : "",
		.raw = w,
	};
}

/* Moves what c has counted, and its processes, to another container. */
static void merge(struct runtime_containers *cs, struct container *to, struct container *c)
{
	struct container_share *s;

	for (size_t i = 0; i < cs->cfg.values->n; i++) {
		to->v[i] += c->v[i];
		to->n_known[i] = is_gauge(cs, i) ? to->n_known[i] + c->n_known[i]
						 : to->n_known[i] | c->n_known[i];
	}
	DL_FOREACH (c->shares, s) {
		s->of = to;
	}
	DL_CONCAT(to->shares, c->shares);
	to->n_shares += c->n_shares;
	to->idle_since_ns = 0;
	/* the newer one is still being asked about */
	workload_unref(to->raw);
	to->raw = TAKE_PTR(c->raw);
	drop(cs, c);
}

static void rename_container(struct runtime_containers *cs, struct container *c)
{
	CLEANUP(workload_unrefp) struct workload *named = NULL;
	struct container_labels labels;
	struct container *to;
	int r = container_directory_name(cs->cfg.directory, c->raw, &named);
	bool has_name = strcmp(named->container_id, c->raw->container_id) != 0;

	c->is_pending = r == -EAGAIN && !has_name && strcmp(c->id, c->raw->container_id) == 0;
	labels = container_labels_of(named);
	labels.raw = c->raw;
	/* once it has a name, it keeps one */
	if (!has_name ||
	    (strcmp(labels.container_id, c->id) == 0 && strcmp(labels.app_id, c->app_id) == 0))
		return;
	HASH_FIND_STR(cs->table, labels.container_id, to);
	if (to == c) /* only the service is another */
		to = NULL;
	if (to || add_container(cs, &labels, &to) == 0)
		merge(cs, to, c);
}

/* What has no processes is not asked about: its source has forgotten it. */
static void rename_containers(struct runtime_containers *cs)
{
	struct container *c, *next;

	for (c = cs->table; c; c = next) {
		next = c->hh.next;
		if (c->raw && (c->n_shares > 0 || c->is_pending))
			rename_container(cs, c);
	}
}

/* ---- scrape ---- */

static int write_value(struct buf *out, const struct metric_def *def, uint64_t v)
{
	return def->scale != 0 ? buf_addf(out, "} %.15g\n", (double)v * def->scale)
			       : buf_addf(out, "} %" PRIu64 "\n", v);
}

/* labels: further ones, or "". */
static int write_line(struct buf *out, const struct metric_def *def, const struct container *c,
		      const char *labels, uint64_t v)
{
	int r = buf_addf(out, "%s{container_id=\"", def->name);

	if (r < 0)
		return r;
	r = metrics_add_label_value(out, c->id);
	if (r < 0)
		return r;
	r = buf_addf(out, "\",app_id=\"");
	if (r < 0)
		return r;
	r = metrics_add_label_value(out, c->app_id);
	if (r < 0)
		return r;
	r = buf_addf(out, "\"%s%s", *labels ? "," : "", labels);
	if (r < 0)
		return r;
	return write_value(out, def, v);
}

static int write_family(void *ctx, size_t family, struct buf *out)
{
	struct runtime_containers *cs = ctx;
	int r = 0;

	pthread_mutex_lock(&cs->lock);
	if (family == 0)
		rename_containers(cs);
	for (const struct container *c = cs->table; c && r == 0; c = c->hh.next) {
		if (c->n_known[family] > 0 && !c->is_pending)
			r = write_line(out, &cs->cfg.values->defs[family], c, "", c->v[family]);
	}
	pthread_mutex_unlock(&cs->lock);
	return r;
}

struct series_writer {
	struct buf *out;
	const struct metric_def *def;
	const struct container *c;
};

static int write_sum(void *ctx, const char *labels, uint64_t value)
{
	const struct series_writer *w = ctx;

	return write_line(w->out, w->def, w->c, labels, value);
}

static int write_series_of(const struct container *c, const struct metric_def *def, size_t family,
			   struct buf *out)
{
	struct series_writer w = {out, def, c};
	struct series_sums sums = {0};
	int r = 0;

	for (const struct container_share *s = c->shares; s && r == 0; s = s->next)
		r = series_sums_add(&sums, &s->series, (unsigned)family);
	if (r == 0)
		r = series_sums_each(&sums, write_sum, &w);
	series_sums_clear(&sums);
	return r;
}

static int write_series_family(void *ctx, size_t family, struct buf *out)
{
	struct runtime_containers *cs = ctx;
	int r = 0;

	pthread_mutex_lock(&cs->lock);
	/* a runtime without values has no other family that is written first */
	if (family == 0 && cs->cfg.values->n == 0)
		rename_containers(cs);
	for (const struct container *c = cs->table; c && r == 0; c = c->hh.next) {
		if (!c->is_pending)
			r = write_series_of(c, &cs->cfg.series->defs[family], family, out);
	}
	pthread_mutex_unlock(&cs->lock);
	return r;
}

/* ---- create and destroy ---- */

int runtime_containers_new(struct runtime_containers **ret, struct metrics *ms,
			   const struct runtime_containers_config *cfg)
{
	struct runtime_containers *cs;
	int r;

	if (cfg->values->n > CONTAINER_VALUES_MAX || (cfg->series && cfg->series->n > 32))
		return -EINVAL;
	cs = calloc(1, sizeof(*cs));
	if (!cs)
		return -ENOMEM;
	cs->cfg = *cfg;
	pthread_mutex_init(&cs->lock, NULL);
	r = metrics_register_families(ms, "", cfg->values, write_family, cs);
	if (r == 0 && cfg->series)
		r = metrics_register_families(ms, "", cfg->series, write_series_family, cs);
	if (r < 0) {
		runtime_containers_free(cs);
		return r;
	}
	*ret = cs;
	return 0;
}

void runtime_containers_free(struct runtime_containers *cs)
{
	struct container *c, *next;

	if (!cs)
		return;
	for (c = cs->table; c; c = next) {
		next = c->hh.next;
		drop(cs, c);
	}
	pthread_mutex_destroy(&cs->lock);
	free(cs);
}

void runtime_containers_expire(struct runtime_containers *cs, uint64_t now_ns)
{
	struct container *c, *next;

	pthread_mutex_lock(&cs->lock);
	for (c = cs->table; c; c = next) {
		next = c->hh.next;
		if (c->n_shares > 0)
			continue;
		if (c->idle_since_ns == 0)
			c->idle_since_ns = now_ns;
		else if (now_ns >= c->idle_since_ns + RUNTIME_CONTAINERS_IDLE_NS)
			drop(cs, c);
	}
	pthread_mutex_unlock(&cs->lock);
}

void runtime_containers_disown(struct runtime_containers *cs)
{
	pthread_mutex_lock(&cs->lock);
	cs->generation++;
	for (struct container *c = cs->table; c; c = c->hh.next) {
		c->n_shares = 0;
		c->shares = NULL;
		for (size_t i = 0; i < cs->cfg.values->n; i++) {
			if (!is_gauge(cs, i))
				continue;
			c->v[i] = 0;
			c->n_known[i] = 0;
		}
	}
	pthread_mutex_unlock(&cs->lock);
}

/* ---- one process ---- */

static int add_within_limit(struct runtime_containers *cs, const struct container_labels *labels,
			    struct container **ret)
{
	if (HASH_COUNT(cs->table) >= RUNTIME_CONTAINERS_MAX) {
		metric_add(cs->cfg.overflow, 1);
		return -ENOSPC;
	}
	return add_container(cs, labels, ret);
}

static int join(struct container_share *s, const struct container_labels *labels)
{
	struct runtime_containers *cs = s->containers;
	int r = 0;

	pthread_mutex_lock(&cs->lock);
	HASH_FIND_STR(cs->table, labels->container_id, s->of);
	if (!s->of)
		r = add_within_limit(cs, labels, &s->of);
	if (r == 0) {
		s->generation = cs->generation;
		s->of->n_shares++;
		DL_APPEND(s->of->shares, s);
		s->of->idle_since_ns = 0;
	}
	pthread_mutex_unlock(&cs->lock);
	return r;
}

int container_share_new(struct container_share **ret, struct runtime_containers *cs,
			const struct container_labels *labels, bool from_zero)
{
	struct container_share *s;
	int r;

	if (strlen(labels->container_id) >= KUBE_NAME_BYTES ||
	    strlen(labels->app_id) >= KUBE_NAME_BYTES)
		return -ENAMETOOLONG;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->containers = cs;
	if (from_zero)
		container_share_restart(s);
	r = join(s, labels);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* Under the lock. */
static bool is_disowned(const struct container_share *s)
{
	return s->generation != s->containers->generation;
}

static void take_back(struct container_share *s, size_t gauge)
{
	if (!(s->known >> gauge & 1))
		return;
	s->of->v[gauge] -= s->v[gauge];
	s->of->n_known[gauge]--;
	s->known &= ~(UINT32_C(1) << gauge);
}

void container_share_free(struct container_share *s)
{
	struct runtime_containers *cs = s ? s->containers : NULL;

	if (!s)
		return;
	pthread_mutex_lock(&cs->lock);
	for (size_t i = 0; i < cs->cfg.values->n && !is_disowned(s); i++) {
		if (is_gauge(cs, i))
			take_back(s, i);
	}
	if (!is_disowned(s)) {
		DL_DELETE(s->of->shares, s);
		s->of->n_shares--;
	}
	pthread_mutex_unlock(&cs->lock);
	series_list_clear(&s->series);
	free(s);
}

static void report_counter(struct container_share *s, size_t counter, uint64_t now)
{
	bool is_first = !(s->known >> counter & 1);

	s->of->n_known[counter] = 1;
	if (!is_first && now < s->v[counter]) {
		metric_add(s->containers->cfg.backwards, 1);
		return;
	}
	if (!is_first)
		s->of->v[counter] += now - s->v[counter];
	s->v[counter] = now;
	s->known |= UINT32_C(1) << counter;
}

static void report_gauge(struct container_share *s, size_t gauge, uint64_t now)
{
	s->of->v[gauge] += now;
	s->of->n_known[gauge]++;
	s->v[gauge] = now;
	s->known |= UINT32_C(1) << gauge;
}

void container_share_report(struct container_share *s, const struct container_values *values)
{
	struct runtime_containers *cs = s->containers;

	pthread_mutex_lock(&cs->lock);
	for (size_t i = 0; i < cs->cfg.values->n && !is_disowned(s); i++) {
		bool known = values->known >> i & 1, unread = values->unread >> i & 1;

		if (is_gauge(cs, i) && !unread)
			take_back(s, i);
		if (known && !is_gauge(cs, i))
			report_counter(s, i, values->v[i]);
		else if (known)
			report_gauge(s, i, values->v[i]);
	}
	pthread_mutex_unlock(&cs->lock);
}

void container_share_add(struct container_share *s, const struct container_values *increments)
{
	struct runtime_containers *cs = s->containers;

	pthread_mutex_lock(&cs->lock);
	for (size_t i = 0; i < cs->cfg.values->n && !is_disowned(s); i++) {
		if (!(increments->known >> i & 1))
			continue;
		s->of->n_known[i] = 1;
		s->of->v[i] += increments->v[i];
	}
	pthread_mutex_unlock(&cs->lock);
}

int container_share_series(struct container_share *s, uint32_t families,
			   const struct container_series *series, size_t n)
{
	int r;

	pthread_mutex_lock(&s->containers->lock);
	r = series_list_replace(&s->series, families, series, n);
	pthread_mutex_unlock(&s->containers->lock);
	return r;
}

void container_share_restart(struct container_share *s)
{
	for (size_t i = 0; i < s->containers->cfg.values->n; i++) {
		if (is_gauge(s->containers, i))
			continue;
		s->v[i] = 0;
		s->known |= UINT32_C(1) << i;
	}
}
