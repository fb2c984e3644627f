/* What a scraper is configured with; shared by scraper.h and the parts that it is made of. */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPER_CONFIG_H
#define CLUSTER_AGENT_SCRAPE_SCRAPER_CONFIG_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/kubernetes/place_labels.h"
#include "common/system/loop.h"
#include "common/upload/receiver_wishes.h"
#include "common/upload/upload_url.h"

struct scraper_config {
	struct loop *loop;
	uint64_t interval_ns;
	uint64_t timeout_ns;      /* of a request, in addition to the duration of a CPU profile */
	uint64_t cpu_duration_ns; /* whole seconds, at most the interval */
	unsigned max_in_flight;
	size_t max_body_bytes;
	size_t max_memory_bytes;
	unsigned n_threads; /* 0 means 1 */
	struct scraper_auth auth;
	struct receiver_wishes wishes; /* how services are named, and whether k8s.… is added */

	void *ctx;
	/* Returns whether this replica scrapes the pod. */
	bool (*owns)(void *ctx, const char *uid);
	/*
	 * Takes the content of body (a gzipped pprof) in any case. labels are those of
	 * upload_url_make(). scraper_take_receipt() may be called with the number later on.
	 */
	void (*put)(void *ctx, uint64_t number, const struct upload_label *labels,
		    struct buf *body);
	/*
	 * More labels of a pod's profiles, as place_labels_find() has them, where the receiver
	 * takes any; those that the pod has itself stay alone. NULL: none.
	 */
	size_t (*place_labels)(void *ctx, const char *namespace, const char *node,
			       struct place_label ret[static PLACE_LABELS_MAX]);
};

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPER_CONFIG_H */
