#include "node-agent/go/profile/go_counters.h"

#include <errno.h>

#include "node-agent/go/gc/gc_reader.h"
#include "node-agent/go/goroutine/goroutine_reader.h"

#define UNREAD(reason)                                                         \
	"coroot_node_agent_go_counters_unread_total", "reason=\"" reason "\"", \
		"Readings of Go processes that did not yield all runtime metrics, by reason"
#define LABELS "container_id, app_id"

static const struct metric_def unread_defs[GO_COUNTERS_UNREAD_MAX] = {
	[GO_COUNTERS_UNREAD_RELEASE] = {UNREAD("unknown_release")},
	[GO_COUNTERS_UNREAD_NOT_FOUND] = {UNREAD("not_found")},
	[GO_COUNTERS_UNREAD_IMPLAUSIBLE] = {UNREAD("implausible")},
	[GO_COUNTERS_UNREAD_GOROUTINES] = {UNREAD("goroutines")},
};
METRIC_TABLE(unread_table, unread_defs);

const struct metric_def go_counters_values[GO_COUNTERS_VALUES] = {
	[GC_ALLOC_BYTES] = {"container_go_alloc_bytes_total", LABELS,
			    "Bytes allocated on the heaps of Go processes", METRIC_COUNTER},
	[GC_ALLOC_OBJECTS] = {"container_go_alloc_objects_total", LABELS,
			      "Objects allocated on the heaps of Go processes", METRIC_COUNTER},
	[GC_CYCLES] = {"container_go_gc_cycles_total", LABELS,
		       "Garbage collections of Go processes", METRIC_COUNTER},
	[GC_PAUSE_NS] = {"container_go_gc_pause_seconds_total", LABELS,
			 "Time for which garbage collections stopped Go processes", METRIC_COUNTER,
			 .scale = 1e-9},
	[GC_LIVE_BYTES] = {"container_go_gc_live_heap_bytes", LABELS,
			   "Heap in use at the last garbage collection", METRIC_GAUGE},
	[GC_HEAP_BYTES] = {"container_go_gc_heap_bytes", LABELS,
			   "Heap in use at the last garbage collection plus allocations since",
			   METRIC_GAUGE},
	[GC_GOAL_BYTES] = {"container_go_gc_heap_goal_bytes", LABELS,
			   "Heap size at which the next garbage collection is to end",
			   METRIC_GAUGE},
	[GO_COUNTERS_GOROUTINES] = {"container_go_goroutines", LABELS, "Goroutines of Go processes",
				    METRIC_GAUGE},
};

static const struct {
	int error;
	enum go_counters_unread reason;
} unread_reasons[] = {
	{-ENOTSUP, GO_COUNTERS_UNREAD_RELEASE},
	{-ENOENT, GO_COUNTERS_UNREAD_NOT_FOUND},
	{-EFBIG, GO_COUNTERS_UNREAD_NOT_FOUND},
	{-EBADMSG, GO_COUNTERS_UNREAD_IMPLAUSIBLE},
};

int go_counters_register_metrics(struct metrics *ms, struct metric unread[GO_COUNTERS_UNREAD_MAX])
{
	return metrics_register(ms, &unread_table, unread, NULL);
}

/* Returns 0 if the error is one of those that are counted, else the error. */
static int count_unread(struct metric *unread, int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(unread_reasons); i++) {
		if (unread_reasons[i].error != error)
			continue;
		metric_add(&unread[unread_reasons[i].reason], 1);
		return 0;
	}
	return error;
}

static int read_gc(struct go_opened *o, struct metric *unread, struct container_values *ret)
{
	struct gc_counters gc;
	int r = gc_reader_read(o->runtime, &gc);

	if (r < 0) {
		ret->unread |= gc_reader_of(o->runtime);
		return count_unread(unread, r);
	}
	ret->known |= gc.known;
	memcpy(ret->v, gc.v, sizeof(gc.v));
	return 0;
}

/* -ENODATA is what reading gives when the process has exited, and also when a pointer is wild. */
static int read_goroutines(struct go_opened *o, struct metric *unread, struct container_values *ret)
{
	int r = goroutine_reader_count(o->runtime, &ret->v[GO_COUNTERS_GOROUTINES]);

	if (r == -ENOMEM || r == -ENODATA)
		return r;
	if (r < 0)
		metric_add(&unread[GO_COUNTERS_UNREAD_GOROUTINES], 1);
	*(r < 0 ? &ret->unread : &ret->known) |= UINT32_C(1) << GO_COUNTERS_GOROUTINES;
	return 0;
}

int go_counters_read(struct go_opened *o, struct metric unread[GO_COUNTERS_UNREAD_MAX],
		     struct container_values *ret)
{
	int r;

	*ret = (struct container_values){0};
	r = read_gc(o, unread, ret);
	return r == 0 ? read_goroutines(o, unread, ret) : r;
}

struct container_values go_counters_of_heap(struct go_opened *o, const struct heap_reading *heap)
{
	struct container_values v = {0};

	if (heap->off || heap->forced || (gc_reader_of(o->runtime) >> GC_ALLOC_BYTES & 1))
		return v;
	v.known = UINT32_C(1) << GC_ALLOC_BYTES | UINT32_C(1) << GC_ALLOC_OBJECTS;
	v.v[GC_ALLOC_BYTES] = heap->alloc_bytes;
	v.v[GC_ALLOC_OBJECTS] = heap->alloc_objects;
	return v;
}
