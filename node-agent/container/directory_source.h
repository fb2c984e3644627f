/*
 * The directory's side of one source: whether it may be asked, and what it counts. Not
 * thread-safe: the directory has the lock.
 */
#ifndef NODE_AGENT_CONTAINER_DIRECTORY_SOURCE_H
#define NODE_AGENT_CONTAINER_DIRECTORY_SOURCE_H

#include <pthread.h>

#include "common/base.h"
#include "common/http/backoff.h"
#include "node-agent/container/container_directory.h"

#define DIRECTORY_SOURCE_FAILURES 7u

struct directory_source {
	struct container_directory *d;
	struct container_source_config cfg;
	struct container_sink sink;
	void *source; /* NULL until it is attached */
	unsigned index;

	bool is_asking;
	bool is_overdue; /* its request has not ended for so long that it counts as failed */
	bool is_failing;
	bool is_reported; /* which was logged */
	uint64_t asked_ns;
	uint64_t not_before_ns; /* it is not asked until then */
	uint64_t failing_since_ns;
	struct backoff pause;

	struct metric n_requests;
	struct metric request_ns;
	struct metric n_failures[DIRECTORY_SOURCE_FAILURES];
};

void directory_source_init(struct directory_source *s, const struct container_source_config *cfg);

/* Its bit in masks of sources. */
static inline uint64_t directory_source_bit(const struct directory_source *s)
{
	return UINT64_C(1) << s->index;
}

/* Logs and counts the failure, and sets not_before_ns. */
void directory_source_failed(struct directory_source *s, int error, uint64_t now_ns);

/*
 * Whether names are looked for without it while it cannot be asked: a user's runtime, or one that
 * has failed for so long that it may be gone for good.
 */
bool directory_source_is_dispensable(const struct directory_source *s, uint64_t now_ns);

/* Returns whether it had failed before: what it may know is to be asked for again. */
bool directory_source_answered(struct directory_source *s);

/* The sources of one directory, for their metrics. Outlives ms. */
struct directory_sources {
	pthread_mutex_t *lock;
	unsigned n;
	struct directory_source *at[CONTAINER_DIRECTORY_SOURCES_MAX];
};

int directory_sources_register_metrics(struct directory_sources *ss, struct metrics *ms) MUST_CHECK;

#endif /* NODE_AGENT_CONTAINER_DIRECTORY_SOURCE_H */
