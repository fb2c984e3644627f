/*
 * The memory and the maps that the walk in BPF reads (bpf/unwind_table.h), as user space writes
 * them: arrays by plain stores, the hash maps of processes and files by bpf(2). Tests use plain
 * memory instead of maps.
 */
#ifndef NODE_AGENT_UNWIND_UNWIND_MEMORY_H
#define NODE_AGENT_UNWIND_UNWIND_MEMORY_H

#include <linux/types.h>
#include <sys/types.h>

#include "common/base.h"

#include "bpf/sample_event.h"
#include "bpf/unwind_table.h"

struct unwind_memory {
	struct unwind_table *tables; /* UNWIND_TABLES of them */
	uint64_t *used;              /* likewise; written by walks */
	/* As in struct unwind_slabs_config. */
	int (*make_slab)(void *ctx, unsigned slab, void **ret);
	void (*free_slab)(void *ctx, unsigned slab, void *memory);
	int (*map_slab)(void *ctx, unsigned slab, void **ret);
	void (*unmap_slab)(void *ctx, void *memory);
	/* The element of unwind_processes with this key. Return 0 or -errno. */
	int (*put_process)(void *ctx, pid_t pid, const struct unwind_ref *ref);
	int (*get_process)(void *ctx, pid_t pid, struct unwind_ref *ret); /* -ENOENT: none */
	int (*remove_process)(void *ctx, pid_t pid);
	/* The element of unwind_files with this key. Return 0 or -errno. */
	int (*put_file)(void *ctx, const struct event_file *key, const struct unwind_file *file);
	int (*remove_file)(void *ctx, const struct event_file *key);
	void *ctx;
};

struct unwind_maps;

/* Descriptors of the maps unwind_slabs, unwind_tables and so on. */
struct unwind_map_fds {
	int slabs;
	int tables;
	int used;
	int processes;
	int files;
};

/* Returns 0, -ENOMEM, or another -errno if the arrays cannot be mapped. */
int unwind_maps_new(struct unwind_maps **ret, const struct unwind_map_fds *fds) MUST_CHECK;
/* To be called after free_slab() was called for all slabs. NULL is allowed. */
void unwind_maps_free(struct unwind_maps *m);
DEFINE_CLEANUP(struct unwind_maps *, unwind_maps_free);

/* Valid until unwind_maps_free(). */
const struct unwind_memory *unwind_maps_memory(const struct unwind_maps *m);

#endif /* NODE_AGENT_UNWIND_UNWIND_MEMORY_H */
