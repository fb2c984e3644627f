/* A pod whose annotations ask for profiling, and the endpoints that serve its profiles. */
#ifndef CLUSTER_AGENT_DISCOVER_SCRAPE_TARGET_H
#define CLUSTER_AGENT_DISCOVER_SCRAPE_TARGET_H

#include <arpa/inet.h>
#include <netinet/in.h>

#include "common/base.h"

/*
 * What an endpoint is asked for. Its answer says which types of profile it has, so a heap may also
 * come from Node.js or Python.
 */
enum profile_kind {
	PROFILE_KIND_CPU,
	PROFILE_KIND_HEAP,
	PROFILE_KIND_GOROUTINE,
	PROFILE_KIND_MUTEX,
	PROFILE_KIND_BLOCK,
	PROFILE_KIND_WALL,
	/* godeltaprof: as heap, mutex and block, but each answer has only what is new */
	PROFILE_KIND_DELTA_HEAP,
	PROFILE_KIND_DELTA_MUTEX,
	PROFILE_KIND_DELTA_BLOCK,
	PROFILE_KIND_FGPROF, /* fgprof: all goroutines, running or waiting */
	PROFILE_KIND_MAX,
};

/* As in annotations and labels: "cpu", "heap", "godeltaprof_memory", … */
const char *profile_kind_name(enum profile_kind k);
/* As in Grafana's annotations: "memory" for the heap. */
const char *profile_kind_grafana(enum profile_kind k);
/* The usual path: "/debug/pprof/profile", "/debug/fgprof", … */
const char *profile_kind_path(enum profile_kind k);
/* Whether the endpoint records for a given number of seconds, and then answers. */
bool profile_kind_is_timed(enum profile_kind k);
/* The kind that has the same values since the start of the process, or PROFILE_KIND_MAX. */
enum profile_kind profile_kind_whole(enum profile_kind k);
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
	size_t container; /* that serves it: an index in the target's */
	bool asked_for;   /* by its kind, not by default: the answer 404 is then an error */
};

/* What is known of a container; "" stands for what is not. Strings are never NULL. */
struct scrape_container {
	const char *name;
	const char
		*coroot_service; /* what a Coroot server looks for, if not the target's service */
	const char *process;     /* another text when its process has been replaced */
};

/* Strings are borrowed, and NULL if not given. The scraper's own must outlive it. */
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

/* What a target is asked with, where it is not what all pods are asked with. */
struct scrape_settings {
	uint64_t interval_ns; /* between two scrapes; 0: as for pods */
	struct scraper_auth auth;
};

#define SCRAPE_TARGET_MAX_LABELS 32

struct scrape_label {
	const char *name;
	const char *value;
};

/*
 * Immutable; strings are never NULL. Owned by its creator. A target with settings is no pod but an
 * address out of a file, and a local one is a container of this host: then namespace and pod are
 * the job and the address, or the runtime and the container's name, which are only shown, and what
 * its profiles are labelled with is in labels.
 */
struct scrape_target {
	const char *uid; /* of the pod */
	const char *namespace;
	const char *pod;
	const char *node;
	const char *service; /* "/k8s/<namespace>/<owner>" */
	const char *ip;      /* v4 or v6 without brackets; with settings, also a host's name */
	const char *problem; /* one line about mistakes in its annotations; "" if none */
	struct scrape_container *containers; /* those with endpoints; none if they are unknown */
	size_t n_containers;
	struct scrape_endpoint *endpoints; /* with a problem, only the endpoints that are clear */
	size_t n_endpoints;
	const struct scrape_settings *settings; /* NULL for a pod, and a container of this host */
	bool is_local; /* this agent alone can scrape it, so replicas do not share it */
	const struct scrape_label *labels;
	size_t n_labels; /* at most SCRAPE_TARGET_MAX_LABELS */
};

/* Longest accepted path, or prefix of one. */
#define SCRAPE_PATH_BYTES 512

/* Whether it begins with '/', and every character stands for itself in a URL, with no "..". */
bool scrape_path_is_valid(const char *path, size_t len);

/* Addresses that may be scraped. Pure; the input is untrusted. */

/*
 * Reads a numeric address and writes it in its canonical form. Returns false if it is none, or one
 * that no program is reached at: link-local, multicast, or mapped to another.
 */
bool target_address_read(char ret[static INET6_ADDRSTRLEN], const char *text);

#endif /* CLUSTER_AGENT_DISCOVER_SCRAPE_TARGET_H */
