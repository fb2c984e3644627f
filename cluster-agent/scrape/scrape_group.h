/*
 * What targets are asked with: TLS, credentials and interval. Pods have one group together, a job
 * of the file of targets has its own. Loop thread only.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_GROUP_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_GROUP_H

#include "cluster-agent/scrape/scrape_request.h"
#include "cluster-agent/scrape/scraper_config.h"
#include "common/base.h"

struct http_client;

/* curl walks over all connections of a client at the end of each request, so there are several. */
#define SCRAPE_GROUP_CLIENTS 16u

struct scrape_group {
	struct scrape_settings settings; /* strings are the group's own */
	struct scrape_credentials credentials;
	struct http_client *clients[SCRAPE_GROUP_CLIENTS]; /* each serves some of the targets */
	unsigned n_clients;
	struct scrape_group *next;
	bool is_used; /* for the caller */
};

/* Copies settings. Returns 0, -ENOMEM, or -errno of making n_clients clients. */
int scrape_group_new(struct scrape_group **ret, const struct scrape_settings *settings,
		     const struct scraper_config *cfg, unsigned n_clients) MUST_CHECK;
/* No request of it may be in progress. g may be NULL. */
void scrape_group_free(struct scrape_group *g);
DEFINE_CLEANUP(struct scrape_group *, scrape_group_free);

bool scrape_group_has(const struct scrape_group *g, const struct scrape_settings *settings);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_GROUP_H */
