/*
 * What a Coroot resource (coroot.com/v1) asks for: its fields that concern profiling, checked.
 * Pure; the input is what anybody with the right to write the resource wrote.
 *
 * Parts of Kubernetes' own types (affinity, resources, …) are passed on as they are: the API server
 * checks them when the object that they go into is applied.
 */
#ifndef CLUSTER_AGENT_OPERATOR_SPEC_COROOT_SPEC_H
#define CLUSTER_AGENT_OPERATOR_SPEC_COROOT_SPEC_H

#include <jansson.h>

#include "cluster-agent/operator/spec/spec_problems.h"
#include "common/base.h"

#define COROOT_PROJECT_KEYS_MAX 1000

/*
 * name is NULL if there is none; otherwise both are names that Kubernetes allows. The Secret may
 * be missing.
 */
struct coroot_secret_key {
	const char *name;
	const char *key;
};

struct coroot_image {
	const char *name; /* whole reference; NULL: the operator's default */
	const char *pull_policy;
	const json_t *pull_secrets; /* array of {"name"}, or NULL */
};

struct coroot_storage {
	const char *size; /* a quantity above 0 */
	const char *class_name;
	bool retain; /* reclaimPolicy Retain: outlives the resource */
	const json_t *annotations;
};

/* What all components have in common; NULL where nothing is given. */
struct coroot_pod {
	const json_t *node_selector;
	const json_t *affinity;
	const json_t *tolerations;
	const json_t *resources;
	const json_t *annotations;
	const json_t *labels;
	const json_t *account_annotations; /* of its service account */
	const json_t *env;
	const json_t *security; /* of the container */
	const char *priority_class;
	struct coroot_image image;
};

/* How an agent verifies the server's certificate. */
struct coroot_agent_tls {
	struct coroot_secret_key ca; /* if none, the server's own certificate or the system's CAs */
	bool skip_verify;
};

struct coroot_node_agent {
	struct coroot_pod pod;
	struct coroot_agent_tls tls;
	const json_t *update_strategy; /* update_strategy, else updateStrategy */
	bool profiler;                 /* ebpfProfiler.enabled, true by default */
};

struct coroot_clickhouse {
	bool wanted; /* spec.clickhouse is there, even if it is empty */
	int64_t shards;
	int64_t replicas;
	struct coroot_pod pod;
	struct coroot_storage storage;
	const char *log_level;
	struct {
		int64_t replicas;
		struct coroot_pod pod;
		struct coroot_storage storage;
		const char *log_level;
	} keeper;
	struct {
		const char *endpoint; /* NULL: no S3 */
		const char *region;   /* NULL: none */
		/* both or neither */
		struct coroot_secret_key access_key_id;
		struct coroot_secret_key secret_access_key;
		const char *cache_size;
		const char *move_factor;
		bool only; /* mode s3only */
	} s3;
};

struct coroot_external_clickhouse {
	const char *address; /* NULL: none */
	const char *user;
	const char *database;
	const char *password; /* NULL if there is a Secret */
	struct coroot_secret_key password_secret;
	struct coroot_secret_key ca; /* of its certificate; asks for TLS */
	bool tls;
	bool tls_skip_verify;
};

struct coroot_service {
	const char *type;
	int64_t port;
	int64_t node_port;      /* 0: none */
	int64_t grpc_port;      /* of OTLP over gRPC; 0: not taken */
	int64_t grpc_node_port; /* 0: none */
	bool grpc_disabled;
	const json_t *annotations;
};

struct coroot_ingress {
	bool wanted;
	const char *class_name;
	const char *host;
	const char *path; /* "/" or a path with a '/' before, but not after it */
	const json_t *tls;
	const json_t *annotations;
};

/* A key of a project: one of both. */
struct coroot_api_key {
	const char *key;
	struct coroot_secret_key secret;
};

struct coroot_spec {
	const char *name; /* metadata of the resource */
	const char *namespace;
	const char *uid;

	const char *metrics_refresh_interval; /* "15s" */
	const char *profiles_ttl;             /* as the option takes it: "7d", "30m" */
	const char *coroot_url; /* agentsOnly, no '/' at its end; NULL: with a server */
	bool tls_skip_verify;   /* of agentsOnly */
	const char *api_key;    /* NULL if there is a Secret */
	struct coroot_secret_key api_key_secret;
	struct coroot_api_key *project_keys; /* of all projects; owned */
	size_t n_project_keys;               /* at most COROOT_PROJECT_KEYS_MAX */
	bool anonymous;                      /* authAnonymousRole is given */
	const char *page_key;                /* NULL if there is a Secret */
	struct coroot_secret_key page_key_secret;
	/* both or neither */
	struct coroot_secret_key tls_cert;
	struct coroot_secret_key tls_key;

	struct coroot_node_agent node_agent;
	struct coroot_pod cluster_agent;
	struct coroot_agent_tls cluster_agent_tls;
	struct coroot_pod server; /* the fields at the top of spec; image of communityEdition */
	int64_t server_replicas;
	struct coroot_storage server_storage;
	struct coroot_storage cluster_agent_storage; /* size NULL: none */
	struct coroot_service service;
	struct coroot_ingress ingress;
	struct coroot_clickhouse clickhouse;
	struct coroot_external_clickhouse external_clickhouse;

	json_t *made; /* array that owns values which are not in the resource as they are here */
};

/*
 * Reads a Coroot resource. *ret borrows from resource. Fields that are wrong count as not given;
 * each is in problems with its path, and so is each field that is accepted but not used. What has
 * a default in coroot_fields.h and is not given has that default; everything else is then NULL.
 * Returns 0, -EBADMSG if it is not a Coroot resource with a name, namespace and uid, or -ENOMEM;
 * *ret is then zeroed.
 */
int coroot_spec_parse(struct coroot_spec *ret, const json_t *resource,
		      struct spec_problems *problems) MUST_CHECK;
void coroot_spec_fini(struct coroot_spec *s);

#endif /* CLUSTER_AGENT_OPERATOR_SPEC_COROOT_SPEC_H */
