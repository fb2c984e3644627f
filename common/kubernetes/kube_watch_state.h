/*
 * Decides what a kube_watch requests next, from the outcome of its last request. Pure but for
 * the state it is given.
 *
 * A watch that ended is resumed from the last version, but not sooner than twice the shortest
 * retry delay (1 s) after its start. A connection that lasted for the shortest retry delay (500
 * ms) was not refused, however it ended. Failures are retried with back-off, which events
 * reset. 410 Gone and answers that cannot be parsed lead to a new list; after any other failure
 * in the middle of a list, the same page is requested again.
 */
#ifndef COMMON_KUBERNETES_KUBE_WATCH_STATE_H
#define COMMON_KUBERNETES_KUBE_WATCH_STATE_H

#include "common/base.h"
#include "common/http/backoff.h"
#include "common/system/clock.h"

#define KUBE_WATCH_RETRY_AFTER_MAX_NS (300 * NS_PER_S)

enum kube_step {
	KUBE_STEP_LIST, /* the first page */
	KUBE_STEP_PAGE, /* the next page of a list */
	KUBE_STEP_WATCH,
};

/* The outcome of one request. */
struct kube_outcome {
	int error;      /* as in kube_result, or -EBADMSG if the answer could not be parsed */
	int status;     /* HTTP status; 0 if error is set */
	int event_code; /* of the ERROR event that ended a watch; 0 if none */
	bool has_more;  /* another page of the list follows */
	size_t n_events;
	uint64_t lasted_ns;
	uint64_t retry_after_ns;
};

enum kube_verdict {
	KUBE_VERDICT_FINE,
	KUBE_VERDICT_GONE, /* our version is too old, which is normal after a pause */
	KUBE_VERDICT_FAILED,
};

struct kube_watch_state {
	enum kube_step step; /* the next request … */
	uint64_t delay_ns;   /* … and the delay before it */
	struct backoff backoff;
	bool failing;
	enum kube_step failing_step; /* failing ends when this step succeeds */
	bool was_gone;               /* 410 Gone was received since the last event */
	bool was_silent;             /* the last watch timed out without a byte */
};

void kube_watch_state_init(struct kube_watch_state *st, uint64_t retry_min_ns,
			   uint64_t retry_max_ns, uint64_t random);

/* The request of st->step has ended. Stores the next step and its delay in st. */
enum kube_verdict kube_watch_state_advance(struct kube_watch_state *st,
					   const struct kube_outcome *o);

/* A watch delivered an event, perhaps a bookmark: it works. */
void kube_watch_state_event(struct kube_watch_state *st);

#define KUBE_WATCH_SHORT_S 2u

/*
 * Returns timeoutSeconds for the next watch, spread so that clients do not all reconnect at
 * once. The first watch after a failure is short, because a watch without events only proves
 * that it works by its end. So is the watch after a silent one: some servers send no bookmarks,
 * and a short watch tells them from a server that hangs, which does not end it.
 */
unsigned kube_watch_state_timeout_s(struct kube_watch_state *st);

struct kube_watch_problem {
	char text[600]; /* "cannot list pods: …" */
	char hint[128]; /* advice; "" if there is none */
};

/* msg is the message of the server or of the connection. */
void kube_watch_explain(struct kube_watch_problem *ret, const char *what, enum kube_step step,
			const struct kube_outcome *o, const char *msg);

#endif /* COMMON_KUBERNETES_KUBE_WATCH_STATE_H */
