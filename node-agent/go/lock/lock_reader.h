/*
 * The mutex or block profile of one Go process, read from its memory. Also decides when the
 * profiler is switched on for that, and off again (lock_variables.h).
 *
 * Each reading reports only what was counted since the previous one. Everything read is
 * untrusted: lengths, counts and time are limited. For one thread.
 */
#ifndef NODE_AGENT_GO_LOCK_LOCK_READER_H
#define NODE_AGENT_GO_LOCK_LOCK_READER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/image/go_runtime.h"
#include "node-agent/go/lock/lock_variables.h"
#include "node-agent/go/lock/tick_clock.h"
#include "node-agent/go/record/bucket_history.h"

#define LOCK_READER_MAX_BUCKETS 1000000u
#define LOCK_READER_MAX_NS ((uint64_t)2 * 1000 * 1000 * 1000)
#define LOCK_READER_PROFILE_BYTES ((size_t)64 * 1024 * 1024) /* while a profile is made */

/* The state of one profiler of one process between readings. */
struct lock_session {
	enum lock_kind kind;
	enum bucket_history_start start;
	struct bucket_history *history; /* NULL before the first reading */
	uint64_t reported_ns;           /* end of the last profile, on clock_monotonic_ns() */
	bool was_read;                  /* a reading succeeded, so its rate was seen */
	bool is_ours; /* if the rate is our value, this agent or an earlier one set it */
};

enum lock_reading_when {
	/*
	 * The regular reading. The mutex profiler is switched on if it is off at the first
	 * one, the block profiler whenever it is off.
	 */
	LOCK_READING_TURN,
	/* A burst of the block profiler ends: it is switched off, then read. */
	LOCK_READING_BURST_END,
};

/* One reading of an open process; all borrowed. */
struct lock_turn {
	struct go_runtime *runtime;
	const struct program_id *id; /* the process behind runtime */
	struct tick_clock *clock;
	uint64_t now_ns; /* clock_monotonic_ns() */
	enum lock_reading_when when;
	bool read_only;                   /* the profiler is not switched on */
	struct stack_profile_parts *more; /* borrowed; as in struct stack_profile_config */
};

struct lock_reading {
	size_t n_samples;   /* 0 if there is no profile */
	size_t n_backwards; /* records with a counter that fell; reported as no increase */
	struct bucket_round_result round;
	bool switched_on;   /* by this reading */
	bool restored;      /* switched off again by this reading */
	int switch_error;   /* -errno of switching on or off; 0 if it succeeded or was not needed */
	bool write_refused; /* not switched on because the agent may not write; no switch_error */
};

/*
 * `start` says whether to report what was counted before the first reading. Only with
 * BUCKET_HISTORY_FROM_NOW, when the process may have run before us, can an earlier agent have
 * left the profiler on.
 */
void lock_session_init(struct lock_session *s, enum lock_kind kind, enum bucket_history_start start,
		       uint64_t now_ns);
void lock_session_fini(struct lock_session *s);

/* Drops the history of records; the next one begins with `start`. Keeps who owns the rate. */
void lock_session_forget(struct lock_session *s, enum bucket_history_start start);

/* Memory used by the history of records. */
size_t lock_session_bytes(const struct lock_session *s);

/*
 * Appends the pprof of what was counted since the previous reading to out. Returns 0,
 * -ENOTSUP if the length of a tick is unknown, or an error of go_runtime_find(),
 * bucket_history_round() or stack_profile_add(); out may have been changed then.
 */
int lock_session_read(struct lock_session *s, const struct lock_turn *t, struct buf *out,
		      struct lock_reading *ret) MUST_CHECK;

/*
 * Switches the profiler off if it is ours. Returns 1 if it did, 0 if there was no need, or an
 * error of lock_rate_switch().
 */
int lock_session_restore(struct lock_session *s, struct go_runtime *rt,
			 const struct program_id *id) MUST_CHECK;

#endif /* NODE_AGENT_GO_LOCK_LOCK_READER_H */
