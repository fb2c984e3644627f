/* What a scraper is configured with; shared by scraper.h and the parts that it is made of. */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPER_CONFIG_H
#define CLUSTER_AGENT_SCRAPE_SCRAPER_CONFIG_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/system/loop.h"
#include "common/upload/receiver_wishes.h"
#include "common/upload/upload_url.h"

/* Strings are borrowed, must outlive the scraper, and are NULL if not given. */
struct scraper_auth {
	const char *ca_file; /* NULL: the system's CA bundle */
	bool insecure_skip_verify;
	const char *tls_server_name; /* the name expected in certificates, instead of the address */
	const char *cert_file;
	const char *key_file;
	const char *token_file; /* holds a bearer token; read again when it is a minute old */
	const char *username;
	const char *password_file; /* likewise */
	bool over_http;            /* send token or password over plain http, too */
};

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
};

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPER_CONFIG_H */
