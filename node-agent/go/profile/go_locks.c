#include "node-agent/go/profile/go_locks.h"

#include "node-agent/go/image/go_reader.h"

#define PREFIX "coroot_node_agent_go_lock"
#define MUTEX "profile=\"mutex\""
#define BLOCK "profile=\"block\""

/* The one for the mutex profiler; the one for the block profiler follows. */
enum {
	RECORDS,
	TORN = 2,
	BACKWARDS = 4,
	SWITCHED_ON = 6,
	RESTORED = 8,
	RESTORE_FAILED = 10,
};

static const struct metric_def metric_defs[GO_LOCKS_METRICS] = {
	{PREFIX "_records_total", MUTEX, "Records of Go's mutex and block profilers read"},
	{PREFIX "_records_total", BLOCK, "Records of Go's mutex and block profilers read"},
	{PREFIX "_records_torn_total", MUTEX,
	 "Records of Go's mutex and block profilers ignored: their counters contradict each other"},
	{PREFIX "_records_torn_total", BLOCK,
	 "Records of Go's mutex and block profilers ignored: their counters contradict each other"},
	{PREFIX "_records_backwards_total", MUTEX,
	 "Records of Go's mutex and block profilers that decreased: counted as unchanged"},
	{PREFIX "_records_backwards_total", BLOCK,
	 "Records of Go's mutex and block profilers that decreased: counted as unchanged"},
	{PREFIX "_switched_on_total", MUTEX,
	 "Mutex and block profilers of Go processes that the agent switched on"},
	{PREFIX "_switched_on_total", BLOCK,
	 "Mutex and block profilers of Go processes that the agent switched on"},
	{PREFIX "_restored_total", MUTEX,
	 "Mutex and block profilers of Go processes that the agent switched off again"},
	{PREFIX "_restored_total", BLOCK,
	 "Mutex and block profilers of Go processes that the agent switched off again"},
	{PREFIX "_restore_failed_total", MUTEX,
	 "Mutex and block profilers of Go processes that could not be switched off again"},
	{PREFIX "_restore_failed_total", BLOCK,
	 "Mutex and block profilers of Go processes that could not be switched off again"},
};
METRIC_TABLE(metric_table, metric_defs);

int go_locks_register_metrics(struct metrics *ms, struct metric metrics[GO_LOCKS_METRICS])
{
	return metrics_register(ms, &metric_table, metrics, NULL);
}

void go_locks_init(struct go_locks *l, struct metric *metrics, const struct go_locks_config *cfg)
{
	*l = (struct go_locks){.cfg = *cfg, .metrics = metrics};
	tick_clock_init(&l->clock);
}

static void count(struct go_locks *l, enum lock_kind kind, const struct lock_reading *r)
{
	metric_add(&l->metrics[RECORDS + kind], r->round.n_buckets);
	metric_add(&l->metrics[TORN + kind], r->round.n_torn);
	metric_add(&l->metrics[BACKWARDS + kind], r->n_backwards);
	metric_add(&l->metrics[SWITCHED_ON + kind], r->switched_on);
	metric_add(&l->metrics[RESTORED + kind], r->restored);
}

/*
 * A burst that could not be ended, by this agent or an earlier one, counts as one that begins
 * now.
 */
static void begin_burst(const struct go_locks *l, struct go_session *s, uint64_t now_ns)
{
	if (s->locks[LOCK_BLOCK].is_ours && s->burst_end_ns == 0)
		s->burst_end_ns = now_ns + l->cfg.burst_ns;
}

int go_locks_read(struct go_locks *l, enum lock_kind kind, const struct runtime_turn *t,
		  struct buf *out, struct stack_profile_parts *more)
{
	const struct go_opened *o = t->handle;
	struct go_session *s = t->session;
	bool is_end = kind == LOCK_BLOCK && s->burst_end_ns != 0 && s->burst_end_ns <= t->now_ns;
	const struct lock_turn turn = {
		.runtime = o->runtime,
		.id = t->id,
		.clock = &l->clock,
		.now_ns = t->now_ns,
		.when = is_end ? LOCK_READING_BURST_END : LOCK_READING_TURN,
		.read_only = s->read_only,
		.more = more,
	};
	struct lock_reading reading;
	int r;

	if (!(kind == LOCK_MUTEX ? l->cfg.mutex : l->cfg.block))
		return 0;
	r = lock_session_read(&s->locks[kind], &turn, out, &reading);
	count(l, kind, &reading);
	s->read_only |= reading.write_refused;
	if (is_end) {
		metric_add(&l->metrics[RESTORE_FAILED + kind], reading.switch_error != 0);
		s->burst_end_ns = 0;
	} else if (kind == LOCK_BLOCK) {
		begin_burst(l, s, t->now_ns);
	}
	if (r < 0)
		out->len = 0;
	return r < 0 ? r : reading.switch_error;
}

/* Harmless if they were not: restoring only replaces a rate that has exactly our value. */
void go_locks_claim(const struct go_locks *l, struct go_session *s)
{
	s->locks[LOCK_MUTEX].is_ours = l->cfg.mutex;
	s->locks[LOCK_BLOCK].is_ours = l->cfg.block;
}

bool go_locks_any_ours(const struct go_session *s)
{
	return s->locks[LOCK_MUTEX].is_ours || s->locks[LOCK_BLOCK].is_ours;
}

int go_locks_restore(struct go_locks *l, const struct runtime_turn *t)
{
	const struct go_opened *o = t->handle;
	struct go_session *s = t->session;
	int first = 0;

	for (int kind = 0; kind < LOCK_KINDS; kind++) {
		int r = lock_session_restore(&s->locks[kind], o->runtime, t->id);

		metric_add(&l->metrics[RESTORED + kind], r > 0);
		metric_add(&l->metrics[RESTORE_FAILED + kind], r < 0);
		if (first == 0 && r < 0)
			first = r;
	}
	return first;
}
