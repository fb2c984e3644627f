/* What the objects of ClickHouse and of its keeper have in common. Pure. */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_CLICKHOUSE_PARTS_H
#define CLUSTER_AGENT_OPERATOR_RENDER_CLICKHOUSE_PARTS_H

#include <jansson.h>

#include "cluster-agent/operator/render/object_storage.h"
#include "cluster-agent/operator/render/render.h"
#include "common/base.h"
#include "common/data/buf.h"

/*
 * Annotation, "true", of the objects of a ClickHouse that Coroot's operator has made, which stays
 * in use if the resource does not ask for ClickHouse. What counts is that of the first claim.
 */
#define CLICKHOUSE_ADOPTED "coroot.com/adopted"
#define CLICKHOUSE_FIRST_CLAIM "data-%s-clickhouse-shard-0-0"

#define CLICKHOUSE_CONFIG_FILE "/config/config.xml" /* in all pods */

/* Equal pods and what belongs to them. */
struct clickhouse_part {
	const struct render_input *in;
	const char *component; /* also the suffix of its names: "clickhouse-keeper" */
	const struct coroot_pod *pod;
	const char *image; /* the operator's default */
	const char *data_dir;
	json_t *marks;     /* annotations of all its objects; owned */
	struct buf config; /* content of CLICKHOUSE_CONFIG_FILE; owned */
};

struct clickhouse_port {
	const char *name; /* NULL ends a list */
	int64_t number;
	bool internal; /* in no Service */
};

/* What precedes marks has been set. To be ended by clickhouse_part_fini(), also after a failure. */
int clickhouse_part_init(struct clickhouse_part *part) MUST_CHECK;
void clickhouse_part_fini(struct clickhouse_part *part);

/* All that add return 0 or -ENOMEM. */

/* Adds the ServiceAccount and the ConfigMap. */
int clickhouse_part_add_base(struct rendered *out, const struct clickhouse_part *part) MUST_CHECK;

/*
 * Adds Service "<resource>-<suffix>". A headless one has the addresses of pods that are not ready,
 * too: they must find each other to become so.
 */
int clickhouse_part_add_service(struct rendered *out, const struct clickhouse_part *part,
				const char *suffix, const struct clickhouse_port *ports,
				bool headless) MUST_CHECK;

/*
 * Adds claims and StatefulSet of pods with this container, of which image, ports, mounts, resources
 * and security are added here. container is taken over; NULL is a lack of memory.
 */
int clickhouse_part_add_pods(struct rendered *out, const struct clickhouse_part *part,
			     const struct object_stateful_set *set,
			     const struct clickhouse_port *ports, json_t *container) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_CLICKHOUSE_PARTS_H */
