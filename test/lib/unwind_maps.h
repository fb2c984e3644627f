/*
 * The maps of a loaded sampler that hold unwinding tables, filled by hand (unwind_blocks.h). What
 * fails ends the program.
 */
#ifndef TEST_LIB_UNWIND_MAPS_H
#define TEST_LIB_UNWIND_MAPS_H

#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node-agent/sample/sampler.h"
#include "test/lib/unwind_blocks.h"

#define UNWIND_MAPS_SLAB_BYTES ((size_t)UNWIND_SLAB_BLOCKS * UNWIND_BLOCK_BYTES)

static inline void unwind_maps_require(bool holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

static inline void *unwind_maps_map(int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, (bytes + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);

	unwind_maps_require(p != MAP_FAILED, "mmap of a BPF map");
	return p;
}

/* Makes the first slab. Its memory and that of the tables stay mapped. */
static inline void unwind_maps_make(struct sampler *s, struct unwind_blocks *ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	const uint32_t zero = 0;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(zero), UNWIND_BLOCK_BYTES,
				UNWIND_SLAB_BLOCKS, &opts);

	unwind_maps_require(fd >= 0 && bpf_map_update_elem(sampler_map_fd(s, "unwind_slabs"), &zero,
							   &fd, BPF_ANY) == 0,
			    "unwind_slabs");
	unwind_blocks_init(ret, unwind_maps_map(fd, UNWIND_MAPS_SLAB_BYTES),
			   unwind_maps_map(sampler_map_fd(s, "unwind_tables"),
					   UNWIND_TABLES * sizeof(struct unwind_table)));
	close(fd);
}

/* Reports a process with these mappings. Returns where it is. */
static inline struct unwind_ref unwind_maps_report(struct sampler *s, struct unwind_blocks *b,
						   const struct event_header *process,
						   const struct unwind_blocks_mapping *m,
						   uint32_t n)
{
	struct unwind_ref ref =
		unwind_blocks_process(b, process->tgid, process->start_boottime_ns, m, n, 0);

	unwind_maps_require(bpf_map_update_elem(sampler_map_fd(s, "unwind_processes"),
						&process->tgid, &ref, BPF_ANY) == 0,
			    "unwind_processes");
	return ref;
}

#endif /* TEST_LIB_UNWIND_MAPS_H */
