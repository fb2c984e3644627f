/*
 * When something is to be done with a JVM, and in which state it is meanwhile. Pure: knows times
 * and outcomes, and does nothing itself.
 *
 * A JVM is attached to when it is old enough. What fails is tried again less and less often, and
 * not at all after JAVA_PLAN_FAILURES_MAX times, because an attempt disturbs the JVM, however
 * little. What a JVM will not change while it runs, such as its flags, is not tried again either.
 *
 * Times are those of clock_monotonic_ns().
 */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_PLAN_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_PLAN_H

#include "common/base.h"
#include "node-agent/java/java_state.h"

#define JAVA_PLAN_FAILURES_MAX 7u
#define JAVA_PLAN_MISSES_MAX 5u
#define JAVA_PLAN_LIFE_MIN_S 300u

struct java_plan_config {
	bool enabled; /* JVMs are attached to */
	uint64_t delay_ns;
	uint64_t interval_ns;
	uint64_t file_max_bytes; /* a larger recording is replaced by a new one; 0: the default */
	uint64_t free_min_bytes; /* with less on its disk, there is no recording; 0: the default */
};

struct java_plan {
	enum java_state state;
	uint64_t attempt_ns; /* when profiling is to be started; 0: it is not */
	unsigned n_failures; /* of attempts, in a row */
	unsigned n_misses;   /* answers of a running one, in a row */
	bool is_running;
	uint64_t started_ns; /* start of the running recording */
	uint64_t watch_ns;   /* when its size is to be checked; 0: not at all */
};

/* age_ns: of the process. */
void java_plan_init(struct java_plan *p, const struct java_plan_config *cfg, uint64_t now_ns,
		    uint64_t age_ns);

/* A recording was started. */
void java_plan_started(struct java_plan *p, uint64_t now_ns);
/* It has ended, and another one is to be started. */
void java_plan_ended(struct java_plan *p, uint64_t now_ns);

/*
 * An attempt failed, and the JVM is in that state because of it. Returns whether it is worth a
 * line in the log: the first time, or when there will be no other attempt.
 */
bool java_plan_failed(struct java_plan *p, enum java_state state, uint64_t now_ns);
/* The attempt is under way, or has to wait: not a failure. */
void java_plan_wait(struct java_plan *p, enum java_state state, uint64_t until_ns);

/*
 * The JVM answered a command about the recording that is running, or did not. Without an answer
 * JAVA_PLAN_MISSES_MAX times in a row, that counts as a failure; returns as java_plan_failed().
 */
void java_plan_answered(struct java_plan *p);
bool java_plan_missed(struct java_plan *p, uint64_t now_ns);

/* The size of the recording was checked. */
void java_plan_watched(struct java_plan *p, uint64_t now_ns);

/* Whether the recording is to be replaced by a new one. */
bool java_plan_must_replace(const struct java_plan *p, const struct java_plan_config *cfg,
			    uint64_t now_ns, uint64_t size_bytes);

/* Whether the program needs the disk, on which so much is free, more than we do. */
bool java_plan_must_leave(const struct java_plan_config *cfg, uint64_t free_bytes);

/* After that time without us, a recording ends by itself. */
unsigned java_plan_life_s(const struct java_plan_config *cfg);

/*
 * How long a JVM has to answer when the agent leaves it, of those that have not answered together
 * taking waited_ns. One that is late obeys all the same, as the command waits in its socket.
 */
uint64_t java_plan_leave_ns(uint64_t waited_ns);

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_PLAN_H */
