/*
 * The walk over user stacks, compiled for this machine: what libbpf's headers declare, and the maps
 * and the memory of a process, as plain arrays. To be included by one file of a program. That of
 * x86-64, unless the file has defined __TARGET_ARCH_arm64.
 */
#ifndef TEST_LIB_HOST_BPF_H
#define TEST_LIB_HOST_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "test/lib/unwind_blocks.h"

#ifndef __TARGET_ARCH_arm64
#define __TARGET_ARCH_x86
#endif

#define __BPF_HELPERS__ /* keeps out libbpf's header */
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]
#define __noinline
#define barrier_var(variable) (void)(variable)
#ifndef __always_inline
#define __always_inline inline
#endif

static inline void *host_map_lookup(const void *map, const void *key);
static inline long host_read_user(void *ret, uint32_t size, const void *at);

#define bpf_map_lookup_elem(map, key) host_map_lookup(map, key)
#define bpf_map_delete_elem(map, key) (void)(map), (void)(key)
#define bpf_probe_read_user(ret, size, at) host_read_user(ret, size, at)
#define bpf_get_current_pid_tgid() ((uint64_t)HOST_TGID << 32)
#define barrier() (void)0

#define HOST_TGID 77u
#define HOST_START_TIME 1000u
#define HOST_STACK_AT 0x7f0000000000u
#define HOST_STACK_WORDS 16384u

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "bpf/user_walk.bpf.h"
#pragma GCC diagnostic pop

static struct host {
	union unwind_block slab[UNWIND_SLAB_BLOCKS];
	struct unwind_table tables[UNWIND_TABLES];
	uint64_t used[UNWIND_TABLES];
	struct unwind_ref process; /* of HOST_TGID; block 0: not reported */
	struct scratch scratch;
	struct jvm_scratch jvm;
#if defined(__TARGET_ARCH_x86)
	struct dotnet_scratch dotnet;
#endif
	struct chain_scratch chain;       /* thread_pointer is that of the thread */
	unsigned n_reads;                 /* of that memory, of a walk */
	uint64_t stack[HOST_STACK_WORDS]; /* the only memory that can be read, at HOST_STACK_AT */
} host;

static inline void *host_map_lookup(const void *map, const void *key)
{
	uint32_t i = *(const uint32_t *)key;

	if (map == &scratch)
		return i == 0 ? &host.scratch : NULL;
	if (map == &chain_scratch)
		return i == 0 ? &host.chain : NULL;
	if (map == &jvm_scratch)
		return i == 0 ? &host.jvm : NULL;
#if defined(__TARGET_ARCH_x86)
	if (map == &dotnet_scratch)
		return i == 0 ? &host.dotnet : NULL;
#endif
	if (map == &unwind_slabs)
		return i == 0 ? host.slab : NULL;
	if (map == host.slab)
		return i < UNWIND_SLAB_BLOCKS ? &host.slab[i] : NULL;
	if (map == &unwind_tables)
		return i < UNWIND_TABLES ? &host.tables[i] : NULL;
	if (map == &unwind_used)
		return i < UNWIND_TABLES ? &host.used[i] : NULL;
	if (map == &unwind_processes)
		return i == HOST_TGID && host.process.block ? &host.process : NULL;
	return NULL;
}

static inline long host_read_user(void *ret, uint32_t size, const void *at)
{
	uint64_t offset = (uint64_t)(uintptr_t)at - HOST_STACK_AT;

	host.n_reads++;
	if (offset > sizeof(host.stack) || size > sizeof(host.stack) - offset)
		return -1;
	memcpy(ret, (const char *)host.stack + offset, size);
	return 0;
}

/* There is no kernel whose mappings could be looked up. */
int find_vma_of(__u64 address)
{
	(void)address;
	return 0;
}

/* Walks from the registers in host.scratch.walk, as the sampler does. */
static inline enum walk_end host_walk(void)
{
	struct scratch *s = &host.scratch;
	enum walk_end end;

	s->n_user = s->n_switches = 0;
	host.n_reads = 0;
	s->event.n_kernel = 0;
	s->event.root_at = 0;
	memset(s->event.stack_switch, 0, sizeof(s->event.stack_switch));
	s->walk.exact = true;
	s->walk.was_exact = false;
	s->walk.rbx_at = WALK_RBX_IN_REGISTER;
	s->walk.sp_is_low = false;
	s->walk.guessed = false;
	s->walk.mappings.used_at = 5;
	s->walk.by_tables = unwind_find_process(&s->walk.mappings, HOST_TGID, HOST_START_TIME);
	s->walk.jvm_bytes = 0;
	s->walk.chained = s->walk.mappings.chain.block != 0 && chain_start();
	end = walk_user(s);
	if (s->walk.chained)
		chain_finish();
	return end;
}

#endif /* TEST_LIB_HOST_BPF_H */
