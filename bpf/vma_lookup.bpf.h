/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Finding the mapping of an address in the kernel's own tree, for processes whose mappings user
 * space has not reported: most of those that a compiler driver starts exit before that.
 *
 * bpf_find_vma() needs the lock of the memory map, which the interrupted code may hold, and can be
 * called once per tick. So the tree is read without a lock, a node at a time: a maple tree, since
 * Linux 6.1 (include/linux/maple_tree.h). It may change meanwhile. What is found is believed only
 * if it is a mapping of this process that contains the address; a mapping that is missed costs a
 * frame of one sample.
 *
 * The table comes from the map unwind_files, by what the inode says.
 */
#ifndef BPF_VMA_LOOKUP_BPF_H
#define BPF_VMA_LOOKUP_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "file_identity.bpf.h"
#include "kernel_types.h"
#include "unwind_table.h"
#include "walk_state.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct event_file);
	__type(value, struct unwind_file);
	__uint(max_entries, UNWIND_FILES);
} unwind_files SEC(".maps");

/*
 * Levels of the tree at most: nodes have room for 10 children, leaves for 16 mappings, and both
 * are mostly half full, which makes 6 levels of 65,530 mappings.
 */
#define VMA_LEVELS 8

/*
 * An entry that leads to a node has its type in bits 3 to 6, and the node is aligned. These are
 * numbers and not looked up in the kernel's BTF, because kernels before 6.1 do not have the types
 * (kernel_types.h): enum maple_type, and words of struct maple_range_64 and maple_arange_64.
 */
#define MAPLE_NODE_MASK 255ULL
#define MAPLE_TYPE_SHIFT 3
#define MAPLE_TYPE_MASK 15
#define MAPLE_LEAF_64 1
#define MAPLE_ARANGE_64 3
#define MAPLE_PIVOTS 1 /* of both; the parent is before them */
#define MAPLE_LEAF_SLOTS 16
#define MAPLE_ARANGE_SLOTS 10

/* Whether mappings of processes that are not reported can be found. */
static __always_inline bool vma_lookup_is_possible(void)
{
	const struct event_file vdso = {};

	return bpf_core_field_exists(struct mm_struct, mm_mt) &&
	       bpf_map_lookup_elem(&unwind_files, &vdso) != NULL;
}

/*
 * The child whose range has the address. Pivots are the last address of each child, except of the
 * last one; words that are not used are 0. Behind the nine pivots of an inner node, its slots are
 * compared too: those are addresses of the kernel or 0, above all others. All pivots end a page.
 */
static __always_inline __u64 maple_child(const __u64 *node, __u64 address)
{
	__u64 page = address >> UNWIND_MAPPING_SHIFT, n = 0;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < 15; i++) {
		__u64 above = ((node[MAPLE_PIVOTS + i] - 1) >> UNWIND_MAPPING_SHIFT) - page;

		barrier_var(above); /* keeps clang from making it a branch */
		n += above >> 63;
	}
	return n;
}

int descend_vma_tree(__u64 address);

/*
 * Goes from the entry in s->vma to the one below it that has the address. Returns whether that one
 * leads to a node; if not, it is a mapping, or 0. A global function, like walk_frame().
 */
__noinline int descend_vma_tree(__u64 address)
{
	struct scratch *s = get_scratch();
	__u64 entry, type, slot;

	if (!s || !bpf_core_field_exists(struct mm_struct, mm_mt))
		return false;
	entry = s->vma;
	s->vma = 0;
	type = entry >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;
	if (bpf_probe_read_kernel(s->node, sizeof(s->node), (void *)(entry & ~MAPLE_NODE_MASK)))
		return false;
	slot = type == MAPLE_ARANGE_64 ? MAPLE_ARANGE_SLOTS : MAPLE_LEAF_SLOTS;
	slot += maple_child(s->node, address);
	s->vma = s->node[unwind_masked(slot, VMA_NODE_WORDS)];
	return type != MAPLE_LEAF_64;
}

static __always_inline struct vm_area_struct *vma_at(struct scratch *s, struct mm_struct *mm,
						     __u64 address)
{
	s->vma = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
#pragma clang loop unroll(disable)
	for (int level = 0; level < VMA_LEVELS; level++) {
		if (!descend_vma_tree(address))
			break;
	}
	barrier(); /* from here on, it does not matter in which round the loop ended */
	return (void *)s->vma;
}

