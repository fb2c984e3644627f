/* Turns of queries with an engine that the test plays; meant for the thread sanitizer, too. */
#include "cluster-agent/store/query_turns.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define N_SLOTS 4u
#define FOR_EVER UINT64_MAX

/* An engine: a query runs until it is ended, and loses what came before it had begun. */
struct engine {
	struct query_turns *turns;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool running[N_SLOTS], ended[N_SLOTS];
};

static void end_query(void *ctx, unsigned slot)
{
	struct engine *e = ctx;

	pthread_mutex_lock(&e->lock);
	if (e->running[slot])
		e->ended[slot] = true;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

static void begin(struct engine *e, uint64_t wait_ns)
{
	const struct query_turns_config cfg = {
		.n_slots = {[STORE_FOR_PAGE] = 1, [STORE_FOR_SQL] = 2, [STORE_FOR_AGENT] = 1},
		.wait_ns = wait_ns,
		.end = end_query,
		.ctx = e,
	};

	*e = (struct engine){0};
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, NULL);
	assert_int_equal(query_turns_new(&e->turns, &cfg), 0);
}

static void finish(struct engine *e)
{
	query_turns_free(e->turns);
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->lock);
}

struct query {
	struct engine *engine;
	enum store_lane lane;
	struct store_ticket ticket;
	uint64_t run_ns;
	useconds_t start_us; /* until the engine knows it */
	pthread_t thread;
	int r;
	enum query_end why;
};

static void *run(void *ctx)
{
	struct query *q = ctx;
	struct engine *e = q->engine;
	unsigned slot;

	q->r = query_turns_take(e->turns, q->lane, &q->ticket, q->run_ns, &slot, NULL);
	if (q->r < 0)
		return NULL;
	usleep(q->start_us);
	pthread_mutex_lock(&e->lock);
	assert_false(e->running[slot]);
	e->running[slot] = true;
	while (!e->ended[slot])
		pthread_cond_wait(&e->changed, &e->lock);
	pthread_mutex_unlock(&e->lock);
	q->why = query_turns_settle(e->turns, slot);
	pthread_mutex_lock(&e->lock);
	e->running[slot] = false;
	e->ended[slot] = false;
	pthread_mutex_unlock(&e->lock);
	query_turns_give(e->turns, slot);
	return NULL;
}

static void start(struct engine *e, struct query *q, enum store_lane lane)
{
	q->engine = e;
	q->lane = lane;
	q->run_ns = q->run_ns ?: FOR_EVER;
	assert_int_equal(pthread_create(&q->thread, NULL, run, q), 0);
}

static void cancel(struct query *q)
{
	atomic_store(&q->ticket.cancelled, true);
	query_turns_wake(q->engine->turns);
}

static void expect_end(struct query *q, int r, enum query_end why)
{
	assert_int_equal(pthread_join(q->thread, NULL), 0);
	assert_int_equal(q->r, r);
	if (r == 0)
		assert_int_equal(q->why, why);
}

TEST(a_query_that_only_starts_is_ended_when_it_runs)
{
	struct query q = {.start_us = 50000};
	struct engine e;

	begin(&e, FOR_EVER);
	start(&e, &q, STORE_FOR_SQL);
	cancel(&q);
	assert_int_equal(pthread_join(q.thread, NULL), 0);
	/* or it did not begin at all */
	if (q.r == 0)
		assert_int_equal(q.why, QUERY_CANCELLED);
	else
		assert_int_equal(q.r, -ECANCELED);
	finish(&e);
}

TEST(a_query_is_ended_when_its_time_is_over)
{
	struct query q = {.run_ns = 20 * NS_PER_MS};
	struct engine e;

	begin(&e, FOR_EVER);
	start(&e, &q, STORE_FOR_PAGE);
	expect_end(&q, 0, QUERY_TIMED_OUT);
	finish(&e);
}

