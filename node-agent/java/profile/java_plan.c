#include "node-agent/java/profile/java_plan.h"

#include "common/limits.h"
#include "common/system/clock.h"

#define BACKOFF_NS (30 * NS_PER_S) /* doubled with each failure */
#define OTHER_AGENT_NS (60 * NS_PER_S)
#define OTHER_PROFILER_NS (600 * NS_PER_S)
#define WATCH_NS (15 * NS_PER_S)
/* At the end of the agent, for which the worker has RUNTIME_WORKER_END_NS. */
#define LEAVE_NS (1 * NS_PER_S)       /* for a JVM: it may be at a safepoint */
#define LEAVE_ALL_NS (2 * NS_PER_S)   /* for all that do not answer */
#define LEAVE_MIN_NS (50 * NS_PER_MS) /* beyond that; an answer takes some milliseconds */
#define LIFE_INTERVALS 2u
#define MARGIN_NS (60 * NS_PER_S) /* an interval may begin so much later than it should */
#define FILE_MAX_BYTES (16 * MIB)
#define FREE_MIN_BYTES (16 * MIB) /* half of what a place must have at the start */

enum retry {
	RETRY_NEVER,   /* the reason stays as long as the JVM runs */
	RETRY_LATER,   /* with back-off, and not without end */
	RETRY_FOREVER, /* somebody else may leave the JVM, and looking costs it nothing */
};

static const enum retry retries[JAVA_STATES] = {
	[JAVA_STATE_FOREIGN_PROFILER] = RETRY_FOREVER, [JAVA_STATE_OTHER_AGENT] = RETRY_FOREVER,
	[JAVA_STATE_NO_PLACE] = RETRY_LATER,           [JAVA_STATE_NO_PERMISSION] = RETRY_LATER,
	[JAVA_STATE_UNRESPONSIVE] = RETRY_LATER,       [JAVA_STATE_LOAD_FAILED] = RETRY_LATER,
	[JAVA_STATE_START_FAILED] = RETRY_LATER,       [JAVA_STATE_FAILED] = RETRY_LATER,
};

void java_plan_init(struct java_plan *p, const struct java_plan_config *cfg, uint64_t now_ns,
		    uint64_t age_ns)
{
	*p = (struct java_plan){.state = JAVA_STATE_OFF};
	if (!cfg->enabled)
		return;
	p->state = JAVA_STATE_WAITING;
	p->attempt_ns = now_ns + (age_ns < cfg->delay_ns ? cfg->delay_ns - age_ns : 0);
}

void java_plan_started(struct java_plan *p, uint64_t now_ns)
{
	*p = (struct java_plan){
		.state = JAVA_STATE_PROFILED,
		.is_running = true,
		.started_ns = now_ns,
		.watch_ns = now_ns + WATCH_NS,
	};
}

void java_plan_ended(struct java_plan *p, uint64_t now_ns)
{
	p->is_running = false;
	p->watch_ns = 0;
	p->attempt_ns = now_ns;
}

bool java_plan_failed(struct java_plan *p, enum java_state state, uint64_t now_ns)
{
	bool is_first = p->n_failures == 0, is_last = false, is_change = p->state != state;

	java_plan_ended(p, 0);
	p->n_misses = 0;
	p->state = state;
	switch (retries[state]) {
	case RETRY_NEVER:
		break;
	case RETRY_FOREVER:
		if (state == JAVA_STATE_OTHER_AGENT) {
			p->attempt_ns = now_ns + OTHER_AGENT_NS;
			return false;
		}
		p->attempt_ns = now_ns + OTHER_PROFILER_NS;
		return is_change;
	case RETRY_LATER:
		is_last = ++p->n_failures >= JAVA_PLAN_FAILURES_MAX;
		p->attempt_ns = is_last ? 0 : now_ns + (BACKOFF_NS << (p->n_failures - 1));
		/* "tried again later" is not true any more */
		if (is_last && state == JAVA_STATE_UNRESPONSIVE)
			p->state = JAVA_STATE_FAILED;
		break;
	}
	return is_first || is_last;
}

void java_plan_wait(struct java_plan *p, enum java_state state, uint64_t until_ns)
{
	p->state = state;
	p->attempt_ns = until_ns;
}

void java_plan_answered(struct java_plan *p)
{
	p->state = JAVA_STATE_PROFILED;
	p->n_misses = 0;
}

bool java_plan_missed(struct java_plan *p, uint64_t now_ns)
{
	if (++p->n_misses >= JAVA_PLAN_MISSES_MAX)
		return java_plan_failed(p, JAVA_STATE_UNRESPONSIVE, now_ns);
	p->state = JAVA_STATE_UNRESPONSIVE;
	return false;
}

void java_plan_watched(struct java_plan *p, uint64_t now_ns)
{
	p->watch_ns = p->is_running ? now_ns + WATCH_NS : 0;
}

unsigned java_plan_life_s(const struct java_plan_config *cfg)
{
	uint64_t s = (LIFE_INTERVALS * cfg->interval_ns + 2 * MARGIN_NS) / NS_PER_S;

	return s < JAVA_PLAN_LIFE_MIN_S ? JAVA_PLAN_LIFE_MIN_S : (unsigned)s;
}

/* At the last interval that ends before the recording does. */
bool java_plan_must_replace(const struct java_plan *p, const struct java_plan_config *cfg,
			    uint64_t now_ns, uint64_t size_bytes)
{
	uint64_t max = cfg->file_max_bytes > 0 ? cfg->file_max_bytes : FILE_MAX_BYTES;
	uint64_t next_ns = now_ns - p->started_ns + cfg->interval_ns + MARGIN_NS;

	return size_bytes > max || next_ns > java_plan_life_s(cfg) * NS_PER_S;
}

bool java_plan_must_leave(const struct java_plan_config *cfg, uint64_t free_bytes)
{
	return free_bytes < (cfg->free_min_bytes > 0 ? cfg->free_min_bytes : FREE_MIN_BYTES);
}

uint64_t java_plan_leave_ns(uint64_t waited_ns)
{
	if (waited_ns + LEAVE_NS <= LEAVE_ALL_NS)
		return LEAVE_NS;
	return waited_ns + LEAVE_MIN_NS <= LEAVE_ALL_NS ? LEAVE_ALL_NS - waited_ns : LEAVE_MIN_NS;
}
