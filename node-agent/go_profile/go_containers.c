#include "node-agent/go_profile/go_containers.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include "common/data/table.h"
#include "node-agent/process/workload.h"

#define FIRST_GAUGE GC_LIVE_BYTES
#define PREFIX "coroot_node_agent_go"

enum own_metric {
	CONTAINERS,
	OVERFLOW,
	BACKWARDS,
	OWN_METRICS,
};

static const struct metric_def own_defs[OWN_METRICS] = {
	[CONTAINERS] = {PREFIX "_containers", NULL, "Containers with metrics of Go processes",
			METRIC_GAUGE},
	[OVERFLOW] = {PREFIX "_containers_overflow_total", NULL,
		      "Readings of Go processes without container metrics: too many containers"},
	[BACKWARDS] = {PREFIX "_counters_backwards_total", NULL,
		       "Counters of Go processes that decreased: counted as unchanged"},
};
METRIC_TABLE(own_table, own_defs);

#define LABELS "container_id, app_id"

static const struct metric_def families[GO_CONTAINER_VALUES] = {
	[GC_ALLOC_BYTES] = {"container_go_alloc_bytes_total", LABELS,
			    "Bytes allocated on the heaps of Go processes", METRIC_COUNTER},
	[GC_ALLOC_OBJECTS] = {"container_go_alloc_objects_total", LABELS,
			      "Objects allocated on the heaps of Go processes", METRIC_COUNTER},
	[GC_CYCLES] = {"container_go_gc_cycles_total", LABELS,
		       "Garbage collections of Go processes", METRIC_COUNTER},
	[GC_PAUSE_NS] = {"container_go_gc_pause_seconds_total", LABELS,
			 "Time for which garbage collections stopped Go processes", METRIC_COUNTER},
	[GC_LIVE_BYTES] = {"container_go_gc_live_heap_bytes", LABELS,
			   "Heap in use at the last garbage collection", METRIC_GAUGE},
	[GC_HEAP_BYTES] = {"container_go_gc_heap_bytes", LABELS,
			   "Heap in use at the last garbage collection plus allocations since",
			   METRIC_GAUGE},
	[GC_GOAL_BYTES] = {"container_go_gc_heap_goal_bytes", LABELS,
			   "Heap size at which the next garbage collection is to end",
			   METRIC_GAUGE},
	[GO_CONTAINER_GOROUTINES] = {"container_go_goroutines", LABELS,
				     "Goroutines of Go processes", METRIC_GAUGE},
};
METRIC_TABLE(family_table, families);

struct container {
	UT_hash_handle hh; /* by id */
	char id[WORKLOAD_NAME_BYTES];
	char app_id[WORKLOAD_NAME_BYTES];
	size_t n_shares;
	uint64_t idle_since_ns;                /* 0: it has not been seen idle */
	uint32_t n_known[GO_CONTAINER_VALUES]; /* counters: not 0 if any process ever told it */
	uint64_t v[GO_CONTAINER_VALUES];
};

struct go_share {
	struct go_containers *containers;
	struct container *of; /* for as long as it is not disowned */
	uint64_t generation;
	uint32_t known; /* counters: what was told before; gauges: what is in the sum */
	uint64_t v[GO_CONTAINER_VALUES];
};

struct go_containers {
	pthread_mutex_t lock; /* of all that follows but metrics */
	struct container *table;
	uint64_t generation; /* of shares; those of another are disowned */
	struct metric metrics[OWN_METRICS];
};

/* ---- what is scraped ---- */

static int write_value(struct buf *out, unsigned which, uint64_t v)
{
	return which == GC_PAUSE_NS ? buf_addf(out, "\"} %.15g\n", (double)v * 1e-9)
				    : buf_addf(out, "\"} %" PRIu64 "\n", v);
}

static int write_line(struct buf *out, unsigned which, const struct container *c)
{
	int r = buf_addf(out, "%s{container_id=\"", families[which].name);

	if (r == 0)
		r = metrics_add_label_value(out, c->id);
	if (r == 0)
		r = buf_addf(out, "\",app_id=\"");
	if (r == 0)
		r = metrics_add_label_value(out, c->app_id);
	return r == 0 ? write_value(out, which, c->v[which]) : r;
}

static int write_family(void *ctx, size_t family, struct buf *out)
{
	struct go_containers *cs = ctx;
	int r = 0;

	pthread_mutex_lock(&cs->lock);
	for (const struct container *c = cs->table; c && r == 0; c = c->hh.next) {
		if (c->n_known[family] > 0)
			r = write_line(out, (unsigned)family, c);
	}
	pthread_mutex_unlock(&cs->lock);
	return r;
}

/* ---- containers ---- */

int go_containers_new(struct go_containers **ret, struct metrics *ms)
{
	struct go_containers *cs = calloc(1, sizeof(*cs));
	int r;

	if (!cs)
		return -ENOMEM;
	pthread_mutex_init(&cs->lock, NULL);
	r = metrics_register(ms, &own_table, cs->metrics, NULL);
	if (r == 0)
		r = metrics_register_families(ms, "", &family_table, write_family, cs);
	if (r < 0) {
		go_containers_free(cs);
		return r;
	}
	*ret = cs;
	return 0;
}

static void drop(struct go_containers *cs, struct container *c)
{
	HASH_DEL(cs->table, c);
	table_free(c);
	metric_set(&cs->metrics[CONTAINERS], HASH_COUNT(cs->table));
}

void go_containers_free(struct go_containers *cs)
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

