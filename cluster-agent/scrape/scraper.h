/*
 * Fetches the profiles of all targets, each endpoint once per interval, and passes them on in
 * the form of an upload. Loop thread, and worker threads that decode and encode.
 *
 * An endpoint's slot within the interval comes from a hash of pod, port and kind, so the load
 * is even, and stays so. A new target is scraped immediately (a few per second; the others wait
 * for their slot). At most max_in_flight requests run at once, and their bodies together take
 * at most max_memory_bytes. Late, skipped, refused and failed scrapes are counted by reason.
 *
 * Requests go to the pod's own address only: no redirects, no proxy.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPER_H
#define CLUSTER_AGENT_SCRAPE_SCRAPER_H

#include "cluster-agent/discover/scrape_target.h"
#include "cluster-agent/scrape/scraper_config.h"
#include "common/base.h"
#include "common/err.h"
#include "common/telemetry/metrics.h"

struct http_exchange;
struct scraper;

int scraper_new(struct scraper **ret, const struct scraper_config *cfg, struct err *err) MUST_CHECK;
/*
 * Call before scraper_free() while threads of an HTTP server may still call
 * scraper_serve_targets(): cancels all scrapes, starts no more, and answers waiting and new
 * exchanges with 503. put() is not called afterwards.
 */
void scraper_stop(struct scraper *s);
/* Stops if necessary, and waits for running conversions. */
void scraper_free(struct scraper *s);
DEFINE_CLEANUP(struct scraper *, scraper_free);

/*
 * Adds the pod, or replaces it. t is copied. The state of an endpoint (its previous values) is
 * kept as long as address, kind, scheme, port, path and settings stay the same. Returns 0, -ENOMEM,
 * or -errno of making clients for new settings: the pod is then as it was before, or no longer in
 * the scraper at all.
 */
int scraper_upsert(struct scraper *s, const struct scrape_target *t) MUST_CHECK;
/* Forgets settings that no target has any more; call it when many have been removed. */
void scraper_drop_settings(struct scraper *s);
/* Stops scraping the pod immediately and cancels its requests. */
void scraper_remove(struct scraper *s, const char *uid);
/*
 * Calls owns() again for every pod. A pod that was given up and comes back starts without
 * previous values.
 */
void scraper_ownership_changed(struct scraper *s);

/*
 * An http_handler_fn for GET /targets as JSON, from any thread; ctx is the scraper:
 * {"now":ms,"intervalMs":…,"discovery":{"synced":bool,"problem":""},"forwarding":"<url>",
 *  "targets":[{"namespace","pod","node","service","ip",
 *    "state":"up|refused|down|not_offered|pending|invalid|elsewhere","problem",
 *    "endpoints":[{"type","url","state":"up|refused|down|not_offered|pending","lastScrape":ms|null,
 *      "lastDurationMs","lastBytes","lastError","nextScrape":ms|null}]}]}
 */
void scraper_serve_targets(void *ctx, struct http_exchange *x);
/* Sets "discovery" in that JSON; problem is copied. */
void scraper_set_discovery(struct scraper *s, bool synced, const char *problem);
/*
 * Sets "forwarding" in that JSON, which is omitted otherwise. url is copied, without user and
 * password. Returns 0 or -ENOMEM.
 */
int scraper_set_forwarding(struct scraper *s, const char *url) MUST_CHECK;

/*
 * What became of the profile that was put under that number: an upload_receipt_fn, whose ctx is the
 * scraper. Shown until a later profile of the same endpoint is taken, or has nothing in it.
 */
void scraper_take_receipt(void *ctx, uint64_t number, const char *refusal);

/* Replaces those of the configuration, from the next profile on. */
void scraper_set_wishes(struct scraper *s, const struct receiver_wishes *w);

/*
 * Registers coroot_cluster_agent_scrape…. Call before other threads start; the scraper's own
 * start with the first profile.
 */
int scraper_register(struct scraper *s, struct metrics *ms) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPER_H */
