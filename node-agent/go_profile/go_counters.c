#include "node-agent/go_profile/go_counters.h"

#include <errno.h>

#include "node-agent/go/gc/gc_reader.h"
#include "node-agent/go/goroutine/goroutine_reader.h"

#define UNREAD(reason)                                                         \
	"coroot_node_agent_go_counters_unread_total", "reason=\"" reason "\"", \
		"Readings of Go processes that did not yield all runtime metrics, by reason"

enum unread {
	UNREAD_RELEASE,
	UNREAD_NOT_FOUND,
	UNREAD_IMPLAUSIBLE,
	UNREAD_GOROUTINES,
	UNREAD_MAX,
};

static const struct metric_def metric_defs[UNREAD_MAX] = {
	[UNREAD_RELEASE] = {UNREAD("unknown_release")},
	[UNREAD_NOT_FOUND] = {UNREAD("not_found")},
	[UNREAD_IMPLAUSIBLE] = {UNREAD("implausible")},
	[UNREAD_GOROUTINES] = {UNREAD("goroutines")},
};
METRIC_TABLE(metric_table, metric_defs);

static const struct {
	int error;
	enum unread metric;
} unread_reasons[] = {
	{-ENOTSUP, UNREAD_RELEASE},
	{-ENOENT, UNREAD_NOT_FOUND},
	{-EFBIG, UNREAD_NOT_FOUND},
	{-EBADMSG, UNREAD_IMPLAUSIBLE},
};

struct go_counters {
	struct go_containers *containers;
	struct metric unread[UNREAD_MAX];
};

int go_counters_new(struct go_counters **ret, struct metrics *ms)
{
	CLEANUP(go_counters_freep) struct go_counters *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	r = metrics_register(ms, &metric_table, c->unread, NULL);
	if (r == 0)
		r = go_containers_new(&c->containers, ms);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void go_counters_free(struct go_counters *c)
{
	if (!c)
		return;
	go_containers_free(c->containers);
	free(c);
}

void go_counters_disown(struct go_counters *c)
{
	go_containers_disown(c->containers);
}

void go_counters_expire(struct go_counters *c, uint64_t now_ns)
{
	go_containers_expire(c->containers, now_ns);
}

/* 0: it has a share; 1: it gets none. */
static int require_share(struct go_counters *c, struct go_process *g, struct go_opened *o)
{
	CLEANUP(workload_unrefp) struct workload *workload = NULL;
	struct go_container_labels labels = {NULL, ""};
	int r;

	if (g->share)
		return 0;
	r = go_target_workload(&o->target, &workload);
	if (r < 0)
		return r;
	labels.container_id = workload->container_id;
	r = go_share_new(&g->share, c->containers, &labels, g->start);
	return r == -ENOSPC ? 1 : r;
}

/* 0: it is in a counter. */
static int count_unread(struct go_counters *c, int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(unread_reasons); i++) {
		if (unread_reasons[i].error != error)
			continue;
		metric_add(&c->unread[unread_reasons[i].metric], 1);
		return 0;
	}
	return error;
}

static int read_gc(struct go_counters *c, struct go_opened *o, struct go_values *ret)
{
	struct gc_counters gc;
	int r = gc_reader_read(o->runtime, &gc);

	if (r < 0) {
		ret->unread |= gc_reader_of(o->runtime);
		return count_unread(c, r);
	}
	ret->known |= gc.known;
	memcpy(ret->v, gc.v, sizeof(gc.v));
	return 0;
}

/* -ENODATA is what the memory of a process gives that has ended, and what wild pointers lead to. */
static int read_goroutines(struct go_counters *c, struct go_opened *o, struct go_values *ret)
{
	int r = goroutine_reader_count(o->runtime, &ret->v[GO_CONTAINER_GOROUTINES]);

	if (r == -ENOMEM || r == -ENODATA)
		return r;
	if (r < 0)
		metric_add(&c->unread[UNREAD_GOROUTINES], 1);
	*(r < 0 ? &ret->unread : &ret->known) |= UINT32_C(1) << GO_CONTAINER_GOROUTINES;
	return 0;
}

int go_counters_read(struct go_counters *c, struct go_process *g, struct go_opened *o)
{
	struct go_values values = {0};
	int r = read_gc(c, o, &values);

	if (r == 0)
		r = read_goroutines(c, o, &values);
	if (r == 0 && values.known != 0)
		r = require_share(c, g, o);
	if (r == 0 && g->share)
		go_share_tell(g->share, &values);
	return r < 0 ? r : 0;
}

int go_counters_add_heap(struct go_counters *c, struct go_process *g, struct go_opened *o,
			 const struct heap_reading *heap)
{
	int r;

	if (heap->off || heap->forced || gc_reader_of(o->runtime) >> GC_ALLOC_BYTES & 1)
		return 0;
	r = require_share(c, g, o);
	if (r != 0)
		return r < 0 ? r : 0;
	go_share_add(g->share, GC_ALLOC_BYTES, heap->alloc_bytes);
	go_share_add(g->share, GC_ALLOC_OBJECTS, heap->alloc_objects);
	return 0;
}
