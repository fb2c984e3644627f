/* Counts goroutines that are at the same place for the same reason. Pure. */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_GROUPS_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_GROUPS_H

#include "common/base.h"
#include "node-agent/go/goroutine/goroutine_layout.h"
#include "node-agent/go/goroutine/goroutine_stack.h"

#define GOROUTINE_TRUNCATED "[truncated]" /* the frame that stands for missing callers */

struct goroutine_groups;

/* Where a goroutine is, and why. */
struct goroutine_place {
	uint8_t status;      /* enum goroutine_status */
	uint8_t wait_reason; /* 0 if none */
	bool no_stack;       /* pcs has only the start function, or nothing if that is unknown */
	bool truncated;      /* the callers of the last pc are missing */
	const uint64_t *pcs; /* leaf first; borrowed */
	size_t n_pcs;        /* at most GOROUTINE_STACK_DEPTH_MAX */
};

struct goroutine_group {
	struct goroutine_place place;
	uint64_t n;             /* 0 if the group was found, but no goroutine counted */
	uint64_t id;            /* of the goroutine that has waited longest, or any if unknown */
	uint64_t wait_since_ns; /* of that goroutine; 0 if unknown */
};

/* max_bytes limits the memory for groups. Returns 0 or -ENOMEM. */
int goroutine_groups_new(struct goroutine_groups **ret, size_t max_bytes) MUST_CHECK;
void goroutine_groups_free(struct goroutine_groups *g);
DEFINE_CLEANUP(struct goroutine_groups *, goroutine_groups_free);

/* Finds or adds the group of a place. Returns 0, -ENOBUFS if max_bytes are used up, or -ENOMEM. */
int goroutine_groups_find(struct goroutine_groups *g, const struct goroutine_place *place,
			  struct goroutine_group **ret) MUST_CHECK;

/* Counts one more goroutine in the group. */
void goroutine_group_count(struct goroutine_group *group, const struct goroutine *g);

/*
 * The *ret_n groups in which goroutines were counted, largest first. The caller frees the
 * array with free(3); the groups live as long as g. Returns 0 or -ENOMEM.
 */
int goroutine_groups_sorted(const struct goroutine_groups *g, const struct goroutine_group ***ret,
			    size_t *ret_n) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_GROUPS_H */
