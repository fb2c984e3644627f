/*
 * The rules of listing and watching, without any I/O, so that each of them can be tested alone.
 * The difficult part is to tell failures from ordinary ends, because an API server behind
 * proxies ends watches in every way there is:
 *
 * - a watch that ends, or whose connection is cut after it has worked for a while, is resumed
 *   at once
 * - a watch that is silent until the idle time-out is resumed once, as a short one; only if that
 *   is silent as well, the server hangs
 * - 410 Gone leads to a new list after the shortest delay; a second one in a row counts as a
 *   failure, with back-off: a server that answers 410 to a version it has just handed out must
 *   not be asked in a busy loop
 * - everything else counts as a failure: the same request again if it may succeed later, else a
 *   new list
 *
 * Lists may work while watches fail (the verbs are separate rights), so a failed watch counts
 * as failing until a watch works.
 */
#include "common/kubernetes/kube_watch_state.h"

#include <errno.h>

#define MIN_WATCH_S 240u
#define MAX_WATCH_S 300u

void kube_watch_state_init(struct kube_watch_state *st, uint64_t retry_min_ns,
			   uint64_t retry_max_ns, uint64_t random)
{
	*st = (struct kube_watch_state){
		.step = KUBE_STEP_LIST,
		.backoff = {.min_ns = retry_min_ns, .max_ns = retry_max_ns, .random = random},
	};
}

static bool is_ok(const struct kube_outcome *o)
{
	return o->error == 0 && o->status >= 200 && o->status < 300 && o->event_code == 0;
}

/* Proxies cut connections after some time; that is as good an end as the server's own. */
static bool watch_ended(const struct kube_watch_state *st, const struct kube_outcome *o)
{
	return is_ok(o) || (o->error == -ECONNRESET && o->event_code == 0 &&
			    (o->n_events > 0 || o->lasted_ns >= st->backoff.min_ns));
}

static bool is_gone(const struct kube_outcome *o)
{
	return o->status == 410 || o->event_code == 410;
}

/* Whether the same request may succeed later. */
static bool is_worth_repeating(const struct kube_outcome *o)
{
	static const int later[] = {401, 403, 404, 408, 429};

	if (o->error == -EBADMSG || o->event_code != 0)
		return false;
	if (o->error < 0 || o->status >= 500)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(later); i++)
		if (o->status == later[i])
			return true;
	return false;
}

static void set_next(struct kube_watch_state *st, enum kube_step step, uint64_t delay_ns)
{
	st->step = step;
	st->delay_ns = delay_ns;
}

/* A list does not end the failure of a watch: the right to watch is a separate one. */
static void end_failing(struct kube_watch_state *st, enum kube_step step)
{
	if (step == KUBE_STEP_WATCH || st->failing_step != KUBE_STEP_WATCH)
		st->failing = false;
}

static enum kube_verdict succeed(struct kube_watch_state *st, const struct kube_outcome *o)
{
	uint64_t spacing = 2 * st->backoff.min_ns;

	end_failing(st, st->step);
	st->was_silent = false;
	if (st->step != KUBE_STEP_WATCH) {
		set_next(st, o->has_more ? KUBE_STEP_PAGE : KUBE_STEP_WATCH, 0);
		return KUBE_VERDICT_FINE;
	}
	if (o->lasted_ns >= st->backoff.min_ns) {
		backoff_reset(&st->backoff);
		st->was_gone = false;
	}
	set_next(st, KUBE_STEP_WATCH, o->lasted_ns < spacing ? spacing - o->lasted_ns : 0);
	return KUBE_VERDICT_FINE;
}

static uint64_t retry_delay(struct kube_watch_state *st, const struct kube_outcome *o)
{
	uint64_t delay = backoff_next_ns(&st->backoff), wanted = o->retry_after_ns;

	if (wanted > KUBE_WATCH_RETRY_AFTER_MAX_NS)
		wanted = KUBE_WATCH_RETRY_AFTER_MAX_NS;
	return delay > wanted ? delay : wanted;
}

enum kube_verdict kube_watch_state_advance(struct kube_watch_state *st,
					   const struct kube_outcome *o)
{
	bool is_watch = st->step == KUBE_STEP_WATCH;

	if (is_watch ? watch_ended(st, o) : is_ok(o))
		return succeed(st, o);
	if (is_watch && o->error == -ETIMEDOUT && !st->was_silent && !st->failing) {
		st->was_silent = true;
		set_next(st, KUBE_STEP_WATCH, 0);
		return KUBE_VERDICT_FINE;
	}
	st->was_silent = false;
	if (is_gone(o) && !st->was_gone) {
		/* the server answers, however long it was unreachable before */
		st->was_gone = true;
		backoff_reset(&st->backoff);
		set_next(st, KUBE_STEP_LIST, retry_delay(st, o));
		return KUBE_VERDICT_GONE;
	}
	st->failing_step = st->step;
	st->failing = true;
	set_next(st, is_worth_repeating(o) && !is_gone(o) ? st->step : KUBE_STEP_LIST,
		 retry_delay(st, o));
	return KUBE_VERDICT_FAILED;
}

void kube_watch_state_event(struct kube_watch_state *st)
{
	backoff_reset(&st->backoff);
	st->failing = false;
	st->was_gone = false;
	st->was_silent = false;
}

unsigned kube_watch_state_timeout_s(struct kube_watch_state *st)
{
	if (st->failing || st->was_silent)
		return KUBE_WATCH_SHORT_S;
	/* advance the generator that also spreads the retries */
	st->backoff.random = st->backoff.random * UINT64_C(6364136223846793005) + 1;
	return MIN_WATCH_S +
	       (unsigned)((st->backoff.random >> 32) * (MAX_WATCH_S - MIN_WATCH_S + 1) >> 32);
}

void kube_watch_explain(struct kube_watch_problem *ret, const char *what, enum kube_step step,
			const struct kube_outcome *o, const char *msg)
{
	const char *verb = step == KUBE_STEP_WATCH ? "watch" : "list";
	const char *why = o->error == -EBADMSG ? "cannot parse the answer: " : "";

	snprintf(ret->text, sizeof(ret->text), "cannot %s %s: %s%s", verb, what, why, msg);
	ret->hint[0] = '\0';
	if (o->status == 401)
		snprintf(ret->hint, sizeof(ret->hint),
			 "the API server rejects the agent's credentials");
	else if (o->status == 403)
		snprintf(ret->hint, sizeof(ret->hint),
			 "the agent needs get, list and watch of %s (RBAC)", what);
	else if (o->status == 404)
		snprintf(ret->hint, sizeof(ret->hint),
			 "check that this is the address of an API server and that it serves %s",
			 what);
}
