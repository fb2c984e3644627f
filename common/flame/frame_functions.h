/*
 * Frames → functions, with small numbers. A function is a name and what frame_file_key() leaves of
 * its file, so that those of two releases are the same one and can be compared; it has the first of
 * its files. Native code whose source was not known, or not yet, has the name of its program in
 * place of a file: it is the same function as the one of that name whose source is known, if there
 * is no other of either kind when both are there. Each frame text is split once; what comes with an
 * id is not even compared again. Pure.
 *
 * All frames of an object either come from one query, whose ids they have, or have none.
 */
#ifndef COMMON_FLAME_FRAME_FUNCTIONS_H
#define COMMON_FLAME_FRAME_FUNCTIONS_H

#include "common/base.h"
#include "common/data/intern.h"
#include "common/data/number_index.h"
#include "common/flame/flame_tree.h"

/* A function that always exists: stands for what does not fit. */
#define FRAME_FUNCTION_OTHER 0u

struct frame_function {
	uint32_t name; /* in names */
	uint32_t file; /* in files */
	uint32_t key;  /* of the file, in files */
	/* of native code, which has two files: the other key, of where the source is not known */
	uint32_t label;
	bool is_alone; /* no other native function has its name, so that it may get the other key */
};

/* Where a frame is. */
struct frame_place {
	uint32_t function;
	bool known; /* false: an unused entry */
	bool inlined;
	int64_t line; /* 0: unknown */
};

struct frame_functions {
	struct intern *names;
	struct intern *files;
	struct frame_function *items;
	uint32_t n_items;
	uint32_t max_items;
	struct number_index by_name; /* items by name and key */
	struct number_index natives; /* by name: the first native function that has it */

	struct intern *texts;       /* frames without an id */
	struct frame_place *places; /* by number in texts */
	size_t max_places;
	struct frame_place *by_id; /* by id of a frame */
	size_t max_by_id;
};

/* The limit is for names, files and texts each. Returns 0 or -ENOMEM; fini in both cases. */
int frame_functions_init(struct frame_functions *f, size_t max_text_bytes) MUST_CHECK;
void frame_functions_fini(struct frame_functions *f);

/* Sets *ret to the function, which is added if it is new. Errors as below. */
int frame_functions_add(struct frame_functions *f, const char *name, const char *file,
			uint32_t *ret) MUST_CHECK;

/* Returns 0, -EFBIG if the text does not fit, or -ENOMEM. */
int frame_functions_find(struct frame_functions *f, const struct flame_frame *frame,
			 struct frame_place *ret) MUST_CHECK;

#endif /* COMMON_FLAME_FRAME_FUNCTIONS_H */