/* Returns whether user space knows s->file. */
static __always_inline bool use_inode(struct scratch *s, __u64 page_offset)
{
	const struct unwind_file *f = bpf_map_lookup_elem(&unwind_files, &s->file);
	struct unwind_mappings *m = &s->walk.mappings;
	struct unwind_file file;
	__u64 offset;

	m->table = UNWIND_TABLE_NONE;
	if (!f)
		return false;
	file = *f;
	if (file.ino != s->file.ino || file.ctime_ns != s->file.ctime_ns)
		return false;
	offset = page_offset << (file.page_shift & 31);
#pragma clang loop unroll(full)
	for (int i = 0; i < UNWIND_FILE_SEGMENTS; i++) {
		const struct unwind_segment *segment = &file.segments[i];

		if (m->table != UNWIND_TABLE_NONE || offset < segment->from ||
		    offset >= segment->end)
			continue;
		m->table = file.table;
		m->bias = m->start - offset - segment->ahead;
	}
	return true;
}

static __always_inline bool use_file_of(struct scratch *s, struct inode *inode, __u64 page_offset)
{
	s->walk.mappings.table = UNWIND_TABLE_NONE;
	__builtin_memset(&s->file, 0, sizeof(s->file));
	read_inode(&s->file, inode);
	if (s->file.ino == 0) /* no file: that would be the key of the vDSO */
		return false;
	if (use_inode(s, page_offset))
		return true;
	s->file.dev = UNWIND_FILE_OF_LAYER;
	return use_inode(s, page_offset);
}

/*
 * A file of overlayfs is mapped with the inode of its layer, and is mostly known by that. User
 * space knows the number of the inode that /proc/<pid>/maps shows: before Linux 6.7 the same, since
 * then that of the overlay, whose path lies behind the mapped file (struct backing_file in
 * fs/file_table.c). Its number is another one once the container has changed the file, or where
 * layers are of several file systems. The flag that says whether there is such a path has another
 * value in each kernel, so it is not asked: what lies behind other files is the inode of no file.
 */
static __always_inline void use_file(struct scratch *s, struct file *file, __u64 page_offset)
{
	__u64 file_bytes = (bpf_core_type_size(struct file) + 7) & ~7ULL;
	struct path *user_path = (void *)file + file_bytes;

	if (!use_file_of(s, BPF_CORE_READ(file, f_inode), page_offset))
		use_file_of(s, BPF_CORE_READ(user_path, dentry, d_inode), page_offset);
}

static __always_inline void note_vma(struct scratch *s, __u64 vma)
{
	bool known = false;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WALK_VMAS; i++)
		known |= i < s->n_vmas && s->vmas[i] == vma;
	if (known || s->n_vmas >= WALK_VMAS)
		return;
	s->vmas[unwind_masked(s->n_vmas, WALK_VMAS)] = vma;
	s->n_vmas++;
}

static __always_inline bool use_vma(struct scratch *s, struct mm_struct *mm,
				    struct vm_area_struct *vma, __u64 address)
{
	__u64 start = BPF_CORE_READ(vma, vm_start), end = BPF_CORE_READ(vma, vm_end);
	struct unwind_mappings *m = &s->walk.mappings;
	struct file *file;

	if (address < start || address >= end || BPF_CORE_READ(vma, vm_mm) != mm ||
	    !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return false;
	note_vma(s, (__u64)vma);
	m->start = start;
	m->bytes = end - start;
	m->bias = 0;
	file = BPF_CORE_READ(vma, vm_file);
	__builtin_memset(&s->file, 0, sizeof(s->file));
	if (file)
		use_file(s, file, BPF_CORE_READ(vma, vm_pgoff));
	else if ((__u64)BPF_CORE_READ(mm, context.vdso) == start)
		use_inode(s, 0);
	else
		m->table = UNWIND_TABLE_ANONYMOUS;
	return true;
}

/* A global function, like walk_frame(): it is verified once. */
__noinline int find_vma_of(__u64 address)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct scratch *s = get_scratch();
	struct vm_area_struct *vma;
	struct mm_struct *mm;

	if (!s || !vma_lookup_is_possible())
		return false;
	mm = BPF_CORE_READ(task, mm);
	vma = mm ? vma_at(s, mm, address) : NULL;
	return vma && use_vma(s, mm, vma, address);
}

#endif /* BPF_VMA_LOOKUP_BPF_H */
