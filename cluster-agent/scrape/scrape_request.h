/*
 * Makes the parts of a request to an endpoint: URL, address to connect to, credentials. Token
 * and password are read from their files again when they are a minute old; they never appear in
 * an error text or a URL.
 */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_REQUEST_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_REQUEST_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/err.h"
#include "common/system/clock.h"

#define CREDENTIALS_MAX_AGE_NS (60 * NS_PER_S)
/* Enough for any address with brackets and port, and any host's name. */
#define SCRAPE_ADDRESS_BYTES 280u

struct scraper_auth;

/* The location of an endpoint; ip is numeric, or the name of a host. */
struct scrape_place {
	const char *ip;
	uint16_t port;
	bool https;
	const char *path;
};

/* Makes "10.0.0.1:80" or "[::1]:80". */
void scrape_address(char ret[static SCRAPE_ADDRESS_BYTES], const struct scrape_place *place);

/*
 * Makes the URL; the caller frees *ret. host is used in place of the address unless NULL.
 * seconds is the duration to record for; 0 omits the parameter. Returns 0 or -ENOMEM.
 */
int scrape_url_make(char **ret, const struct scrape_place *place, const char *host,
		    uint64_t seconds) MUST_CHECK;

struct scrape_credentials {
	const struct scraper_auth *auth; /* borrowed */
	char *header;                    /* "Authorization: …"; NULL if there is none */
	uint64_t read_at_ns;             /* monotonic; 0 if not read yet */
};

void scrape_credentials_init(struct scrape_credentials *c, const struct scraper_auth *auth);
void scrape_credentials_fini(struct scrape_credentials *c);

/*
 * *ret is borrowed until the next call, and NULL if nothing is to be sent. Returns 0, the errno
 * of reading a file, -EBADMSG with a sentence in err if its content cannot be sent, or -ENOMEM.
 */
int scrape_credentials_get(struct scrape_credentials *c, bool https, uint64_t now_ns,
			   const char **ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_REQUEST_H */
