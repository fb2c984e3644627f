/*
 * The pods that the scraper knows, by uid, and the state of each of their endpoints. Loop
 * thread only. Only keeps state: scrape_run.h runs the scrapes.
 */
#ifndef CLUSTER_AGENT_SCRAPE_TARGET_TABLE_H
#define CLUSTER_AGENT_SCRAPE_TARGET_TABLE_H

#include "cluster-agent/discover/scrape_target.h"
#include "cluster-agent/scrape/profile_baseline.h"
#include "cluster-agent/scrape/scrape_schedule.h"
#include "common/base.h"
#include "common/data/table.h"
#include "common/text/kube_names.h"

struct scrape_job;   /* a running scrape, see scrape_run.c */
struct scrape_group; /* how it is asked, see scrape_group.h */

/* The state shown for a pod or an endpoint. Endpoints only have the first five. */
enum target_state {
	TARGET_PENDING, /* not scraped yet */
	TARGET_UP,      /* the last scrape succeeded; of a pod: that of at least one endpoint */
	TARGET_DOWN,
	TARGET_REFUSED, /* it succeeded, but the store or the receiver refused the profile */
	/* not asked for by its kind, and it does not exist; of a pod: all of its endpoints */
	TARGET_NOT_OFFERED,
	TARGET_INVALID,   /* no endpoints: has a problem, or nothing to scrape */
	TARGET_ELSEWHERE, /* scraped by another replica */
	TARGET_STATE_MAX,
};

const char *target_state_name(enum target_state s);

struct target;

struct target_endpoint {
	struct schedule_item item; /* first */
	struct target *target;
	struct scrape_job *job; /* NULL if none is running */
	/* moved to the job while a profile is being converted */
	struct profile_baseline baseline;
	int64_t previous_at_ns;                   /* time of the last valid profile; 0 if none */
	const struct scrape_container *container; /* of the target; what is not known of it is "" */
	enum profile_kind kind;
	enum target_state state; /* of the scrape; see target_endpoint_state() */
	uint16_t port;
	bool https;
	bool asked_for;
	bool restarted;      /* its container has restarted since the last profile */
	uint8_t n_repeated;  /* first scrapes that were repeated outside their slots */
	uint8_t n_not_found; /* answers in a row that it does not exist, up to the maximum */
	uint64_t
		last_at_ns; /* when the last answer was complete, since the Unix epoch; 0 if none */
	uint64_t last_took_ns;
	size_t last_bytes;
	char *error;      /* of the last scrape; NULL if it succeeded */
	uint64_t receipt; /* under which the last profile was put, if nothing is known of it yet */
	char *refusal;    /* why a profile was refused; NULL once one was taken */
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
	const char *problem;
	struct scrape_container *containers;
	size_t n_containers;
	struct scrape_label *labels;
	size_t n_labels;
	char *strings;              /* holds all of the above, and theirs */
	struct scrape_group *group; /* NULL: as all pods */
	bool is_pod;
	bool is_local;
	enum target_state state;
	bool owned;
	bool several_ports;
	size_t n_endpoints;
	struct target_endpoint **endpoints;
};

/* The name of the endpoint's service in that naming; borrowed. */
const char *target_endpoint_service(const struct target_endpoint *e, enum kube_naming naming);
/* The same of the target: with several containers, of that of its first endpoint. */
const char *target_service(const struct target *t, enum kube_naming naming);

struct target_table;

int target_table_new(struct target_table **ret) MUST_CHECK;
void target_table_free(struct target_table *t);
DEFINE_CLEANUP(struct target_table *, target_table_free);
/* The number of endpoints of all targets. */
size_t target_table_endpoints(const struct target_table *t);

/* Borrowed; NULL if there is no such target. */
struct target *target_table_find(const struct target_table *t, const char *uid);
/* In the order in which they were added; NULL at the end. */
struct target *target_table_first(const struct target_table *t);
struct target *target_table_next(const struct target *target);

/*
 * Copies from, with endpoints that have no state yet, into a target that is in no table.
 * Endpoints that must not be requested (no numeric address, a path that does not begin with
 * '/') are dropped and become its problem. Returns 0 or -ENOMEM.
 */
int target_new(struct target **ret, const struct scrape_target *from) MUST_CHECK;
/* Its endpoints must have no job and be in no schedule. */
void target_free(struct target *target);
DEFINE_CLEANUP(struct target *, target_free);

/*
 * Moves the endpoints that old and fresh have in common from old to fresh, with their state, if
 * the address is the same. Those whose container is another process now are marked as restarted.
 */
void target_inherit(struct target *fresh, struct target *old);

/* Takes ownership of target. Its uid must not be in the table. Returns 0, or -ENOMEM. */
int target_table_adopt(struct target_table *t, struct target *target) MUST_CHECK;
/* Removes target from the table; the caller owns it again. */
void target_table_remove(struct target_table *t, struct target *target);

/* The state to show for an endpoint, and its error, "" if there is none. */
enum target_state target_endpoint_state(const struct target_endpoint *e);
const char *target_endpoint_error(const struct target_endpoint *e);

/* The state to show for the target, derived from its endpoints. */
enum target_state target_state_of(const struct target *target);

#endif /* CLUSTER_AGENT_SCRAPE_TARGET_TABLE_H */
