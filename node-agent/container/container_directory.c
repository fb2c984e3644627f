/*
 * The table has one lock, which is held for lookups and for passes over it, and never while a
 * source or a listener is called. Any thread may add an entry; only the loop thread removes
 * any, so that it may use them without the lock between two passes.
 *
 * A lookup of a new id queues it and wakes the loop, which collects for batch_ns and then asks
 * (run()). Passes go over the whole table; they happen once per batch, answer and pause, and
 * take a fraction of a millisecond for thousands of containers.
 *
 * Sources answer by found(), for ids that were asked for and others, and end a request by
 * done(). A source that never ends one, against its contract, is taken for failed after
 * hang_ns and not asked again until it does.
 */
#include "node-agent/container/container_directory.h"

#include <errno.h>
#include <pthread.h>

#include "common/system/clock.h"
#include "node-agent/container/container_entry.h"
#include "node-agent/container/directory_source.h"

#define BATCH_NS (50 * NS_PER_MS)
#define ASK_MAX 1024u
#define HANG_NS (15 * NS_PER_S)
#define SWEEPS_PER_IDLE 10
#define IDLE_NS (600 * NS_PER_S)

enum {
	METRIC_CONTAINERS,
	METRIC_PENDING,
	METRIC_UNNAMED,
	METRIC_EVICTED,
	METRIC_OVERFLOW,
	METRIC_MAX,
};

/* ---- metrics ---- */

static uint64_t count_containers(void *ctx);
static uint64_t count_pending(void *ctx);
static uint64_t count_unnamed(void *ctx);

#define PREFIX "coroot_node_agent_"

static const struct metric_def metric_defs[METRIC_MAX] = {
	[METRIC_CONTAINERS] = {PREFIX "containers", NULL, "Containers in the directory of names",
			       METRIC_GAUGE, .read = count_containers},
	[METRIC_PENDING] = {PREFIX "container_names_pending", NULL,
			    "Containers whose names are being asked for", METRIC_GAUGE,
			    .read = count_pending},
	[METRIC_UNNAMED] = {PREFIX "containers_unnamed", NULL,
			    "Containers known by nothing but their ids: no source has answered",
			    METRIC_GAUGE, .read = count_unnamed},
	[METRIC_EVICTED] = {PREFIX "containers_evicted_total", NULL,
			    "Containers dropped because nothing was seen of them for ten minutes"},
	[METRIC_OVERFLOW] =
		{PREFIX "containers_overflow_total", NULL,
		 "Containers that found no room in the directory: those that are looked "
		 "up keep their ids"},
};
METRIC_TABLE(metric_table, metric_defs);

struct container_directory {
	struct loop_source *wake;
	struct loop_source *timer;
	uint64_t timer_ns; /* when it fires; UINT64_MAX: never */
	uint64_t sweep_ns;
	uint64_t batch_ns;
	uint64_t hang_ns;
	uint64_t idle_ns;
	size_t max;
	char *node;
	struct container_listener *listeners;
	const char *ids[ASK_MAX]; /* of the request being made */
	const char *pod_uids[ASK_MAX];
	struct metric metrics[METRIC_MAX];

	pthread_mutex_t lock; /* of all that follows */
	struct container_entry *table;
	enum kube_naming naming;
	bool is_woken; /* the loop knows that ids are queued */
	struct directory_sources sources;
};

/* ---- under the lock ---- */

static void begin_round(struct container_directory *d, struct container_entry *e, uint64_t now_ns)
{
	struct round_sources round = {0};

	for (unsigned i = 0; i < d->sources.n; i++) {
		const struct directory_source *s = d->sources.at[i];

		if (!s->source || !(s->cfg.kinds & CONTAINER_KIND(e->raw->kind)))
			continue;
		if (s->not_before_ns <= now_ns && !s->is_overdue)
			round.available |= directory_source_bit(s);
		else if (directory_source_is_dispensable(s, now_ns))
			round.absent |= directory_source_bit(s);
		else
			round.failing |= directory_source_bit(s);
	}
	container_entry_begin_round(e, &round);
}

/* Returns NULL if there is no room or memory. */
static struct container_entry *add_entry(struct container_directory *d, const char *id, size_t max)
{
	struct container_entry *e;

	if (HASH_COUNT(d->table) >= max) {
		metric_add(&d->metrics[METRIC_OVERFLOW], 1);
		return NULL;
	}
	e = container_entry_new(id);
	if (!e)
		return NULL;
	HASH_ADD_STR(d->table, id, e);
	if (!TABLE_ADDED(hh, e)) {
		container_entry_free(e);
		return NULL;
	}
	return e;
}

