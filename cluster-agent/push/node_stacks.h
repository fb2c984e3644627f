/*
 * Stacks as a serialized tree, as clients of Pyroscope before 1.0 send them → struct profile.
 * Pure; foreign data.
 *
 * Both forms are nodes in preorder: the length of a name, the name, a value and the number of
 * children, where numbers are varints. In a tree a name is that of a frame. In a trie it is a piece
 * of text; the pieces from the root to a node are a folded stack.
 *
 * Source: pkg/og/storage/tree/serialize.go and pkg/og/structs/transporttrie/serialize.go of
 * grafana/pyroscope.
 */
#ifndef CLUSTER_AGENT_PUSH_NODE_STACKS_H
#define CLUSTER_AGENT_PUSH_NODE_STACKS_H

#include "cluster-agent/push/folded_frames.h"
#include "common/base.h"

enum node_form {
	NODE_TREE,
	NODE_TRIE,
};

struct node_config {
	enum node_form form;
	struct folded_unit unit;
	uint64_t max_text_bytes; /* read again and again; 0: LIMIT_PROFILE_STACK_TEXT_BYTES */
};

/* Nodes below each other, and bytes of a trie's stack. */
#define NODE_STACKS_MAX_DEPTH 1000000u
#define NODE_STACKS_MAX_KEY_BYTES ((size_t)1024 * 1024)

/*
 * The result has the type of the unit. Returns 0, -EBADMSG if data is not whole or followed by
 * anything else, -EFBIG if a limit is exceeded (both with one line in err), or -ENOMEM.
 */
int node_stacks_read(struct profile *ret, struct arena *arena, const void *data, size_t len,
		     const struct node_config *cfg, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_NODE_STACKS_H */
