/*
 * Makes the objects that a Coroot resource stands for. Pure: the same input gives the same objects,
 * byte for byte, so that applying them again changes nothing.
 *
 * Names, labels, ports and generated environment are those of Coroot's operator (v1.9), so that an
 * existing resource goes on working.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_RENDER_H
#define CLUSTER_AGENT_OPERATOR_RENDER_RENDER_H

#include "cluster-agent/operator/render/rendered.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/base.h"

/*
 * Annotation, "true", of the objects of a ClickHouse that Coroot's operator has made, which stays
 * in use if the resource does not ask for ClickHouse. What counts is that of the first claim.
 */
#define CLICKHOUSE_ADOPTED "coroot.com/adopted"
#define CLICKHOUSE_FIRST_CLAIM "data-%s-clickhouse-shard-0-0"

/* What the operator was started with: default images, which are whole references, and more. */
struct operator_images {
	const char *node_agent;
	const char *cluster_agent;
	const char *store; /* the cluster-agent with the embedded engine */
	const char *clickhouse;
	const char *keeper;
	const char *pull_secret; /* NULL: none */
	/* SecurityContextConstraints of the node agent; NULL: the cluster is no OpenShift */
	const char *node_agent_scc;
};

struct render_input {
	const struct coroot_spec *spec;
	const struct operator_images *images;
	/*
	 * There is a ClickHouse that Coroot's operator made: it stays in use if the resource does
	 * not say where profiles go.
	 */
	bool clickhouse_is_there;
};

/* Where profiles are stored. */
enum render_store {
	RENDER_STORE_NONE, /* agentsOnly: elsewhere */
	RENDER_STORE_EMBEDDED,
	RENDER_STORE_CLICKHOUSE, /* by objects of ours */
	RENDER_STORE_EXTERNAL,
};

enum render_store render_store(const struct render_input *in);
/* Whether the server has a certificate. */
bool render_tls(const struct render_input *in);

/* Reports what the spec asks for and its store does not allow. Returns 0 or -ENOMEM. */
int render_check(const struct render_input *in, struct spec_problems *problems) MUST_CHECK;

/* Appends to out, which the caller frees in every case. Returns 0 or -ENOMEM. */
int render_coroot(struct rendered *out, const struct render_input *in) MUST_CHECK;

/* The parts of it; the same results. */
int render_node_agent(struct rendered *out, const struct render_input *in) MUST_CHECK;
int render_cluster_agent(struct rendered *out, const struct render_input *in) MUST_CHECK;
int render_server(struct rendered *out, const struct render_input *in) MUST_CHECK;
/* ClickHouse and its keeper, if the store is theirs. */
int render_clickhouse(struct rendered *out, const struct render_input *in) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_RENDER_H */