static struct workload *name_of(struct container_directory *d, struct container_entry *e)
{
	const struct container_name_rules rules = {
		.naming = d->naming,
		.node = d->node,
		.now_s = (int64_t)(clock_realtime_ns() / NS_PER_S),
	};

	return workload_ref(container_entry_name(e, &rules));
}

static uint64_t count_containers(void *ctx)
{
	struct container_directory *d = ctx;
	uint64_t n;

	pthread_mutex_lock(&d->lock);
	n = HASH_COUNT(d->table);
	pthread_mutex_unlock(&d->lock);
	return n;
}

static uint64_t count_pending(void *ctx)
{
	struct container_directory *d = ctx;
	uint64_t n = 0;

	pthread_mutex_lock(&d->lock);
	for (const struct container_entry *e = d->table; e; e = e->hh.next)
		n += e->raw && !e->settled;
	pthread_mutex_unlock(&d->lock);
	return n;
}

static uint64_t count_unnamed(void *ctx)
{
	struct container_directory *d = ctx;
	uint64_t n = 0;

	pthread_mutex_lock(&d->lock);
	for (const struct container_entry *e = d->table; e; e = e->hh.next)
		n += e->settled && !container_entry_has_name(e);
	pthread_mutex_unlock(&d->lock);
	return n;
}

int container_directory_register_metrics(struct container_directory *d, struct metrics *ms)
{
	int r = metrics_register(ms, &metric_table, d->metrics, d);

	return r == 0 ? directory_sources_register_metrics(&d->sources, ms) : r;
}

/* ---- lookups ---- */

int container_directory_name(struct container_directory *d, struct workload *raw,
			     struct workload **ret)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct container_entry *e;
	bool wake = false;
	int r = 0;

	if (!d || !container_kind_has_names(raw->kind) || !raw->runtime_id[0]) {
		*ret = workload_ref(raw);
		return 0;
	}
	pthread_mutex_lock(&d->lock);
	HASH_FIND_STR(d->table, raw->runtime_id, e);
	if (!e)
		e = add_entry(d, raw->runtime_id, d->max);
	if (e)
		e->used_ns = now_ns;
	if (e && !e->raw) {
		e->raw = workload_ref(raw);
		begin_round(d, e, now_ns);
		if (e->queued == 0)
			(void)container_entry_end_round(e, now_ns);
		e->settled |= container_entry_is_complete(e);
		wake = !d->is_woken;
		d->is_woken = true;
	}
	*ret = e ? name_of(d, e) : workload_ref(raw);
	if (e && !e->settled)
		r = -EAGAIN;
	pthread_mutex_unlock(&d->lock);
	if (wake)
		loop_wake(d->wake);
	return r;
}

/* ---- listeners ---- */

static void notify(struct container_directory *d, struct container_entry *e)
{
	struct workload *w;

	pthread_mutex_lock(&d->lock);
	w = name_of(d, e);
	pthread_mutex_unlock(&d->lock);
	for (struct container_listener *l = d->listeners; l; l = l->next)
		l->on_name(l->ctx, w);
	workload_unref(w);
}

/* Only the loop thread removes entries, so the list is valid without the lock. */
static void notify_all(struct container_directory *d, struct container_entry *changed)
{
	while (changed) {
		struct container_entry *e = changed;

		changed = e->next_changed;
		e->next_changed = NULL;
		notify(d, e);
	}
}

static void end_round(struct container_entry *e, uint64_t now_ns, struct container_entry **changed)
{
	if (!container_entry_end_round(e, now_ns))
		return;
	e->next_changed = *changed;
	*changed = e;
}

/* ---- asking ---- */

static void arm(struct container_directory *d, uint64_t at_ns, uint64_t now_ns)
{
	if (at_ns >= d->timer_ns)
		return;
	d->timer_ns = at_ns;
	loop_set_timer(d->timer, at_ns > now_ns ? at_ns - now_ns : 0);
}

/* Under the lock. */
static void end_asking(struct directory_source *s, int error, uint64_t now_ns,
		       struct container_entry **changed)
{
	bool has_recovered = error == 0 && directory_source_answered(s);
	bool matters;

	if (error < 0)
		directory_source_failed(s, error, now_ns);
	matters = error < 0 && error != -ENOENT && !directory_source_is_dispensable(s, now_ns);
	for (struct container_entry *e = s->d->table; e; e = e->hh.next) {
		bool is_concerned =
			(e->asked | (error < 0 ? e->queued : 0)) & directory_source_bit(s);

		e->asked &= ~directory_source_bit(s);
		if (error < 0)
			e->queued &= ~directory_source_bit(s);
		if (is_concerned) {
			e->failed |= matters;
			if ((e->asked | e->queued) == 0)
				end_round(e, now_ns, changed);
		}
		if (has_recovered && e->raw && !container_entry_is_complete(e))
			e->next_round_ns = now_ns;
	}
}

