/*
 * The pods that are known to the scraper, by uid, and the state of each of their endpoints. Loop
 * thread only. Does nothing by itself: what is under way is the scraper's business.
 */
#ifndef CLUSTER_AGENT_SCRAPE_TARGET_TABLE_H
#define CLUSTER_AGENT_SCRAPE_TARGET_TABLE_H

#include "cluster-agent/discover/scrape_target.h"
#include "cluster-agent/scrape/profile_baseline.h"
#include "cluster-agent/scrape/scrape_schedule.h"
#include "common/base.h"
#include "common/data/table.h"

struct scrape_job; /* a scrape under way; the scraper's */

/* What a pod or an endpoint is shown as. Endpoints have the first three. */
enum target_state {
	TARGET_PENDING, /* not scraped yet */
	TARGET_UP,      /* the last scrape was right; of a pod: that of at least one endpoint */
	TARGET_DOWN,
	TARGET_INVALID,   /* has a problem, or nothing to scrape */
	TARGET_ELSEWHERE, /* another replica's */
	TARGET_STATE_MAX,
};

const char *target_state_name(enum target_state s);

struct target;

struct target_endpoint {
	struct schedule_item item; /* first */
	struct target *target;
	struct scrape_job *job; /* NULL: none is under way */
	/* while a profile is converted it is with the job */
	struct profile_baseline baseline;
	int64_t previous_at_ns; /* of the last profile that was right; 0: none */
	enum profile_kind kind;
	enum target_state state;
	uint16_t port;
	bool https;
	bool restarted;      /* a container began anew since then */
	uint8_t n_not_found; /* answers 404 in a row, as far as they are counted */
	uint64_t last_at_ns; /* when the last answer had come, since the epoch; 0: none yet */
	uint64_t last_took_ns;
	size_t last_bytes;
	char *error; /* of the last scrape; NULL: none */
	char path[];
};

struct target {
	UT_hash_handle hh; /* key: uid */
	const char *uid;
	const char *namespace;
	const char *pod;
	const char *node;
	const char *service;
	const char *ip;
	const char *containers;
	const char *problem;
	char *strings; /* of the above */
	enum target_state state;
	bool owned;
	bool several_ports;
	size_t n_endpoints;
	struct target_endpoint **endpoints;
};

struct target_table;

int target_table_new(struct target_table **ret) MUST_CHECK;
void target_table_free(struct target_table *t);
DEFINE_CLEANUP(struct target_table *, target_table_free);
/* All endpoints of all targets. */
size_t target_table_endpoints(const struct target_table *t);

/* Borrowed; NULL when unknown. */
struct target *target_table_find(const struct target_table *t, const char *uid);
/* In the order in which they came. NULL at the end. */
struct target *target_table_first(const struct target_table *t);
struct target *target_table_next(const struct target *target);

/*
 * A copy of from with endpoints that know nothing yet, in no table. What cannot be asked (no numeric
 * address, a path that does not begin with '/') becomes its problem. -ENOMEM.
 */
int target_new(struct target **ret, const struct scrape_target *from) MUST_CHECK;
/* Its endpoints are idle and in no schedule. */
void target_free(struct target *target);
DEFINE_CLEANUP(struct target *, target_free);

/*
 * Endpoints of old that are the same in fresh (and the address is) change places with those of
 * fresh, so that they keep their state. When the containers changed they are marked as restarted.
 */
void target_inherit(struct target *fresh, struct target *old);

/* Takes target over. No other one with its uid is there. -ENOMEM. */
int target_table_adopt(struct target_table *t, struct target *target) MUST_CHECK;
/* Takes it out; the caller's again. */
void target_table_remove(struct target_table *t, struct target *target);

/* How it is to be shown, from its endpoints. */
enum target_state target_state_of(const struct target *target);

#endif /* CLUSTER_AGENT_SCRAPE_TARGET_TABLE_H */
