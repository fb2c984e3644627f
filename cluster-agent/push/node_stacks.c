/*
 * The path to the node that is read is kept: for each level how many children are still to come,
 * and the length of the trie's text or the frame of the tree. Values are written as they are met,
 * so the work is that of the text of all stacks, which is limited.
 */
#include "cluster-agent/push/node_stacks.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/limits.h"
#include "common/pprof/pprof_wire.h"

#define FIRST_LEVELS 256u

struct level {
	uint64_t n_left;   /* children that are still to come */
	size_t key_len;    /* of a trie: of the text up to and with this node */
	uint32_t location; /* of a tree: 1 + number of the frame; 0: none */
};

struct node {
	const char *name;
	size_t name_len;
	uint64_t value;
	uint64_t n_children;
};

struct reader {
	struct profile_builder builder;
	const struct folded_unit *unit;
	enum node_form form;
	struct wire_reader rest;
	struct level *levels; /* of the path */
	uint32_t depth;
	uint32_t max_depth; /* allocated */
	struct buf key;
	uint64_t work_bytes;
	struct err *err;
};

static int broken(const struct reader *r)
{
	return err_set(r->err, -EBADMSG, "not a valid %s of stacks",
		       r->form == NODE_TRIE ? "trie" : "tree");
}

static int too_much(const struct reader *r)
{
	return err_set(r->err, -EFBIG, "stacks are more than %llu bytes of text",
		       (unsigned long long)LIMIT_PROFILE_STACK_TEXT_BYTES);
}

static int read_node(struct reader *r, struct node *ret)
{
	uint64_t len;

	if (wire_reader_read_varint(&r->rest, &len) != 1 ||
	    len > (uint64_t)(r->rest.end - r->rest.p))
		return broken(r);
	ret->name = (const char *)r->rest.p;
	ret->name_len = (size_t)len;
	r->rest.p += len;
	if (wire_reader_read_varint(&r->rest, &ret->value) != 1 ||
	    wire_reader_read_varint(&r->rest, &ret->n_children) != 1)
		return broken(r);
	return 0;
}

static int grow_levels(struct reader *r)
{
	struct arena *a = r->builder.profile.arena;
	uint32_t n = r->max_depth ? 2 * r->max_depth : FIRST_LEVELS;
	struct level *more;

	if (r->depth >= NODE_STACKS_MAX_DEPTH)
		return err_set(r->err, -EFBIG, "more than %u nodes below each other",
			       NODE_STACKS_MAX_DEPTH);
	more = arena_alloc(a, n * sizeof(*more));
	if (!more)
		return err_set(r->err, arena_error(a, n * sizeof(*more)),
			       "the profile takes too much memory");
	if (r->depth > 0)
		memcpy(more, r->levels, r->depth * sizeof(*more));
	r->levels = more;
	r->max_depth = n;
	return 0;
}

/* ---- values ---- */

static int add_tree_stack(struct reader *r, int64_t value)
{
	static const struct frame_source truncated = {{"[truncated]", 11}, {"", 0}, 0};
	UNINITIALIZED uint32_t locations[LIMIT_PPROF_STACK_DEPTH];
	uint32_t n = 0;
	int e = 0;

	for (uint32_t i = r->depth; i-- > 0 && e == 0;) {
		if (r->levels[i].location == 0)
			continue;
		if (n == LIMIT_PPROF_STACK_DEPTH - 1) {
			r->builder.profile.losses.n[PROFILE_LOSS_CUT_STACKS]++;
			e = profile_builder_add_frame(&r->builder, &truncated, &locations[n++]);
			break;
		}
		locations[n++] = r->levels[i].location - 1;
	}
	return e < 0 ? e : profile_builder_add_sample(&r->builder, locations, n, &value);
}

static int add_value(struct reader *r, const struct node *node)
{
	int64_t value = folded_unit_apply(r->unit, node->value, &r->builder.profile.losses);

	r->work_bytes += r->depth + r->key.len;
	if (r->work_bytes > LIMIT_PROFILE_STACK_TEXT_BYTES)
		return too_much(r);
	if (r->form == NODE_TREE)
		return add_tree_stack(r, value);
	return folded_frames_add(&r->builder, r->key.data ?: "", r->key.len, false, value);
}

/* ---- nodes ---- */

static int name_level(struct reader *r, struct level *level, const struct node *node)
{
	const struct frame_source frame = {.name = {node->name, node->name_len}, .file = {"", 0}};
	int e = 0;

	if (r->form == NODE_TREE) {
		if (node->name_len > 0) {
			e = profile_builder_add_frame(&r->builder, &frame, &level->location);
			level->location++;
		}
		return e;
	}
	e = buf_add(&r->key, node->name, node->name_len);
	level->key_len = r->key.len;
	return e == -EFBIG ? err_set(r->err, e, "a stack is more than %zu bytes of text",
				     NODE_STACKS_MAX_KEY_BYTES)
			   : e;
}

/* Enters the node's level, which end_levels() leaves. */
static int add_node(struct reader *r, const struct node *node)
{
	struct level *level;
	int e = 0;

	if (r->depth == r->max_depth)
		e = grow_levels(r);
	if (e < 0)
		return e;
	level = &r->levels[r->depth++];
	*level = (struct level){.n_left = node->n_children};
	e = name_level(r, level, node);
	return e == 0 && node->value > 0 ? add_value(r, node) : e;
}

static void end_levels(struct reader *r)
{
	while (r->depth > 0 && r->levels[r->depth - 1].n_left == 0) {
		r->depth--;
		buf_truncate(&r->key, r->depth > 0 ? r->levels[r->depth - 1].key_len : 0);
	}
	if (r->depth > 0)
		r->levels[r->depth - 1].n_left--;
}

static int read_nodes(struct reader *r)
{
	struct node node;
	int e;

	do {
		e = read_node(r, &node);
		if (e == 0)
			e = add_node(r, &node);
		if (e == 0)
			end_levels(r);
	} while (e == 0 && r->depth > 0);
	return e == 0 && r->rest.p < r->rest.end ? broken(r) : e;
}

int node_stacks_read(struct profile *ret, struct arena *arena, const void *data, size_t len,
		     const struct node_config *cfg, struct err *err)
{
	const uint8_t *p = data;
	struct reader r = {.unit = &cfg->unit, .form = cfg->form, .rest = {p, p + len}, .err = err};
	int e = profile_builder_init(&r.builder, arena, 1, err);

	buf_init(&r.key, NODE_STACKS_MAX_KEY_BYTES);
	if (e == 0)
		e = read_nodes(&r);
	if (e == 0)
		e = folded_unit_set(&r.builder.profile, &cfg->unit);
	if (e == 0)
		*ret = r.builder.profile;
	buf_fini(&r.key);
	return e;
}
