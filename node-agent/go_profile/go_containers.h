/*
 * What the Go processes of each container count, as metrics: sums of what their counters gained, and sums of what they have now.
 *
 * A process contributes by its share, from when it is first read until it has ended. Counters of a container
 * stay when its processes have ended, and go with the container some time after. The number of containers is limited. The
 * functions are called by threads that read processes, each with shares of its own, while another one scrapes.
 */
#ifndef NODE_AGENT_GO_PROFILE_GO_CONTAINERS_H
#define NODE_AGENT_GO_PROFILE_GO_CONTAINERS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/go/gc/gc_counters.h"
#include "node-agent/go/record/bucket_history.h"

#define GO_CONTAINERS_MAX 1000u
#define GO_CONTAINERS_IDLE_NS ((uint64_t)600 * 1000 * 1000 * 1000)

/* What is shown: each enum gc_counter, and: */
#define GO_CONTAINER_GOROUTINES GC_COUNTERS
#define GO_CONTAINER_VALUES (GC_COUNTERS + 1)

struct go_containers;
struct go_share;

/* What a process tells in a round. */
struct go_values {
	uint32_t known;  /* a bit each */
	uint32_t unread; /* what could not be read this time: stays as it is */
	uint64_t v[GO_CONTAINER_VALUES];
};

struct go_container_labels {
	const char *container_id;
	const char *app_id; /* "": the same */
};

/* ms is borrowed and shows this until it is freed, which is before go_containers_free(). -ENOMEM; those of metrics_register(). */
int go_containers_new(struct go_containers **ret, struct metrics *ms) MUST_CHECK;
/* After all shares. NULL is allowed. */
void go_containers_free(struct go_containers *cs);
DEFINE_CLEANUP(struct go_containers *, go_containers_free);

/* Containers whose processes have all ended a while ago are forgotten. Time is that of clock_monotonic_ns(). */
void go_containers_expire(struct go_containers *cs, uint64_t now_ns);

/*
 * Whoever tells the shares that there are will tell nothing true any more: what their processes have now is taken out, and
 * they change nothing from now on. From any thread.
 */
void go_containers_disown(struct go_containers *cs);

/*
 * A process of that container. start: whether what it has counted until the first go_share_tell() is news. -ENOSPC:
 * there are too many containers, which is counted; -ENAMETOOLONG; -ENOMEM.
 */
int go_share_new(struct go_share **ret, struct go_containers *cs,
		 const struct go_container_labels *labels,
		 enum bucket_history_start start) MUST_CHECK;
/* The process has ended. NULL is allowed. */
void go_share_free(struct go_share *s);
DEFINE_CLEANUP(struct go_share *, go_share_free);

/*
 * The process's counters, which count from its beginning, and its values now. One that has less than before is
 * counted, and adds nothing until it has more.
 */
void go_share_tell(struct go_share *s, const struct go_values *values);
/* Of a counter that is not told that way: what it has gained. */
void go_share_add(struct go_share *s, enum gc_counter counter, uint64_t gained);
/* It has executed something: its counters begin at 0 again. */
void go_share_restart(struct go_share *s);

#endif /* NODE_AGENT_GO_PROFILE_GO_CONTAINERS_H */