TEST(a_query_waits_for_so_long_and_for_its_lane_only)
{
	struct query page = {0}, sql = {0};
	struct engine e;
	unsigned slot, other;

	begin(&e, NS_PER_MS);
	assert_int_equal(query_turns_take(e.turns, STORE_FOR_PAGE, NULL, FOR_EVER, &slot, NULL), 0);
	assert_int_equal(slot, 0);
	assert_int_equal(query_turns_take(e.turns, STORE_FOR_PAGE, NULL, FOR_EVER, &other, NULL),
			 -EAGAIN);
	assert_int_equal(query_turns_take(e.turns, STORE_FOR_AGENT, NULL, FOR_EVER, &other, NULL),
			 0);
	assert_int_equal(other, 3);
	assert_int_equal(query_turns_settle(e.turns, slot), QUERY_ENDED_ITSELF);
	query_turns_give(e.turns, slot);
	assert_int_equal(query_turns_settle(e.turns, other), QUERY_ENDED_ITSELF);
	query_turns_give(e.turns, other);
	start(&e, &page, STORE_FOR_PAGE);
	start(&e, &sql, STORE_FOR_SQL);
	cancel(&page);
	cancel(&sql);
	pthread_join(page.thread, NULL);
	pthread_join(sql.thread, NULL);
	finish(&e);
}

TEST(stopping_ends_what_runs_and_refuses_what_waits)
{
	struct query q[6] = {0};
	struct engine e;
	unsigned n_ran = 0, slot;

	begin(&e, FOR_EVER);
	for (size_t i = 0; i < ARRAY_SIZE(q); i++)
		start(&e, &q[i], STORE_FOR_SQL);
	query_turns_stop(e.turns, FOR_EVER);
	for (size_t i = 0; i < ARRAY_SIZE(q); i++) {
		assert_int_equal(pthread_join(q[i].thread, NULL), 0);
		n_ran += q[i].r == 0;
		if (q[i].r == 0)
			assert_int_equal(q[i].why, QUERY_STOPPED);
		else
			assert_int_equal(q[i].r, -EPIPE);
	}
	assert_true(n_ran <= 2);
	assert_int_equal(query_turns_take(e.turns, STORE_FOR_PAGE, NULL, FOR_EVER, &slot, NULL),
			 -EPIPE);
	finish(&e);
}

/* After a query has settled, nothing may hit the next one of its slot. */
TEST(an_end_never_hits_the_next_query)
{
	struct engine e;

	begin(&e, FOR_EVER);
	for (unsigned i = 0; i < 200; i++) {
		struct query victim = {.start_us = i % 4 * 300}, next = {0};

		start(&e, &victim, STORE_FOR_PAGE);
		start(&e, &next, STORE_FOR_PAGE);
		cancel(&victim);
		assert_int_equal(pthread_join(victim.thread, NULL), 0);
		pthread_mutex_lock(&e.lock);
		assert_false(e.ended[0]);
		pthread_mutex_unlock(&e.lock);
		cancel(&next);
		assert_int_equal(pthread_join(next.thread, NULL), 0);
	}
	finish(&e);
}

TEST(an_abandoned_query_makes_room_for_another_one)
{
	const struct query_turns_config cfg = {
		.n_slots = {[STORE_FOR_SQL] = 3},
		.n_spare = {[STORE_FOR_SQL] = 2},
		.wait_ns = NS_PER_MS,
	};
	CLEANUP(query_turns_freep) struct query_turns *t = NULL;
	unsigned slots[4];

	assert_int_equal(query_turns_new(&t, &cfg), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(
			query_turns_take(t, STORE_FOR_SQL, NULL, FOR_EVER, &slots[i], NULL), 0);
		assert_int_equal(
			query_turns_take(t, STORE_FOR_SQL, NULL, FOR_EVER, &slots[3], NULL),
			-EAGAIN);
		(void)query_turns_abandon(t, slots[i]);
		assert_int_equal(query_turns_abandoned(t), i + 1);
	}
	/* all places are lost until one of the queries returns */
	assert_int_equal(query_turns_take(t, STORE_FOR_SQL, NULL, FOR_EVER, &slots[3], NULL),
			 -EAGAIN);
	(void)query_turns_settle(t, slots[1]);
	query_turns_give(t, slots[1]);
	assert_int_equal(query_turns_take(t, STORE_FOR_SQL, NULL, FOR_EVER, &slots[3], NULL), 0);
	assert_int_equal(slots[3], slots[1]);
	query_turns_stop(t, NS_PER_MS);
}
