/* A pod that asked by annotations to be profiled, and where its profiles are served. */
#ifndef CLUSTER_AGENT_DISCOVER_SCRAPE_TARGET_H
#define CLUSTER_AGENT_DISCOVER_SCRAPE_TARGET_H

#include "common/base.h"

/* The names are those of the annotations and of the wire: "cpu" is served as …/profile. */
enum profile_kind {
	PROFILE_KIND_CPU,
	PROFILE_KIND_HEAP,
	PROFILE_KIND_GOROUTINE,
	PROFILE_KIND_MUTEX,
	PROFILE_KIND_BLOCK,
	PROFILE_KIND_MAX,
};

const char *profile_kind_name(enum profile_kind k); /* "cpu", "heap", … */
const char *profile_kind_path(enum profile_kind k); /* "profile", "heap", …: under /debug/pprof/ */
/* "heap" or Grafana's "memory" …; PROFILE_KIND_MAX when it is none. */
enum profile_kind profile_kind_find(const char *name, size_t len);

#define SCRAPE_TARGET_MAX_PORTS 8
#define SCRAPE_TARGET_MAX_ENDPOINTS (SCRAPE_TARGET_MAX_PORTS * PROFILE_KIND_MAX)

struct scrape_endpoint {
	enum profile_kind kind;
	bool https;
	uint16_t port;
	const char *path; /* "/debug/pprof/heap": no query, no "..", nothing to be escaped */
};

/* Immutable; strings are never NULL. Owned by whoever made it. */
struct scrape_target {
	const char *uid; /* of the pod */
	const char *namespace;
	const char *pod;
	const char *node;
	const char *service; /* "/k8s/<namespace>/<owner>" */
	const char *ip;      /* numeric, v4 or v6 without brackets; the pod's own */
	/*
	 * Changes when the process behind the endpoints is known to be a new one. "" when it
	 * cannot be known: the endpoints belong to several containers, or nothing says to
	 * which.
	 */
	const char *containers;
	const char *problem; /* what is wrong with its annotations, one line; "": nothing */
	struct scrape_endpoint *endpoints; /* also with a problem: those whose meaning is clear */
	size_t n_endpoints;
};

#endif /* CLUSTER_AGENT_DISCOVER_SCRAPE_TARGET_H */