void go_containers_expire(struct go_containers *cs, uint64_t now_ns)
{
	struct container *c, *next;

	pthread_mutex_lock(&cs->lock);
	for (c = cs->table; c; c = next) {
		next = c->hh.next;
		if (c->n_shares > 0)
			continue;
		if (c->idle_since_ns == 0)
			c->idle_since_ns = now_ns;
		else if (now_ns >= c->idle_since_ns + GO_CONTAINERS_IDLE_NS)
			drop(cs, c);
	}
	pthread_mutex_unlock(&cs->lock);
}

void go_containers_disown(struct go_containers *cs)
{
	pthread_mutex_lock(&cs->lock);
	cs->generation++;
	for (struct container *c = cs->table; c; c = c->hh.next) {
		c->n_shares = 0;
		for (unsigned i = FIRST_GAUGE; i < GO_CONTAINER_VALUES; i++) {
			c->v[i] = 0;
			c->n_known[i] = 0;
		}
	}
	pthread_mutex_unlock(&cs->lock);
}

static int add_container(struct go_containers *cs, const struct go_container_labels *labels,
			 struct container **ret)
{
	struct container *c;

	if (HASH_COUNT(cs->table) >= GO_CONTAINERS_MAX) {
		metric_add(&cs->metrics[OVERFLOW], 1);
		return -ENOSPC;
	}
	c = table_malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct container){0};
	(void)snprintf(c->id, sizeof(c->id), "%s", labels->container_id);
	(void)snprintf(c->app_id, sizeof(c->app_id), "%s", labels->app_id);
	HASH_ADD_STR(cs->table, id, c);
	if (!TABLE_ADDED(hh, c)) {
		table_free(c);
		return -ENOMEM;
	}
	metric_set(&cs->metrics[CONTAINERS], HASH_COUNT(cs->table));
	*ret = c;
	return 0;
}

/* ---- one process ---- */

static int join(struct go_share *s, const struct go_container_labels *labels)
{
	struct go_containers *cs = s->containers;
	int r = 0;

	pthread_mutex_lock(&cs->lock);
	HASH_FIND_STR(cs->table, labels->container_id, s->of);
	if (!s->of)
		r = add_container(cs, labels, &s->of);
	if (r == 0) {
		s->generation = cs->generation;
		s->of->n_shares++;
		s->of->idle_since_ns = 0;
	}
	pthread_mutex_unlock(&cs->lock);
	return r;
}

int go_share_new(struct go_share **ret, struct go_containers *cs,
		 const struct go_container_labels *labels, enum bucket_history_start start)
{
	struct go_share *s;
	int r;

	if (strlen(labels->container_id) >= WORKLOAD_NAME_BYTES ||
	    strlen(labels->app_id) >= WORKLOAD_NAME_BYTES)
		return -ENAMETOOLONG;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->containers = cs;
	if (start == BUCKET_HISTORY_FROM_ZERO)
		go_share_restart(s);
	r = join(s, labels);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* Under the lock. */
static bool is_disowned(const struct go_share *s)
{
	return s->generation != s->containers->generation;
}

static void take_back(struct go_share *s, unsigned gauge)
{
	if (!(s->known >> gauge & 1))
		return;
	s->of->v[gauge] -= s->v[gauge];
	s->of->n_known[gauge]--;
	s->known &= ~(UINT32_C(1) << gauge);
}

void go_share_free(struct go_share *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->containers->lock);
	for (unsigned i = FIRST_GAUGE; i < GO_CONTAINER_VALUES && !is_disowned(s); i++)
		take_back(s, i);
	if (!is_disowned(s))
		s->of->n_shares--;
	pthread_mutex_unlock(&s->containers->lock);
	free(s);
}

static void tell_counter(struct go_share *s, unsigned counter, uint64_t now)
{
	bool is_first = !(s->known >> counter & 1);

	s->of->n_known[counter] = 1;
	if (!is_first && now < s->v[counter]) {
		metric_add(&s->containers->metrics[BACKWARDS], 1);
		return;
	}
	if (!is_first)
		s->of->v[counter] += now - s->v[counter];
	s->v[counter] = now;
	s->known |= UINT32_C(1) << counter;
}

static void tell_gauge(struct go_share *s, unsigned gauge, uint64_t now)
{
	s->of->v[gauge] += now;
	s->of->n_known[gauge]++;
	s->v[gauge] = now;
	s->known |= UINT32_C(1) << gauge;
}

void go_share_tell(struct go_share *s, const struct go_values *values)
{
	pthread_mutex_lock(&s->containers->lock);
	for (unsigned i = 0; i < GO_CONTAINER_VALUES && !is_disowned(s); i++) {
		bool known = values->known >> i & 1, unread = values->unread >> i & 1;

		if (i >= FIRST_GAUGE && !unread)
			take_back(s, i);
		if (known && i < FIRST_GAUGE)
			tell_counter(s, i, values->v[i]);
		else if (known)
			tell_gauge(s, i, values->v[i]);
	}
	pthread_mutex_unlock(&s->containers->lock);
}

void go_share_add(struct go_share *s, enum gc_counter counter, uint64_t gained)
{
	pthread_mutex_lock(&s->containers->lock);
	if (!is_disowned(s)) {
		s->of->n_known[counter] = 1;
		s->of->v[counter] += gained;
	}
	pthread_mutex_unlock(&s->containers->lock);
}

void go_share_restart(struct go_share *s)
{
	for (unsigned i = 0; i < FIRST_GAUGE; i++) {
		s->v[i] = 0;
		s->known |= UINT32_C(1) << i;
	}
}
