/*
 * Which query may run, on which slot, and when it must end. For the engines behind store.h; knows
 * none of them: a slot is a connection of the embedded engine, or only a number.
 *
 * Each lane has slots of its own. A query takes one, runs, and gives it back; in between it is
 * ended if its ticket is cancelled, its time is over or the store stops. Ending a query is a
 * statement of its own to the engine, which may find no query yet because that is just starting.
 * So a thread repeats it until the query has settled, and nobody else waits for it.
 *
 * A slot that has settled is not ended any more, so that nothing can hit the next query of it.
 *
 * The engine may not end a query for minutes. Whoever waits for such a one abandons its slot: it no
 * longer counts among those that may run, and another one of the lane takes its place, as long as
 * there is one.
 */
#ifndef CLUSTER_AGENT_STORE_QUERY_TURNS_H
#define CLUSTER_AGENT_STORE_QUERY_TURNS_H

#include "cluster-agent/store/store.h"

struct query_turns;

#define QUERY_TURNS_MAX_SLOTS 16u

enum query_end {
	QUERY_ENDED_ITSELF,
	QUERY_CANCELLED, /* by its ticket */
	QUERY_TIMED_OUT,
	QUERY_STOPPED, /* by query_turns_stop() */
};

struct query_turns_config {
	unsigned n_slots[STORE_LANE_MAX]; /* at most QUERY_TURNS_MAX_SLOTS together */
	/* Of these, how many are for abandoned queries; the others may run at the same time. */
	unsigned n_spare[STORE_LANE_MAX];
	uint64_t wait_ns; /* how long a query waits for a slot */
	/*
	 * Asks the engine to end what runs on the slot. From the thread of turns, one call at a
	 * time, possibly after the query has ended by itself. NULL: queries watch their tickets
	 * themselves, and there is no such thread.
	 */
	void (*end)(void *ctx, unsigned slot);
	void *ctx;
};

/* Returns 0, -ENOMEM, or -EAGAIN if there can be no thread. */
int query_turns_new(struct query_turns **ret, const struct query_turns_config *cfg) MUST_CHECK;
/* No query may be under way. NULL is allowed. */
void query_turns_free(struct query_turns *t);
DEFINE_CLEANUP(struct query_turns *, query_turns_free);

/*
 * Waits for a slot of the lane. Slots are numbered through, those of the first lane first. The
 * query is ended once run_ns have passed. ticket may be NULL. Returns 0, -EAGAIN if none became
 * free in time, -ECANCELED, or -EPIPE after query_turns_stop(); with a sentence in err.
 */
int query_turns_take(struct query_turns *t, enum store_lane lane, const struct store_ticket *ticket,
		     uint64_t run_ns, unsigned *ret_slot, struct err *err) MUST_CHECK;
/* After the query has returned: from here on end() is not called. Returns why it was. */
enum query_end query_turns_settle(struct query_turns *t, unsigned slot_number);
/* For how long the query on the slot has been asked to end; 0 if it has not. */
uint64_t query_turns_ending_ns(struct query_turns *t, unsigned slot_number);
/*
 * Nobody waits for the query on the slot any more; its ticket is not used from here on. The query
 * settles later, or never. Returns why it was asked to end.
 */
enum query_end query_turns_abandon(struct query_turns *t, unsigned slot_number);
/* Slots that were abandoned and have not been given back. */
unsigned query_turns_abandoned(struct query_turns *t);
/* After query_turns_settle(). */
void query_turns_give(struct query_turns *t, unsigned slot_number);

/* A ticket has been cancelled. From any thread; does not wait. */
void query_turns_wake(struct query_turns *t);
/*
 * Ends all queries and refuses later ones. Waits until those that were not abandoned have settled,
 * or for timeout_ns.
 */
void query_turns_stop(struct query_turns *t, uint64_t timeout_ns);

#endif /* CLUSTER_AGENT_STORE_QUERY_TURNS_H */
