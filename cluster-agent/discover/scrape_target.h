/* A pod whose annotations ask for profiling, and the endpoints that serve its profiles. */
#ifndef CLUSTER_AGENT_DISCOVER_SCRAPE_TARGET_H
#define CLUSTER_AGENT_DISCOVER_SCRAPE_TARGET_H

#include "common/base.h"

/* Named as in annotations and labels; "cpu" is served as …/profile. */
enum profile_kind {
	PROFILE_KIND_CPU,
	PROFILE_KIND_HEAP,
	PROFILE_KIND_GOROUTINE,
	PROFILE_KIND_MUTEX,
	PROFILE_KIND_BLOCK,
	PROFILE_KIND_MAX,
};

const char *profile_kind_name(enum profile_kind k); /* "cpu", "heap", … */
const char *
profile_kind_path(enum profile_kind k); /* "profile", "heap", …: the path under /debug/pprof/ */
/* Finds "heap", Grafana's "memory", …; returns PROFILE_KIND_MAX if there is no such kind. */
enum profile_kind profile_kind_find(const char *name, size_t len);

#define SCRAPE_TARGET_MAX_PORTS 8
#define SCRAPE_TARGET_MAX_CONTAINERS SCRAPE_TARGET_MAX_PORTS
#define SCRAPE_TARGET_MAX_ENDPOINTS (SCRAPE_TARGET_MAX_PORTS * PROFILE_KIND_MAX)

struct scrape_endpoint {
	enum profile_kind kind;
	bool https;
	uint16_t port;
	const char *path; /* "/debug/pprof/heap": no query, no "..", no characters to escape */
	size_t container; /* the one behind it: an index in the target's */
};

/* What is known of a container; "" stands for what is not. Strings are never NULL. */
struct scrape_container {
	const char *name;
	const char
		*coroot_service; /* what a Coroot server looks for, if not the target's service */
	const char *process;     /* another text when its process has been replaced */
};

/* Immutable; strings are never NULL. Owned by its creator. */
struct scrape_target {
	const char *uid; /* of the pod */
	const char *namespace;
	const char *pod;
	const char *node;
	const char *service; /* "/k8s/<namespace>/<owner>" */
	const char *ip;      /* numeric, v4 or v6 without brackets; the pod's own address */
	const char *problem; /* one line about mistakes in its annotations; "" if none */
	struct scrape_container *containers; /* those with endpoints; none if they are unknown */
	size_t n_containers;
	struct scrape_endpoint *endpoints; /* with a problem, only the endpoints that are clear */
	size_t n_endpoints;
};

#endif /* CLUSTER_AGENT_DISCOVER_SCRAPE_TARGET_H */