static void on_done(void *ctx, int error)
{
	struct directory_source *s = ctx;
	struct container_directory *d = s->d;
	struct container_entry *changed = NULL;
	uint64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&d->lock);
	metric_add(&s->request_ns, now_ns - s->asked_ns);
	s->is_asking = false;
	s->is_overdue = false;
	end_asking(s, error, now_ns, &changed);
	pthread_mutex_unlock(&d->lock);
	notify_all(d, changed);
	arm(d, now_ns, now_ns);
}

static size_t collect_ids(struct directory_source *s)
{
	struct container_directory *d = s->d;
	size_t n = 0;

	for (struct container_entry *e = d->table; e && n < ASK_MAX; e = e->hh.next) {
		if (!(e->queued & directory_source_bit(s)))
			continue;
		e->queued &= ~directory_source_bit(s);
		e->asked |= directory_source_bit(s);
		d->pod_uids[n] = e->raw ? e->raw->pod_uid : "";
		d->ids[n++] = e->id;
	}
	return n;
}

static void ask(struct directory_source *s, uint64_t now_ns)
{
	struct container_directory *d = s->d;
	size_t n;
	int r;

	if (s->is_asking || !s->source)
		return;
	pthread_mutex_lock(&d->lock);
	n = collect_ids(s);
	pthread_mutex_unlock(&d->lock);
	if (n == 0)
		return;
	metric_add(&s->n_requests, 1);
	s->is_asking = true;
	s->asked_ns = now_ns;
	r = s->cfg.ops->ask(s->source, &(struct container_question){d->ids, d->pod_uids, n},
			    on_done, s);
	if (r < 0)
		on_done(s, r);
}

static void sweep(struct container_directory *d, uint64_t now_ns)
{
	struct container_entry *e, *next;

	for (e = d->table; e; e = next) {
		next = e->hh.next;
		if ((e->asked | e->queued) != 0 || now_ns < e->used_ns + d->idle_ns)
			continue;
		HASH_DEL(d->table, e);
		container_entry_free(e);
		metric_add(&d->metrics[METRIC_EVICTED], 1);
	}
}

/* Under the lock. Returns when there is something to do next. */
static uint64_t begin_rounds(struct container_directory *d, uint64_t now_ns,
			     struct container_entry **changed)
{
	uint64_t next_ns = d->sweep_ns;

	d->is_woken = false;
	for (struct container_entry *e = d->table; e; e = e->hh.next) {
		if (e->next_round_ns <= now_ns) {
			begin_round(d, e, now_ns);
			if ((e->asked | e->queued) == 0)
				end_round(e, now_ns, changed);
		}
		if (e->next_round_ns < next_ns)
			next_ns = e->next_round_ns;
	}
	return next_ns;
}

static uint64_t give_up_overdue(struct container_directory *d, uint64_t now_ns, uint64_t next_ns,
				struct container_entry **changed)
{
	for (unsigned i = 0; i < d->sources.n; i++) {
		struct directory_source *s = d->sources.at[i];

		if (!s->is_asking || s->is_overdue)
			continue;
		if (now_ns >= s->asked_ns + d->hang_ns) {
			s->is_overdue = true;
			end_asking(s, -ETIMEDOUT, now_ns, changed);
		} else if (s->asked_ns + d->hang_ns < next_ns) {
			next_ns = s->asked_ns + d->hang_ns;
		}
	}
	return next_ns;
}

static void run(void *ctx)
{
	struct container_directory *d = ctx;
	struct container_entry *changed = NULL;
	uint64_t now_ns = clock_monotonic_ns(), next_ns;

	d->timer_ns = UINT64_MAX;
	pthread_mutex_lock(&d->lock);
	if (now_ns >= d->sweep_ns) {
		sweep(d, now_ns);
		d->sweep_ns = now_ns + d->idle_ns / SWEEPS_PER_IDLE;
	}
	next_ns = begin_rounds(d, now_ns, &changed);
	pthread_mutex_unlock(&d->lock);
	notify_all(d, changed);

	for (unsigned i = 0; i < d->sources.n; i++)
		ask(d->sources.at[i], now_ns);

	changed = NULL;
	pthread_mutex_lock(&d->lock);
	next_ns = give_up_overdue(d, now_ns, next_ns, &changed);
	pthread_mutex_unlock(&d->lock);
	notify_all(d, changed);
	arm(d, next_ns, now_ns);
}

