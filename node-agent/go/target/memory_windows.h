/*
 * Many small reads of another process's memory as few large ones.
 *
 * Windows are aligned down to their size, and one that cannot be read whole (its neighbour pages
 * are not mapped) is not missed: the exact bytes are read instead. What is read is a copy from the
 * time of the first read of its window; memory_windows_begin() forgets them all. One thread.
 */
#ifndef NODE_AGENT_GO_TARGET_MEMORY_WINDOWS_H
#define NODE_AGENT_GO_TARGET_MEMORY_WINDOWS_H

#include "common/base.h"
#include "node-agent/elf/byte_source.h"

#define MEMORY_WINDOW_BYTES UINT64_C(16384)
#define MEMORY_WINDOWS 64u /* allocators of as many processors have chunks of their own */

struct memory_windows;

/* -ENOMEM. Takes 1 MiB. */
int memory_windows_new(struct memory_windows **ret) MUST_CHECK;
void memory_windows_free(struct memory_windows *w);
DEFINE_CLEANUP(struct memory_windows *, memory_windows_free);

/* memory is borrowed until the next call; at most max_bytes are read of it. */
void memory_windows_begin(struct memory_windows *w, const struct byte_source *memory,
			  uint64_t max_bytes);

/* All of len bytes. -EFBIG: max_bytes are reached; -ENODATA, -EIO …: cannot be read. */
int memory_windows_read(struct memory_windows *w, uint64_t address, void *to,
			size_t len) MUST_CHECK;

/*
 * n words at a multiple of their size, as they lie in one window: valid until the next call. NULL: not in one, or it
 * cannot be read.
 */
const uint64_t *memory_windows_words(struct memory_windows *w, uint64_t address, size_t n);

/* The same as memory_windows_read() without a window: what is there now. */
int memory_windows_read_now(struct memory_windows *w, uint64_t address, void *to,
			    size_t len) MUST_CHECK;

#endif /* NODE_AGENT_GO_TARGET_MEMORY_WINDOWS_H */
