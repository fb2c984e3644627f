/*
 * Stacks → a file of speedscope, https://www.speedscope.app/file-format-schema.json. Pure.
 *
 * A frame is shared by all stacks that have it, and a comparison has two profiles in the file.
 * Memory is bounded; stacks that do not fit are -EFBIG.
 */
#ifndef COMMON_FLAME_SPEEDSCOPE_JSON_H
#define COMMON_FLAME_SPEEDSCOPE_JSON_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"
#include "common/data/intern.h"
#include "common/flame/flame_tree.h"

struct speedscope_stack {
	uint32_t *frames; /* ids in texts, leaf first */
	uint32_t n_frames;
	struct stack_value value;
};

struct speedscope_json {
	struct arena arena;
	struct intern *texts; /* frames */
	struct speedscope_stack *stacks;
	uint32_t n_stacks;
	uint32_t max_stacks;
};

/* For max_stacks stacks at most. Returns 0 or -ENOMEM; released with fini in both cases. */
int speedscope_json_init(struct speedscope_json *s, uint32_t max_stacks) MUST_CHECK;
void speedscope_json_fini(struct speedscope_json *s);

/* Returns 0, -EFBIG or -ENOMEM. */
int speedscope_json_add(struct speedscope_json *s, const struct flame_frame *frames,
			size_t n_frames, struct stack_value value) MUST_CHECK;

/* What the file says about its stacks. */
struct speedscope_texts {
	const char *exporter; /* the program that writes it */
	const char *title;
	const char *unit; /* "nanoseconds", "bytes"; others become "none" */
	const char *name; /* of the profile */
	const char *base; /* of the profile that it is compared with; NULL: none */
};

/* Appends the file. Returns 0, -EFBIG or -ENOMEM. */
int speedscope_json_write(const struct speedscope_json *s, const struct speedscope_texts *texts,
			  struct buf *out) MUST_CHECK;

#endif /* COMMON_FLAME_SPEEDSCOPE_JSON_H */
