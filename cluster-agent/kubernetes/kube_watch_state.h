/*
 * What a kube_watch asks the API server for next, after what came of its last request. Pure but
 * for the state it is given.
 *
 * A watch that ends is asked for again from where it was, but not sooner than twice the
 * shortest retry after it was asked for (1 s). A connection that held for the shortest retry
 * (500 ms) was no refusal, however it ended. What fails is tried again with back-off, which
 * starts over when events come. 410 Gone and answers that are not understood lead to a new
 * list; other failures in the middle of a list ask for the same page again.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_WATCH_STATE_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_WATCH_STATE_H

#include "common/base.h"
#include "common/http/backoff.h"
#include "common/system/clock.h"

#define KUBE_WATCH_RETRY_AFTER_MAX_NS (300 * NS_PER_S)

enum kube_step {
	KUBE_STEP_LIST, /* from its first page */
	KUBE_STEP_PAGE, /* the page of a list that comes next */
	KUBE_STEP_WATCH,
};

/* Of one request. */
struct kube_outcome {
	int error;      /* as of kube_result, or -EBADMSG: the answer was not understood */
	int status;     /* of HTTP; 0 when error */
	int event_code; /* of the ERROR event that ended a watch; 0: there was none */
	bool has_more;  /* of a list: this was not the last page */
	size_t n_events;
	uint64_t lasted_ns;
	uint64_t retry_after_ns;
};

enum kube_verdict {
	KUBE_VERDICT_FINE,
	KUBE_VERDICT_GONE, /* what we know is too old: nobody's fault */
	KUBE_VERDICT_FAILED,
};

struct kube_watch_state {
	enum kube_step step; /* to be taken next … */
	uint64_t delay_ns;   /* … after this */
	struct backoff backoff;
	bool failing;
	enum kube_step failing_step; /* what has to work for failing to end */
	bool was_gone;               /* since the last event */
	bool was_silent;             /* the last watch, until its time was up */
};

void kube_watch_state_init(struct kube_watch_state *st, uint64_t retry_min_ns,
			   uint64_t retry_max_ns, uint64_t random);

/* The request of st->step is over: what to do next is in st. */
enum kube_verdict kube_watch_state_advance(struct kube_watch_state *st,
					   const struct kube_outcome *o);

/* An event came through a watch, bookmarks included: it works. */
void kube_watch_state_event(struct kube_watch_state *st);

#define KUBE_WATCH_SHORT_S 2u

/*
 * timeoutSeconds of the next watch: spread, so that not all clients come back at once. The
 * first one after a failure is short: a quiet watch says that it works only by its end. So is
 * the one after a silent watch: there are servers without bookmarks, and one that hangs does
 * not end it.
 */
unsigned kube_watch_state_timeout_s(struct kube_watch_state *st);

struct kube_watch_problem {
	char text[600]; /* "cannot list pods: …" */
	char hint[128]; /* what to do about it; "" when there is nothing to say */
};

/* msg is what the server or the connection said. */
void kube_watch_explain(struct kube_watch_problem *ret, const char *what, enum kube_step step,
			const struct kube_outcome *o, const char *msg);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_WATCH_STATE_H */
