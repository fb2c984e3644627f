/*
 * Turns many small reads of another process's memory into a few large ones.
 *
 * What is returned is a copy from the moment when its window was first read. Use
 * memory_windows_read_now() where the current value matters; memory_windows_begin() drops all
 * copies. For one thread.
 */
#ifndef NODE_AGENT_TARGET_MEMORY_WINDOWS_H
#define NODE_AGENT_TARGET_MEMORY_WINDOWS_H

#include "common/base.h"
#include "common/elf/byte_source.h"

#define MEMORY_WINDOW_BYTES UINT64_C(16384)
#define MEMORY_WINDOWS 64u

struct memory_windows;

/* Takes 1 MiB, of which windows that are in use are resident. Returns 0 or -ENOMEM. */
int memory_windows_new(struct memory_windows **ret) MUST_CHECK;
void memory_windows_free(struct memory_windows *w);
DEFINE_CLEANUP(struct memory_windows *, memory_windows_free);

/*
 * Starts reading `memory`, which is borrowed until the next begin. Reads max_bytes of it at
 * most.
 */
void memory_windows_begin(struct memory_windows *w, const struct byte_source *memory,
			  uint64_t max_bytes);

/* Drops all copies, and gives the memory that they were in back to the kernel. */
void memory_windows_end(struct memory_windows *w);

/*
 * Reads all len bytes. Returns 0, -EFBIG after max_bytes, -ENODATA, -EIO … if they cannot be
 * read, or -ENOMEM, which is what all further calls return too until the next begin.
 */
int memory_windows_read(struct memory_windows *w, uint64_t address, void *to,
			size_t len) MUST_CHECK;

/*
 * Returns n words at an address that is a multiple of 8, in place: valid until the next call.
 * NULL if they do not lie in one window, or it cannot be read.
 */
const uint64_t *memory_windows_words(struct memory_windows *w, uint64_t address, size_t n);

/* As memory_windows_read(), but bypasses the windows and reads the current content. */
int memory_windows_read_now(struct memory_windows *w, uint64_t address, void *to,
			    size_t len) MUST_CHECK;

#endif /* NODE_AGENT_TARGET_MEMORY_WINDOWS_H */
