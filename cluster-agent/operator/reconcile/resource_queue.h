/*
 * The Coroot resources that exist, and when each is to be reconciled. Pure; times come from the
 * caller, monotonic, in ns.
 *
 * A resource is due shortly after it has changed, so that several changes are one reconcile; later
 * after each failure; soon after an object of it has drifted, and ever later if that repeats, so
 * that two programs that undo each other's changes do not keep the API server busy; while its pods
 * are not ready, less and less often; and every RESOURCE_RESYNC_NS, for what no event tells. While
 * one is being reconciled, it is not due.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RECONCILE_RESOURCE_QUEUE_H
#define CLUSTER_AGENT_OPERATOR_RECONCILE_RESOURCE_QUEUE_H

#include "common/base.h"
#include "common/data/table.h"
#include "common/http/backoff.h"
#include "common/system/clock.h"

#define RESOURCES_MAX 1000u
#define RESOURCE_UID_BYTES 64

#define RESOURCE_CHANGE_NS (500 * NS_PER_MS) /* after a change of the resource */
#define RESOURCE_PROGRESS_NS (2 * NS_PER_S)  /* after a change of the status of its pods */
#define RESOURCE_DRIFT_MAX_NS (60 * NS_PER_S)
#define RESOURCE_CALM_NS (300 * NS_PER_S) /* without drift: the next is repaired soon again */
#define RESOURCE_RETRY_NS (2 * NS_PER_S)
#define RESOURCE_RETRY_MAX_NS (300 * NS_PER_S)
#define RESOURCE_WAIT_NS (10 * NS_PER_S) /* while pods are not ready */
#define RESOURCE_WAIT_MAX_NS (120 * NS_PER_S)
#define RESOURCE_RESYNC_NS (600 * NS_PER_S)

struct resource {
	UT_hash_handle hh; /* by key */
	UT_hash_handle by_uid;
	char *key; /* "namespace/name" */
	char *namespace;
	const char *name; /* in key */
	char uid[RESOURCE_UID_BYTES];
	uint64_t digest;   /* of what it asks for */
	uint64_t due_ns;   /* UINT64_MAX: it is not */
	uint64_t again_ns; /* the same of one that is running, for afterwards */
	uint64_t drifted_ns;
	uint64_t hold_until_ns; /* monotonic: of reconcile_apply.c; 0: nothing is held back */
	struct backoff retries;
	struct backoff drifts;
	struct backoff waits;
	bool failing; /* the last reconcile failed */
	bool running;
	bool drifted;                      /* it is due because of a drift */
	bool gone;                         /* it was deleted while it was running */
	bool listed;                       /* in the current list */
	char next_uid[RESOURCE_UID_BYTES]; /* made again while it was running; "": it was not */
	bool unlinked;                     /* memory was short: not in the table by uid */
	bool must_leave;                   /* resource_queue_leave() */
	bool leaves;                       /* the present reconcile began after that */
	bool has_left;                     /* such a reconcile has succeeded */
	void *work;                        /* of the caller, while it is running */
};

struct resource_queue {
	struct resource *by_key;
	struct resource *by_uid;
	size_t n;
	uint64_t random; /* seed of jitter */
};

void resource_queue_fini(struct resource_queue *q);

/*
 * The resource exists; it becomes due if it is new or its digest has changed. Returns 0, -ENOMEM,
 * -ENOSPC if there are RESOURCES_MAX others, or -EINVAL if the uid is empty or a name too long.
 */
int resource_queue_put(struct resource_queue *q, const char *namespace, const char *name,
		       const char *uid, uint64_t digest, uint64_t now_ns) MUST_CHECK;
/* It no longer exists. If it is running, it is freed by resource_queue_done(). */
void resource_queue_remove(struct resource_queue *q, const char *namespace, const char *name);

/* A list of all resources: those that are not put before its end no longer exist. */
void resource_queue_list_begin(struct resource_queue *q);
void resource_queue_list_end(struct resource_queue *q);

struct resource *resource_queue_find_uid(struct resource_queue *q, const char *uid);

/* An object of the resource is not as it was applied. */
void resource_queue_drifted(struct resource *r, uint64_t now_ns);
/* The status of its pods has changed, or it has an object that is new to us. */
void resource_queue_progressed(struct resource *r, uint64_t now_ns);

/* The resource that has been due for longest, which is then running; NULL if none is due. */
struct resource *resource_queue_next(struct resource_queue *q, uint64_t now_ns);
/* When one becomes due, or UINT64_MAX. */
uint64_t resource_queue_next_ns(const struct resource_queue *q);

/*
 * The namespace is being deleted, and its resources are to be given up: each becomes due, and
 * leaves with the first reconcile that begins after this and does not have to be repeated.
 */
void resource_queue_leave(struct resource_queue *q, const char *namespace, uint64_t now_ns);
/* Whether one has not left yet. */
bool resource_queue_is_leaving(const struct resource_queue *q);

enum reconcile_outcome {
	RECONCILE_DONE,
	RECONCILE_WAITS, /* the same, but pods are not ready, and why may change without an event */
	RECONCILE_RETRY, /* something failed, or the answer is not known */
	RECONCILE_GONE,  /* the resource does not exist */
	RECONCILE_OUTCOME_MAX,
};

/* r is no longer running, and may be freed. */
void resource_queue_done(struct resource_queue *q, struct resource *r,
			 enum reconcile_outcome outcome, uint64_t now_ns);

#endif /* CLUSTER_AGENT_OPERATOR_RECONCILE_RESOURCE_QUEUE_H */
