#include "cluster-agent/store/query_turns.h"

#include <errno.h>

#include "common/system/clock.h"
#include "common/thread/condition.h"

/* Between two attempts to end a query: doubled up to the second. */
#define END_AGAIN_MIN_NS (10 * NS_PER_MS)
#define END_AGAIN_MAX_NS (500 * NS_PER_MS)

struct slot {
	enum store_lane lane;
	bool taken;
	bool running; /* taken and not settled */
	bool ending;  /* end() is under way */
	bool abandoned;
	const struct store_ticket *ticket;
	uint64_t deadline_ns;  /* of the query */
	uint64_t end_again_ns; /* not before */
	uint64_t end_delay_ns;
	enum query_end why; /* what end() was called for first */
	uint64_t why_ns;    /* since when */
};

struct query_turns {
	struct query_turns_config cfg;
	pthread_t ender;
	bool has_ender;
	pthread_mutex_t lock;     /* of all below */
	struct condition changed; /* a slot, or one of the flags */
	struct slot slots[QUERY_TURNS_MAX_SLOTS];
	unsigned n_slots;
	bool stopped; /* query_turns_stop() was called */
	bool closing;
};

static bool is_cancelled(const struct store_ticket *ticket)
{
	return ticket && atomic_load(&ticket->cancelled);
}

/* ---- the thread that ends queries ---- */

static enum query_end why_to_end(const struct query_turns *t, const struct slot *slot, uint64_t now)
{
	if (t->stopped)
		return QUERY_STOPPED;
	if (is_cancelled(slot->ticket))
		return QUERY_CANCELLED;
	return now >= slot->deadline_ns ? QUERY_TIMED_OUT : QUERY_ENDED_ITSELF;
}

/* Returns a slot to end, or NULL; *ret_when is then when to look again. */
static struct slot *find_to_end(struct query_turns *t, uint64_t now, uint64_t *ret_when)
{
	*ret_when = UINT64_MAX;
	for (unsigned i = 0; i < t->n_slots; i++) {
		struct slot *slot = &t->slots[i];
		enum query_end why = why_to_end(t, slot, now);
		uint64_t when = why ? slot->end_again_ns : slot->deadline_ns;

		if (!slot->running)
			continue;
		if (why && !slot->why) {
			slot->why = why;
			slot->why_ns = now;
		}
		if (why && when <= now)
			return slot;
		*ret_when = when < *ret_when ? when : *ret_when;
	}
	return NULL;
}

static void *end_queries(void *ctx)
{
	struct query_turns *t = ctx;

	pthread_mutex_lock(&t->lock);
	while (!t->closing) {
		uint64_t when;
		struct slot *slot = find_to_end(t, clock_monotonic_ns(), &when);

		if (!slot) {
			condition_wait_until(&t->changed, &t->lock, when);
			continue;
		}
		slot->ending = true;
		pthread_mutex_unlock(&t->lock);
		t->cfg.end(t->cfg.ctx, (unsigned)(slot - t->slots));
		pthread_mutex_lock(&t->lock);
		slot->ending = false;
		slot->end_again_ns = clock_monotonic_ns() + slot->end_delay_ns;
		if (slot->end_delay_ns < END_AGAIN_MAX_NS)
			slot->end_delay_ns *= 2;
		condition_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* ---- turns ---- */

/* Slots of the lane that may run at the same time. */
static unsigned n_running(const struct query_turns *t, enum store_lane lane)
{
	return t->cfg.n_slots[lane] - t->cfg.n_spare[lane];
}

static struct slot *find_free(struct query_turns *t, enum store_lane lane)
{
	struct slot *found = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < t->n_slots; i++) {
		struct slot *slot = &t->slots[i];

		if (slot->lane != lane)
			continue;
		n += slot->taken && !slot->abandoned;
		if (!slot->taken && !found)
			found = slot;
	}
	return n < n_running(t, lane) ? found : NULL;
}

static unsigned count_abandoned(const struct query_turns *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n_slots; i++)
		n += t->slots[i].abandoned;
	return n;
}

static int refuse(const struct query_turns *t, enum store_lane lane,
		  const struct store_ticket *ticket, struct err *err)
{
	if (t->stopped)
		return err_set(err, -EPIPE, "shutting down");
	if (is_cancelled(ticket))
		return err_set(err, -ECANCELED, "the query was cancelled");
	if (count_abandoned(t) > t->cfg.n_spare[lane])
		return err_set(err, -EAGAIN, "the engine has not ended %u earlier queries",
			       count_abandoned(t));
	return err_set(err, -EAGAIN, "%u other queries are under way", n_running(t, lane));
}

