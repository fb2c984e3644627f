/*
 * What is sent to an endpoint: URL, address to connect to, credentials. Token and password are read from
 * their files again when they are a minute old; they are in no sentence and no URL.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_REQUEST_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_REQUEST_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/err.h"
#include "common/system/clock.h"

#define CREDENTIALS_MAX_AGE_NS (60 * NS_PER_S)
/* Longer than any address with a port, in brackets. */
#define SCRAPE_ADDRESS_BYTES 64u

struct scraper_auth;

/* Where an endpoint is. ip is numeric. */
struct scrape_place {
	const char *ip;
	uint16_t port;
	bool https;
	const char *path;
};

/* "10.0.0.1:80", "[::1]:80" */
void scrape_address(char ret[static SCRAPE_ADDRESS_BYTES], const struct scrape_place *place);

/*
 * *ret is the caller's. host: to be named instead of the address; NULL: none. seconds: of a CPU
 * profile; 0: no such parameter. -ENOMEM.
 */
int scrape_url_make(char **ret, const struct scrape_place *place, const char *host,
		    uint64_t seconds) MUST_CHECK;

struct scrape_credentials {
	const struct scraper_auth *auth; /* borrowed */
	char *header;                    /* "Authorization: …"; NULL: there is none */
	uint64_t read_at_ns;             /* monotonic; 0: not yet */
};

void scrape_credentials_init(struct scrape_credentials *c, const struct scraper_auth *auth);
void scrape_credentials_fini(struct scrape_credentials *c);

/*
 * *ret is borrowed until the next call; NULL: nothing is to be sent. -errno of reading a file,
 * -EBADMSG: what is in it cannot be sent, with a sentence in err; -ENOMEM.
 */
int scrape_credentials_get(struct scrape_credentials *c, bool https, uint64_t now_ns,
			   const char **ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_REQUEST_H */
