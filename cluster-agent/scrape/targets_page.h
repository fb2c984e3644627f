/*
 * GET /targets: requests wait here, from any thread, until the loop thread answers them. The JSON is
 * described in scraper.h.
 */
#ifndef CLUSTER_AGENT_SCRAPE_TARGETS_PAGE_H
#define CLUSTER_AGENT_SCRAPE_TARGETS_PAGE_H

#include "cluster-agent/scrape/target_table.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/system/loop.h"

struct http_exchange;
struct targets_page;

/* What is shown. All borrowed. */
struct targets_view {
	const struct target_table *table;
	uint64_t now_ns;       /* since the epoch */
	uint64_t monotonic_ns; /* the same moment */
	uint64_t interval_ns;
	uint64_t cpu_seconds; /* of a CPU profile */
	bool discovery_synced;
	const char *discovery_problem;
	const char *forwarding; /* NULL: not */
};

/* Pure. 0; -ENOMEM; -EFBIG: beyond out's limit. */
int targets_json_write(struct buf *out, const struct targets_view *v) MUST_CHECK;

/* wake is woken when a request waits. */
int targets_page_new(struct targets_page **ret, struct loop_source *wake) MUST_CHECK;
/* After targets_page_stop(), and when no thread calls targets_page_serve() any more. */
void targets_page_free(struct targets_page *page);

/* From any thread. Answered with 503 when too many wait or after the stop. */
void targets_page_serve(struct targets_page *page, struct http_exchange *x);
/* Answers those that wait. */
void targets_page_answer(struct targets_page *page, const struct targets_view *v);
/* Those that wait, and all that come, are answered with 503. */
void targets_page_stop(struct targets_page *page);

#endif /* CLUSTER_AGENT_SCRAPE_TARGETS_PAGE_H */
