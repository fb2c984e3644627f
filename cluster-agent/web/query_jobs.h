/*
 * Requests that ask the store: threads for them, limits, and their end when nobody waits for an
 * answer any more. The JSON API and the APIs of other tools share one.
 *
 * A request is handed over on the HTTP server's thread and answered on a thread of the pool, as
 * every answer asks the store and may take STORE_QUERY_TIMEOUT_S. The exchange, which owns the
 * texts of the request, stays with it in between; the server waits for its answer.
 *
 * Memory: a request holds the store's answer, what is made of it, and its own answer, each with a
 * limit. Exports, which hold most, are made one at a time, and in a small container so is all that
 * is made of stacks; the others wait on their threads, as they would wait for the store's CPUs if
 * it were asked at once.
 *
 * Clients, which are addresses, share the threads (fair_pool.h), and one cannot take all of them.
 * What a client asked that has left is ended: a reader who zooms quickly has aborted all his
 * requests but the last one.
 *
 * When the agent stops, requests that wait are answered with 503 and not run.
 */
#ifndef CLUSTER_AGENT_WEB_QUERY_JOBS_H
#define CLUSTER_AGENT_WEB_QUERY_JOBS_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/err.h"
#include "common/http/http_exchange.h"
#include "common/thread/fair_pool.h"

struct metrics;
struct query_job;
struct query_jobs;
struct source_code;
struct stack_cache;
struct symbol_store;

/* nginx's number for a client that has left; nobody reads the answer. */
#define QUERY_JOB_LEFT 499u

/* What one kind of request does. */
struct query_job_ops {
	/*
	 * Makes the answer, on a thread of the pool. Returns 0 or an error of profile_query.h, with
	 * a sentence in err unless errno says enough.
	 */
	int (*ask)(struct query_job *j, struct buf *out, struct err *err);
	/* Answers the exchange; body is from malloc(3) and adopted. */
	void (*send)(struct query_job *j, char *body_adopt, size_t len);
	/*
	 * Answers the exchange with 400, 404, 499, 500 or 503. error is that of ask(), -EBUSY if
	 * the request was not run, or -ECANCELED if its client has left.
	 */
	void (*fail)(struct query_job *j, unsigned status, int error, const char *reason);
	/* Frees the job after its answer, and when it was refused. */
	void (*free)(struct query_job *j);
};

/* The first member of a request, which is zeroed and filled in by its owner. */
struct query_job {
	struct fair_job fair; /* first */
	const struct query_job_ops *ops;
	struct http_exchange *exchange;
	bool is_large;   /* holds much memory, so that only one at a time is made */
	bool has_stacks; /* is made of all stacks of a selection, which takes memory */
	/* of query_jobs.c */
	struct query_jobs *jobs;
	struct store_ticket ticket; /* by which its queries are ended */
};

struct query_jobs_config {
	struct store *store;          /* borrowed; outlives the jobs */
	struct symbol_store *symbols; /* likewise; may be NULL */
	struct source_code *sources;  /* likewise */
	unsigned n_threads;           /* 0: 3 */
	unsigned max_queued;          /* requests that wait for a thread; 0: 64 */
};

int query_jobs_new(struct query_jobs **ret, const struct query_jobs_config *cfg) MUST_CHECK;
/*
 * Waits for the queries under way (store_stop_queries() ends them), answers waiting requests
 * with 503, and joins the threads.
 */
void query_jobs_stop(struct query_jobs *q);
/* Stops if that was not done. */
void query_jobs_free(struct query_jobs *q);
DEFINE_CLEANUP(struct query_jobs *, query_jobs_free);

/* Metrics coroot_cluster_agent_api_*; they must outlive ms. */
int query_jobs_register(struct query_jobs *q, struct metrics *ms) MUST_CHECK;

struct store *query_jobs_store(struct query_jobs *q);
/* Where queries look for frames first. */
struct stack_cache *query_jobs_stacks(struct query_jobs *q);
/* Names for frames that were stored without, or NULL. */
struct symbol_store *query_jobs_symbols(struct query_jobs *q);
/* Texts of files that frames name, or NULL. */
struct source_code *query_jobs_sources(struct query_jobs *q);

/* Takes the job over, also if it is refused, which is then answered. */
void query_jobs_submit(struct query_jobs *q, struct query_job *job);
/* Counts a request that was refused before it became a job. */
void query_jobs_count_bad_request(struct query_jobs *q);
void query_jobs_count_busy(struct query_jobs *q);

#endif /* CLUSTER_AGENT_WEB_QUERY_JOBS_H */
