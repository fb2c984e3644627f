/*
 * Metrics per container: sums of the counters and gauges of its processes.
 *
 * A process contributes through a share, from its first reading until it exits. Counters of a
 * container stay when its processes have exited, and are dropped with the container some time
 * later. The number of containers is limited. A container whose name is being asked for is not
 * shown yet, and one that gets another name is renamed with its counters: two that have one
 * name, as when a pod's container has restarted, are one. Threads that read processes call these
 * functions, each with shares of its own, while another thread scrapes.
 */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_CONTAINERS_H
#define NODE_AGENT_RUNTIME_RUNTIME_CONTAINERS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/container/container_directory.h"
#include "node-agent/workload/workload.h"

#define RUNTIME_CONTAINERS_MAX 1000u
#define RUNTIME_CONTAINERS_IDLE_NS ((uint64_t)600 * 1000 * 1000 * 1000)
#define CONTAINER_VALUES_MAX 32u
#define CONTAINER_SERIES_MAX 64u /* of one process */

struct runtime_containers;
struct container_share;

/* The values of one process at one moment, in the order of their table. */
struct container_values {
	uint32_t known;  /* a bit for each value that is */
	uint32_t unread; /* could not be read this time: the previous value stays */
	uint64_t v[CONTAINER_VALUES_MAX];
};

/*
 * One line of a family that has labels besides the container's. A line lasts as long as its process
 * reports it, counters too: they count from the start of the process.
 */
struct container_series {
	unsigned family;    /* index in runtime_containers_config.series */
	bool is_flag;       /* 0 or 1, also if several processes of a container have it */
	const char *labels; /* `gc="Copy",jvm="Main"`: values by metrics_add_label_value() */
	uint64_t value;
};

struct container_labels {
	const char *container_id;
	const char *app_id; /* "" if it is the same */
	/* NULL: the names above are final. Otherwise they are this workload's, which is raw. */
	struct workload *raw;
};

/* The labels of a workload. */
struct container_labels container_labels_of(struct workload *w);

struct runtime_containers_config {
	/* counters and gauges that processes have; at most CONTAINER_VALUES_MAX */
	const struct metric_table *values;
	/* families for container_share_series(): at most 32; NULL: none */
	const struct metric_table *series;
	/* the caller's, who has registered them */
	struct metric *n_containers;
	struct metric *overflow;  /* readings that were dropped: too many containers */
	struct metric *backwards; /* counters that were less than before */
	/*
	 * Asked for the names of raw workloads whenever metrics are written, by the thread that
	 * writes them; NULL: none has another name. Outlives ms.
	 */
	struct container_directory *directory;
};

/*
 * ms is borrowed, shows these metrics until it is freed, and is freed before them. Returns 0,
 * -ENOMEM, or an error of metrics_register_families().
 */
int runtime_containers_new(struct runtime_containers **ret, struct metrics *ms,
			   const struct runtime_containers_config *cfg) MUST_CHECK;
/* After all shares. NULL is allowed. */
void runtime_containers_free(struct runtime_containers *cs);
DEFINE_CLEANUP(struct runtime_containers *, runtime_containers_free);

/* Drops containers whose processes all exited a while ago. Time is that of clock_monotonic_ns(). */
void runtime_containers_expire(struct runtime_containers *cs, uint64_t now_ns);

/*
 * Disconnects all existing shares, because the thread that owns them is abandoned. The gauges
 * that they contributed are removed, and what they report from now on is ignored. From any
 * thread.
 */
void runtime_containers_disown(struct runtime_containers *cs);

/*
 * A process of that container. from_zero: report what it counted before the first
 * container_share_report(). Returns 0, -ENOSPC if there are too many containers (which is counted),
 * -ENAMETOOLONG, or -ENOMEM.
 */
int container_share_new(struct container_share **ret, struct runtime_containers *cs,
			const struct container_labels *labels, bool from_zero) MUST_CHECK;
/* The process has exited. NULL is allowed. */
void container_share_free(struct container_share *s);
DEFINE_CLEANUP(struct container_share *, container_share_free);

/*
 * Sets the values of the process; its counters count from its start. A counter that is less
 * than before is ignored, and counted, until it exceeds its previous value.
 */
void container_share_report(struct container_share *s, const struct container_values *values);
/* Adds to counters that are never reported as above. */
void container_share_add(struct container_share *s, const struct container_values *increments);
/*
 * Replaces the series of these families (a bit each) of the process. Series of several processes of
 * a container that have equal labels are added up. Returns 0, -E2BIG if the process would have
 * more than CONTAINER_SERIES_MAX, -EINVAL if one is of another family, or -ENOMEM.
 */
int container_share_series(struct container_share *s, uint32_t families,
			   const struct container_series *series, size_t n) MUST_CHECK;
/* The process has executed something: its counters begin at 0 again. */
void container_share_restart(struct container_share *s);

#endif /* NODE_AGENT_RUNTIME_RUNTIME_CONTAINERS_H */
