/*
 * Goroutines that are at the same place for the same reason, counted. Pure.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_GROUPS_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_GROUPS_H

#include "common/base.h"
#include "node-agent/go/goroutine/goroutine_layout.h"
#include "node-agent/go/goroutine/goroutine_stack.h"

#define GOROUTINE_TRUNCATED "[truncated]" /* the frame that stands for what is not known */

struct goroutine_groups;

/* Where and why. */
struct goroutine_place {
	uint8_t status;      /* enum goroutine_status */
	uint8_t wait_reason; /* 0: none */
	bool no_stack;       /* pcs is the function that it started with, as far as that is known */
	bool truncated;      /* what called the last of pcs is not known */
	const uint64_t *pcs; /* leaf first; borrowed */
	size_t n_pcs;        /* at most GOROUTINE_STACK_DEPTH_MAX */
};

struct goroutine_group {
	struct goroutine_place place;
	uint64_t n;             /* 0: was found, but nothing counted */
	uint64_t id;            /* of the one that has waited longest, as far as that is known */
	uint64_t wait_since_ns; /* of that one; 0: not known */
};

/* max_bytes of memory. -ENOMEM. */
int goroutine_groups_new(struct goroutine_groups **ret, size_t max_bytes) MUST_CHECK;
void goroutine_groups_free(struct goroutine_groups *g);
DEFINE_CLEANUP(struct goroutine_groups *, goroutine_groups_free);

/* The group of a place, which is new when there was none. -ENOBUFS: max_bytes are reached; -ENOMEM. */
int goroutine_groups_find(struct goroutine_groups *g, const struct goroutine_place *place,
			  struct goroutine_group **ret) MUST_CHECK;
void goroutine_group_count(struct goroutine_group *group, const struct goroutine *g);

/*
 * Those that have been counted, largest first, for free(3); what they point to lives as long as g. Their
 * number is *ret_n. -ENOMEM.
 */
int goroutine_groups_sorted(const struct goroutine_groups *g, const struct goroutine_group ***ret,
			    size_t *ret_n) MUST_CHECK;

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_GROUPS_H */
