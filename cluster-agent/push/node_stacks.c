/*
 * The path to the node that is read is kept: its frames and, for each level, how many children are
 * still to come. A stack is a copy of the path, whose memory is limited. Only the last frame of a
 * trie, which the nodes below may continue, is read anew for each value; that work is limited too.
 */
#include "cluster-agent/push/node_stacks.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/limits.h"
#include "common/pprof/pprof_wire.h"

#define FIRST_LEVELS 256u

/* The lengths are those of the path up to and with this node. */
struct level {
	uint64_t n_left; /* children that are still to come */
	uint32_t n_frames;
	uint32_t key_len;  /* of a trie, as is the next */
	uint32_t frame_at; /* where its last frame begins */
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
	struct buf frames;  /* root first: their numbers, uint32_t each */
	struct buf key;     /* of a trie: the text */
	uint64_t text_bytes_left;
	struct err *err;
};

static int broken(const struct reader *r)
{
	return err_set(r->err, -EBADMSG, "not a valid %s of stacks",
		       r->form == NODE_TRIE ? "trie" : "tree");
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
	if (n > NODE_STACKS_MAX_DEPTH)
		n = NODE_STACKS_MAX_DEPTH;
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

/* The path and, if has_last, one frame more. */
static int add_stack(struct reader *r, bool has_last, uint32_t last, int64_t value)
{
	UNINITIALIZED uint32_t locations[LIMIT_PPROF_STACK_DEPTH];
	const uint32_t *path = (const uint32_t *)(const void *)r->frames.data;
	size_t left = r->frames.len / sizeof(*path);
	uint32_t n = 0;
	int e = 0;

	if (has_last)
		locations[n++] = last;
	while (left > 0 && n < LIMIT_PPROF_STACK_DEPTH - 1)
		locations[n++] = path[--left];
	if (left > 0)
		e = folded_frames_add_truncated(&r->builder, &locations[n++]);
	return e < 0 ? e : profile_builder_add_sample(&r->builder, locations, n, &value);
}

static int add_value(struct reader *r, const struct level *level, const struct node *node)
{
	int64_t value = folded_unit_apply(r->unit, node->value, &r->builder.profile.losses);
	size_t len = r->key.len - level->frame_at;
	uint32_t last = 0;
	int e = 1;

	if (len > r->text_bytes_left)
		return err_set(r->err, -EFBIG, "too much text in the frames that nodes continue");
	r->text_bytes_left -= len;
	if (len > 0)
		e = folded_frames_add_frame(&r->builder, r->key.data + level->frame_at, len, &last);
	return e < 0 ? e : add_stack(r, e == 0, last, value);
}

/* ---- nodes ---- */

static int push_frame(struct reader *r, uint32_t location)
{
	return buf_add(&r->frames, &location, sizeof(location));
}

static int name_tree_level(struct reader *r, const struct node *node)
{
	const struct frame_source frame = {.name = {node->name, node->name_len}, .file = {"", 0}};
	uint32_t location;
	int e;

	if (node->name_len == 0)
		return 0;
	e = profile_builder_add_frame(&r->builder, &frame, &location);
	return e < 0 ? e : push_frame(r, location);
}

/* What ends with a semicolon is a frame of all nodes below. */
static int end_frames(struct reader *r, struct level *level, size_t new_from)
{
	const char *end = r->key.data + r->key.len, *from = r->key.data + new_from, *semicolon;
	int e = 0;

	while (e >= 0 && from < end && (semicolon = memchr(from, ';', (size_t)(end - from)))) {
		const char *frame = r->key.data + level->frame_at;
		uint32_t location;

		e = folded_frames_add_frame(&r->builder, frame, (size_t)(semicolon - frame),
					    &location);
		if (e == 0)
			e = push_frame(r, location);
		from = semicolon + 1;
		level->frame_at = (uint32_t)(from - r->key.data);
	}
	return e < 0 ? e : 0;
}

static int name_trie_level(struct reader *r, struct level *level, const struct node *node)
{
	size_t new_from = r->key.len;
	int e = buf_add(&r->key, node->name, node->name_len);

	if (e == -EFBIG)
		return err_set(r->err, e, "a stack is more than %zu bytes of text",
			       NODE_STACKS_MAX_KEY_BYTES);
	return e < 0 || r->key.len == new_from ? e : end_frames(r, level, new_from);
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
	*level = (struct level){
		.n_left = node->n_children,
		.frame_at = r->depth > 1 ? level[-1].frame_at : 0,
	};
	e = r->form == NODE_TREE ? name_tree_level(r, node) : name_trie_level(r, level, node);
	if (e < 0)
		return e;
	level->n_frames = (uint32_t)(r->frames.len / sizeof(uint32_t));
	level->key_len = (uint32_t)r->key.len;
	return node->value > 0 ? add_value(r, level, node) : 0;
}

static void end_levels(struct reader *r)
{
	while (r->depth > 0 && r->levels[r->depth - 1].n_left == 0) {
		const struct level *above = --r->depth > 0 ? &r->levels[r->depth - 1] : NULL;

		buf_truncate(&r->key, above ? above->key_len : 0);
		buf_truncate(&r->frames, above ? above->n_frames * sizeof(uint32_t) : 0);
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
	struct reader r = {
		.unit = &cfg->unit,
		.form = cfg->form,
		.rest = {p, p + len},
		.text_bytes_left = cfg->max_text_bytes ?: LIMIT_PROFILE_STACK_TEXT_BYTES,
		.err = err,
	};
	int e = profile_builder_init(&r.builder, arena, 1, err);

	buf_init(&r.frames, NODE_STACKS_MAX_DEPTH * sizeof(uint32_t));
	buf_init(&r.key, NODE_STACKS_MAX_KEY_BYTES);
	if (e == 0)
		e = read_nodes(&r);
	if (e == 0)
		e = folded_unit_set(&r.builder.profile, &cfg->unit);
	if (e == 0)
		*ret = r.builder.profile;
	buf_fini(&r.key);
	buf_fini(&r.frames);
	return e;
}
