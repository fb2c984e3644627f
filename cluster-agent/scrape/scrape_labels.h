/* The labels of scraped profiles. Loop thread only. */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_LABELS_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_LABELS_H

#include "cluster-agent/scrape/scraper_config.h"
#include "cluster-agent/scrape/target_table.h"
#include "common/base.h"
#include "common/text/kube_names.h"

/* Room for those of a pod, or of another target, and the end. */
#define SCRAPE_LABELS_MAX (SCRAPE_TARGET_MAX_LABELS + PLACE_LABELS_MAX + 10)

/* What labels may point into. */
struct scrape_label_texts {
	char port[8];
	char container_id[KUBE_NAME_BYTES];
};

/*
 * Those of the next profile of e; a NULL name ends them. They point into texts, the target and what
 * cfg->place_labels() returns.
 */
void scrape_labels_make(struct upload_label ret[static SCRAPE_LABELS_MAX],
			struct scrape_label_texts *texts, const struct target_endpoint *e,
			const struct scraper_config *cfg);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_LABELS_H */