int query_turns_take(struct query_turns *t, enum store_lane lane, const struct store_ticket *ticket,
		     uint64_t run_ns, unsigned *ret_slot, struct err *err)
{
	uint64_t end_ns = condition_deadline_ns(t->cfg.wait_ns);
	struct slot *slot = NULL;
	bool in_time = true;
	int r = 0;

	pthread_mutex_lock(&t->lock);
	while (!t->stopped && !is_cancelled(ticket) && !(slot = find_free(t, lane)) && in_time)
		in_time = condition_wait_until(&t->changed, &t->lock, end_ns);
	if (slot) {
		*slot = (struct slot){
			.lane = lane,
			.taken = true,
			.running = true,
			.ticket = ticket,
			.deadline_ns = condition_deadline_ns(run_ns),
			.end_delay_ns = END_AGAIN_MIN_NS,
		};
		*ret_slot = (unsigned)(slot - t->slots);
		condition_broadcast(&t->changed); /* the deadline */
	} else {
		r = refuse(t, lane, ticket, err);
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

enum query_end query_turns_settle(struct query_turns *t, unsigned slot_number)
{
	struct slot *slot = &t->slots[slot_number];
	enum query_end why;

	pthread_mutex_lock(&t->lock);
	while (slot->ending)
		condition_wait_until(&t->changed, &t->lock, UINT64_MAX);
	why = slot->why ?: why_to_end(t, slot, 0);
	slot->running = false;
	slot->ticket = NULL;
	condition_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return why;
}

uint64_t query_turns_ending_ns(struct query_turns *t, unsigned slot_number)
{
	const struct slot *slot = &t->slots[slot_number];
	uint64_t ns;

	pthread_mutex_lock(&t->lock);
	ns = slot->why ? clock_monotonic_ns() - slot->why_ns : 0;
	pthread_mutex_unlock(&t->lock);
	return ns;
}

enum query_end query_turns_abandon(struct query_turns *t, unsigned slot_number)
{
	struct slot *slot = &t->slots[slot_number];
	enum query_end why;

	pthread_mutex_lock(&t->lock);
	slot->abandoned = true;
	slot->ticket = NULL;
	why = slot->why;
	condition_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return why;
}

unsigned query_turns_abandoned(struct query_turns *t)
{
	unsigned n;

	pthread_mutex_lock(&t->lock);
	n = count_abandoned(t);
	pthread_mutex_unlock(&t->lock);
	return n;
}

void query_turns_give(struct query_turns *t, unsigned slot_number)
{
	pthread_mutex_lock(&t->lock);
	t->slots[slot_number].taken = false;
	t->slots[slot_number].abandoned = false;
	condition_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

void query_turns_wake(struct query_turns *t)
{
	pthread_mutex_lock(&t->lock);
	condition_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static bool is_quiet(const struct query_turns *t)
{
	for (unsigned i = 0; i < t->n_slots; i++) {
		if (t->slots[i].taken && !t->slots[i].abandoned)
			return false;
	}
	return true;
}

void query_turns_stop(struct query_turns *t, uint64_t timeout_ns)
{
	uint64_t end_ns = condition_deadline_ns(timeout_ns);
	bool in_time = true;

	pthread_mutex_lock(&t->lock);
	t->stopped = true;
	condition_broadcast(&t->changed);
	while (!is_quiet(t) && in_time)
		in_time = condition_wait_until(&t->changed, &t->lock, end_ns);
	pthread_mutex_unlock(&t->lock);
}

/* ---- create and destroy ---- */

int query_turns_new(struct query_turns **ret, const struct query_turns_config *cfg)
{
	CLEANUP(query_turns_freep) struct query_turns *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	condition_init(&t->changed);
	t->cfg = *cfg;
	for (enum store_lane lane = 0; lane < STORE_LANE_MAX; lane++) {
		for (unsigned i = 0; i < cfg->n_slots[lane]; i++) {
			if (t->n_slots == QUERY_TURNS_MAX_SLOTS)
				return -EINVAL;
			t->slots[t->n_slots++].lane = lane;
		}
	}
	if (cfg->end && pthread_create(&t->ender, NULL, end_queries, t) != 0)
		return -EAGAIN;
	t->has_ender = cfg->end;
	*ret = TAKE_PTR(t);
	return 0;
}

void query_turns_free(struct query_turns *t)
{
	if (!t)
		return;
	if (t->has_ender) {
		pthread_mutex_lock(&t->lock);
		t->closing = true;
		condition_broadcast(&t->changed);
		pthread_mutex_unlock(&t->lock);
		pthread_join(t->ender, NULL);
	}
	condition_fini(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