static void on_wake(void *ctx)
{
	struct container_directory *d = ctx;
	uint64_t now_ns = clock_monotonic_ns();

	arm(d, now_ns + d->batch_ns, now_ns);
}

/* ---- sources ---- */

static void on_found(void *ctx, const struct container_facts *f)
{
	struct directory_source *s = ctx;
	struct container_directory *d = s->d;
	uint64_t now_ns = clock_monotonic_ns();
	const struct facts_origin from = {s->index, s->cfg.rank, !s->cfg.is_users};
	struct container_facts facts = *f;
	struct container_entry *e;
	bool is_visible = false;

	if (!facts.runtime)
		facts.runtime = s->cfg.runtime;
	if (!f->id || !f->id[0] || strlen(f->id) >= CGROUP_ID_BYTES)
		return;
	pthread_mutex_lock(&d->lock);
	HASH_FIND_STR(d->table, f->id, e);
	/* half of the table is for containers that are seen, whatever sources say unasked */
	if (!e)
		e = add_entry(d, f->id, d->max / 2);
	if (e && !e->raw)
		e->used_ns = now_ns;
	if (e && container_entry_put(e, &from, &facts) > 0 && e->raw) {
		e->settled |= container_entry_is_complete(e);
		is_visible = e->settled;
	}
	pthread_mutex_unlock(&d->lock);
	if (is_visible)
		notify(d, e);
}

int container_directory_add_source(struct container_directory *d,
				   const struct container_source_config *cfg,
				   struct directory_source **ret)
{
	struct directory_source *s;

	if (d->sources.n == CONTAINER_DIRECTORY_SOURCES_MAX)
		return -ENOSPC;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	directory_source_init(s, cfg);
	s->d = d;
	s->sink = (struct container_sink){on_found, s};
	pthread_mutex_lock(&d->lock);
	s->index = d->sources.n;
	d->sources.at[d->sources.n++] = s;
	pthread_mutex_unlock(&d->lock);
	*ret = s;
	return 0;
}

const struct container_sink *directory_source_sink(struct directory_source *s)
{
	return &s->sink;
}

void directory_source_attach(struct directory_source *s, void *source)
{
	struct container_directory *d = s->d;
	uint64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&d->lock);
	s->source = source;
	for (struct container_entry *e = d->table; e; e = e->hh.next) {
		if (e->raw && !container_entry_is_complete(e))
			e->next_round_ns = now_ns;
	}
	pthread_mutex_unlock(&d->lock);
	arm(d, now_ns, now_ns);
}

void container_directory_listen(struct container_directory *d, struct container_listener *l)
{
	l->next = d->listeners;
	d->listeners = l;
}

void container_directory_set_naming(struct container_directory *d, enum kube_naming naming)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	for (struct container_entry *e = d->table; e && naming != d->naming; e = e->hh.next)
		container_entry_forget_name(e);
	d->naming = naming;
	pthread_mutex_unlock(&d->lock);
}

/* ---- create and destroy ---- */

int container_directory_new(struct container_directory **ret, struct loop *l,
			    const struct container_directory_config *cfg)
{
	CLEANUP(container_directory_freep) struct container_directory *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	d->sources.lock = &d->lock;
	d->timer_ns = UINT64_MAX;
	d->batch_ns = cfg->batch_ns ? cfg->batch_ns : BATCH_NS;
	d->hang_ns = cfg->hang_ns ? cfg->hang_ns : HANG_NS;
	d->idle_ns = cfg->idle_ns ? cfg->idle_ns : IDLE_NS;
	d->sweep_ns = clock_monotonic_ns() + d->idle_ns / SWEEPS_PER_IDLE;
	d->max = cfg->max ? cfg->max : CONTAINER_DIRECTORY_MAX;
	d->naming = KUBE_NAMING_COROOT;
	if (cfg->node && !(d->node = strdup(cfg->node)))
		return -ENOMEM;
	r = loop_add_wake(l, on_wake, d, &d->wake);
	if (r == 0)
		r = loop_add_timer(l, run, d, &d->timer);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

void container_directory_free(struct container_directory *d)
{
	struct container_entry *e, *next;

	if (!d)
		return;
	for (unsigned i = 0; i < d->sources.n; i++) {
		if (d->sources.at[i]->source)
			d->sources.at[i]->cfg.ops->free(d->sources.at[i]->source);
	}
	for (e = d->table; e; e = next) {
		next = e->hh.next;
		HASH_DEL(d->table, e);
		container_entry_free(e);
	}
	for (unsigned i = 0; i < d->sources.n; i++)
		free(d->sources.at[i]);
	loop_remove(d->wake);
	loop_remove(d->timer);
	pthread_mutex_destroy(&d->lock);
	free(d->node);
	free(d);
}
