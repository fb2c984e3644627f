/*
 * Tunes malloc(3) for an agent whose jobs need much memory for a moment, one after the other, and
 * little in between.
 */
#ifndef NODE_AGENT_ALLOCATOR_H
#define NODE_AGENT_ALLOCATOR_H

#include <malloc.h>

#define ALLOCATOR_OWN_PAGES_BYTES (128 * 1024)
#define ALLOCATOR_KEPT_BYTES (2 * 1024 * 1024)

/* Call it before any other thread starts. */
static inline void allocator_setup(void)
{
	/*
	 * One heap for all threads. They rarely allocate at the same time, and each heap of its own
	 * would keep memory that its thread has freed.
	 */
	mallopt(M_ARENA_MAX, 1);
	/*
	 * Large blocks are mapped, so that they return to the kernel when freed, grow without a
	 * copy, and leave no holes in the heap that small blocks which live long then occupy.
	 * Setting the threshold also stops glibc from raising it after each such free. The end of
	 * the heap is kept for the next job.
	 */
	mallopt(M_MMAP_THRESHOLD, ALLOCATOR_OWN_PAGES_BYTES);
	mallopt(M_TRIM_THRESHOLD, ALLOCATOR_KEPT_BYTES);
}

#endif /* NODE_AGENT_ALLOCATOR_H */
