/*
 * Stacks with values → one merged tree, and totals per function. Pure.
 *
 * Frames merge by function (frame_functions.h); lines are dropped. Stacks are foreign data, so a
 * tree has limits on nodes and bytes of text. What exceeds them is shown as "other" below the last
 * frame that fits, and so is what the reader's max_nodes cuts. The total of the tree is never cut.
 *
 * Not thread-safe.
 */
#ifndef COMMON_FLAME_FLAME_TREE_H
#define COMMON_FLAME_FLAME_TREE_H

#include "common/base.h"

struct flame_tree;

/* A stored frame, "name file:line"; not NUL-terminated. */
struct flame_frame {
	const char *text;
	size_t len;
	uint32_t id; /* small number that all equal texts of a query share; 0: none is given */
};

/*
 * What a stack, node or function counts for: in the selection that the reader looks at, and in
 * the one with which he compares it. base is 0 without a comparison.
 */
struct stack_value {
	int64_t value;
	int64_t base;
};

struct flame_tree_limits {
	uint32_t max_nodes;    /* while building; 0: 2,000,000 */
	size_t max_text_bytes; /* of all distinct frames; 0: 64 MiB */
};

/* Returns 0 or -ENOMEM. limits may be NULL. */
int flame_tree_new(struct flame_tree **ret, const struct flame_tree_limits *limits) MUST_CHECK;
void flame_tree_free(struct flame_tree *t);
DEFINE_CLEANUP(struct flame_tree *, flame_tree_free);

/* Names the root, which is "total" otherwise. Returns 0, -EFBIG or -ENOMEM. */
int flame_tree_set_root(struct flame_tree *t, const char *name, const char *file) MUST_CHECK;

/*
 * frames are leaf first, as stored. Values that are not positive are ignored; sums saturate at
 * INT64_MAX. Returns 0, or -ENOMEM, after which the tree can only be freed.
 */
int flame_tree_add(struct flame_tree *t, const struct flame_frame *frames, size_t n_frames,
		   struct stack_value value) MUST_CHECK;

/* Adds stacks of which only number and total value are known: "other" below the root. */
void flame_tree_add_other(struct flame_tree *t, uint64_t n_stacks, struct stack_value value);

struct flame_function {
	uint32_t name; /* index into names, as below */
	uint32_t file; /* index into files */
	int64_t self;
	int64_t total; /* of stacks that contain it; recursion counts once */
	int64_t base_self;
	int64_t base_total;
};

/*
 * What the reader gets. Nodes are columns in depth-first preorder, children sorted by name,
 * then file. Node 0 is the root, its name is names[0].
 */
struct flame_view {
	const char **names; /* borrowed from the tree, not NUL-terminated */
	size_t *name_lens;
	uint32_t n_names;
	const char **files; /* files[0] is "" */
	size_t *file_lens;
	uint32_t n_files;

	uint32_t *node_name;
	uint32_t *node_file;
	uint32_t *node_pair; /* index of both, which nodes of the same function share */
	uint32_t *pair_name;
	uint32_t *pair_file;
	uint32_t n_pairs;
	uint32_t *node_depth; /* root: 0 */
	int64_t *node_total;
	int64_t *node_self;
	int64_t *node_base_total;
	int64_t *node_base_self;
	uint32_t n_nodes;
	uint32_t
		*node_inlined; /* indexes of nodes that are inlined into the parent in all stacks */
	uint32_t n_inlined;

	/* in a zoom: of the subtree that is zoomed into */
	uint64_t other_nodes; /* nodes and stacks that are part of "other" */
	int64_t other_value;
	int64_t other_base;
	bool zoomed;

	struct flame_function *functions; /* by self, then total, descending */
	uint32_t n_functions;
	uint32_t functions_cut; /* beyond max_functions */
};

struct flame_view_limits {
	uint32_t max_nodes; /* those with the largest shares stay; "other" is not counted */
	uint32_t max_functions;
	/*
	 * path_key.h of a node: only it, what is below and what is above is shown. 0, or a key that
	 * no node has: everything is.
	 */
	uint64_t zoom;
};

/* Returns 0 or -ENOMEM. Release ret with flame_view_fini() before the tree is freed. */
int flame_tree_view(struct flame_tree *t, const struct flame_view_limits *limits,
		    struct flame_view *ret) MUST_CHECK;
void flame_view_fini(struct flame_view *v);

#endif /* COMMON_FLAME_FLAME_TREE_H */
