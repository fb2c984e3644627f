/*
 * The mutex or block profile of one Go process, read from its memory; and when its profiler is switched on
 * for that (lock_rate.h).
 *
 * Everything read is untrusted: lengths, counts and time are limited. What is told is what was counted
 * since the last reading. One thread.
 */
#ifndef NODE_AGENT_GO_LOCK_LOCK_READER_H
#define NODE_AGENT_GO_LOCK_LOCK_READER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/go/image/go_runtime.h"
#include "node-agent/go/lock/lock_kind.h"
#include "node-agent/go/lock/tick_clock.h"
#include "node-agent/go/record/bucket_history.h"

#define LOCK_READER_MAX_BUCKETS 1000000u
#define LOCK_READER_MAX_NS ((uint64_t)2 * 1000 * 1000 * 1000)
#define LOCK_READER_PROFILE_BYTES ((size_t)64 * 1024 * 1024) /* while a profile is made */

/* What is kept of one profiler of one process. */
struct lock_session {
	enum lock_kind kind;
	enum bucket_history_start start;
	struct bucket_history *history; /* NULL: not read yet */
	uint64_t told_ns;               /* up to when its last profile went */
	bool is_known;                  /* its rate has been seen */
	bool is_ours; /* where it has our value, we, or an agent before us, switched it on */
};

enum lock_reading_when {
	/*
	 * In a turn of the process. The mutex profiler is switched on when it is off at the first
	 * reading; the block profiler whenever it is off.
	 */
	LOCK_READING_TURN,
	/* The time of the block profiler is over: it is switched off, then read. */
	LOCK_READING_BURST_END,
};

/* An open process in its turn; all borrowed. */
struct lock_turn {
	struct go_runtime *runtime;
	const struct program_id *id; /* whose runtime it is */
	struct tick_clock *clock;
	uint64_t now_ns; /* clock_monotonic_ns() */
	enum lock_reading_when when;
};

struct lock_reading {
	size_t n_samples;   /* 0: no profile */
	size_t n_backwards; /* records that counted less than the last time: taken as nothing new */
	struct bucket_round_result round;
	bool switched_on; /* just now */
	bool restored;    /* switched off again */
	int switch_error; /* that could not be done; 0: it could, or there was no need */
};

/*
 * start: whether what it has counted before is news. Only a process that ran before us can have been left
 * switched on by another agent.
 */
void lock_session_init(struct lock_session *s, enum lock_kind kind, enum bucket_history_start start,
		       uint64_t now_ns);
void lock_session_fini(struct lock_session *s);

/* What it has counted is forgotten, to be read from start on. Whose its rate is, is not. */
void lock_session_forget(struct lock_session *s, enum bucket_history_start start);

/* Memory for what is remembered of records. */
size_t lock_session_bytes(const struct lock_session *s);

/*
 * Appends the pprof of what was counted since the last reading to out. 0; errors of go_runtime_find(),
 * bucket_history_round() and stack_profile_add(); -ENOTSUP: the clock is not known. Then out may have been
 * changed.
 */
int lock_session_read(struct lock_session *s, const struct lock_turn *t, struct buf *out,
		      struct lock_reading *ret) MUST_CHECK;

/* What is ours is switched off. 1: it was; 0: no need; errors of lock_rate_switch(). */
int lock_session_restore(struct lock_session *s, struct go_runtime *rt,
			 const struct program_id *id) MUST_CHECK;

#endif /* NODE_AGENT_GO_LOCK_LOCK_READER_H */
