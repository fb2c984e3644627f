/* The two profilers of waits for locks in Go's runtime. */
#ifndef NODE_AGENT_GO_LOCK_LOCK_KIND_H
#define NODE_AGENT_GO_LOCK_LOCK_KIND_H

enum lock_kind {
	LOCK_MUTEX, /* who makes others wait: recorded where a contended lock is released */
	LOCK_BLOCK, /* who waits: for locks, channels, select, … */
	LOCK_KINDS,
};

#endif /* NODE_AGENT_GO_LOCK_LOCK_KIND_H */
