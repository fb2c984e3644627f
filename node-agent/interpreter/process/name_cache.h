/*
 * Names of frames that were read from processes, until the profile of their interval is made: 32
 * bytes for each, and its texts once. Pure; not thread-safe.
 *
 * A frame is known by 64 bits of a hash whose seed nobody knows: that two have the same is as
 * unlikely as that memory fails.
 */
#ifndef NODE_AGENT_INTERPRETER_PROCESS_NAME_CACHE_H
#define NODE_AGENT_INTERPRETER_PROCESS_NAME_CACHE_H

#include <errno.h>

#include "common/base.h"
#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/process/process_snapshot.h"

struct name_cache;

/* Returns 0 or -ENOMEM. max_names and max_text_bytes are limits. */
int name_cache_new(struct name_cache **ret, uint32_t max_names, size_t max_text_bytes) MUST_CHECK;
void name_cache_free(struct name_cache *c);
DEFINE_CLEANUP(struct name_cache *, name_cache_free);

uint64_t name_cache_key(const struct process_snapshot *s, const struct interpreter_frame *f);

/* A borrowed name, or why there is none. */
struct cached_name {
	const char *function;
	const char *file;
	uint32_t line;
	uint32_t start_line;
	int error; /* 0, or that of reading it */
	uint8_t n_callers;
	bool is_root;
};

/* Whether another try may find another thing. */
static inline bool cached_name_has_failed(int error)
{
	return error < 0 && error != -ENODATA && error != -ENXIO;
}

/* Returns false if the frame is not known. Texts are valid until the next change. */
bool name_cache_find(struct name_cache *c, uint64_t key, struct cached_name *ret);

/*
 * Adds what was read, or that it cannot be; replaces only the latter. Returns 0, -ENOMEM, or
 * -ENOBUFS at a limit.
 */
int name_cache_add(struct name_cache *c, uint64_t key, const struct cached_name *name) MUST_CHECK;

/*
 * The same of a frame, and of its function: what could not be read of this place in the function,
 * because the frame was gone, may have been read of another one. Its line is then the first.
 */
bool name_cache_find_frame(struct name_cache *c, const struct process_snapshot *s,
			   const struct interpreter_frame *f, struct cached_name *ret);
int name_cache_add_frame(struct name_cache *c, const struct process_snapshot *s,
			 const struct interpreter_frame *f,
			 const struct cached_name *name) MUST_CHECK;

/*
 * An interval has ended. Forgets what could not be read, so that it is tried again, and if the
 * cache is filling, what was not asked for in the last two intervals. Returns whether something may
 * be forgotten.
 */
bool name_cache_end_cycle(struct name_cache *c);

uint32_t name_cache_count(const struct name_cache *c);
size_t name_cache_bytes(const struct name_cache *c);

#endif /* NODE_AGENT_INTERPRETER_PROCESS_NAME_CACHE_H */
