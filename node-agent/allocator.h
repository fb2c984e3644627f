/*
 * How malloc(3) keeps memory for the agent: its jobs need much for a moment, one after the other, and little between
 * them.
 */
#ifndef NODE_AGENT_ALLOCATOR_H
#define NODE_AGENT_ALLOCATOR_H

#include <malloc.h>

#define ALLOCATOR_OWN_PAGES_BYTES (640 * 1024)
#define ALLOCATOR_KEPT_BYTES (2 * 1024 * 1024)

/* Before there is a second thread. */
static inline void allocator_setup(void)
{
	/* threads that rarely allocate at once need no heap each, which would keep what it frees */
	mallopt(M_ARENA_MAX, 1);
	/*
	 * What is large goes back to the kernel when it is freed, and grows without a copy: by itself the limit follows what was
	 * freed before. What is left at the end of the heap is kept for the next job.
	 */
	mallopt(M_MMAP_THRESHOLD, ALLOCATOR_OWN_PAGES_BYTES);
	mallopt(M_TRIM_THRESHOLD, ALLOCATOR_KEPT_BYTES);
}

#endif /* NODE_AGENT_ALLOCATOR_H */
