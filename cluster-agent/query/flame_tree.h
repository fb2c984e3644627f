/*
 * Stacks with values → one merged tree, and totals per function. Pure.
 *
 * Frames merge by (name, file); lines are dropped. Stacks are foreign data: a
 * tree has limits on nodes and bytes of text, and what does not fit any more
 * ends as "other" at the frame where it stopped fitting. So does what the
 * reader's max_nodes cuts. The total of the tree is never cut.
 *
 * Not thread-safe.
 */
#ifndef CLUSTER_AGENT_QUERY_FLAME_TREE_H
#define CLUSTER_AGENT_QUERY_FLAME_TREE_H

#include "common/base.h"

struct flame_tree;

/* A stored frame, "name file:line"; not NUL-terminated. */
struct flame_frame {
	const char *text;
	size_t len;
};

struct flame_tree_limits {
	uint32_t max_nodes;    /* while building; 0: 2,000,000 */
	size_t max_text_bytes; /* of distinct frames; 0: 64 MiB */
};

/* -ENOMEM is the only failure. */
int flame_tree_new(struct flame_tree **ret, const struct flame_tree_limits *limits) MUST_CHECK;
void flame_tree_free(struct flame_tree *t);
DEFINE_CLEANUP(struct flame_tree *, flame_tree_free);

/*
 * frames: leaf first, as stored. Values that are not positive are ignored.
 * Sums stop at INT64_MAX. -ENOMEM: the tree is then only good for freeing.
 */
int flame_tree_add(struct flame_tree *t, const struct flame_frame *frames, size_t n_frames,
		   int64_t value) MUST_CHECK;

/* Value of n_stacks stacks that are not known one by one: "other" under the root. */
void flame_tree_add_other(struct flame_tree *t, uint64_t n_stacks, int64_t value);

struct flame_function {
	uint32_t name; /* index into names, as below */
	uint32_t file; /* index into files */
	int64_t self;
	int64_t total; /* of stacks that contain it; a recursive one counts once */
};

/*
 * What a reader sees. Nodes are columns in depth-first preorder, children
 * sorted by name, then file. Node 0 is the root, "total".
 */
struct flame_view {
	const char **names; /* borrowed from the tree; lengths beside them */
	size_t *name_lens;
	uint32_t n_names;
	const char **files; /* files[0] is "" */
	size_t *file_lens;
	uint32_t n_files;

	uint32_t *node_name;
	uint32_t *node_file;
	uint32_t *node_depth; /* root: 0 */
	int64_t *node_total;
	int64_t *node_self;
	uint32_t n_nodes;

	uint64_t other_nodes; /* nodes and stacks that "other" stands for */
	int64_t other_value;

	struct flame_function *functions; /* by self, then total, descending */
	uint32_t n_functions;
};

struct flame_view_limits {
	uint32_t max_nodes; /* the largest by total are kept; "other" nodes come on top */
	uint32_t max_functions;
};

/* -ENOMEM is the only failure. ret is released with flame_view_fini(), before the tree is freed. */
int flame_tree_view(struct flame_tree *t, const struct flame_view_limits *limits,
		    struct flame_view *ret) MUST_CHECK;
void flame_view_fini(struct flame_view *v);

#endif /* CLUSTER_AGENT_QUERY_FLAME_TREE_H */
