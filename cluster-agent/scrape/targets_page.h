/*
 * Serves GET /targets: requests arrive on any thread and wait until the loop thread answers
 * them. scraper.h describes the JSON.
 */
#ifndef CLUSTER_AGENT_SCRAPE_TARGETS_PAGE_H
#define CLUSTER_AGENT_SCRAPE_TARGETS_PAGE_H

#include "cluster-agent/scrape/target_table.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/system/loop.h"

struct http_exchange;
struct targets_page;

/* The data to show. Everything is borrowed. */
struct targets_view {
	const struct target_table *table;
	uint64_t now_ns;       /* since the Unix epoch */
	uint64_t monotonic_ns; /* the same moment */
	uint64_t interval_ns;
	uint64_t cpu_seconds; /* duration of a CPU profile */
	bool discovery_synced;
	const char *discovery_problem;
	const char *forwarding; /* NULL if profiles are not forwarded */
	enum kube_naming naming;
};

/* Pure. Returns 0, -ENOMEM, or -EFBIG if out's limit is exceeded. */
int targets_json_write(struct buf *out, const struct targets_view *v) MUST_CHECK;

/* wake is woken when a request arrives. */
int targets_page_new(struct targets_page **ret, struct loop_source *wake) MUST_CHECK;
/* Call when no thread can call targets_page_serve() any more. */
void targets_page_free(struct targets_page *page);

/* May be called from any thread. Answers 503 if too many requests wait, or after the stop. */
void targets_page_serve(struct targets_page *page, struct http_exchange *x);
/* Answers all waiting requests. */
void targets_page_answer(struct targets_page *page, const struct targets_view *v);
/* Answers waiting and later requests with 503. */
void targets_page_stop(struct targets_page *page);

#endif /* CLUSTER_AGENT_SCRAPE_TARGETS_PAGE_H */
