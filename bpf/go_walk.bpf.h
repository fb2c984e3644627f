/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The first step of a walk that begins in assembly of a Go program.
 *
 * Such code uses the frame pointer's register as it likes, or has no frame, so the step cannot go
 * by frame pointer. User space knows the sizes of frames from the program's own tables, and fills
 * the maps for processes soon after their first sample. Callers further up are compiled code, which
 * has frame pointers. If there is no table, or what it leads to is not code of the program, the
 * step goes by frame pointer as everywhere else. On arm64 there are no such maps: its assembly
 * leaves the frame pointer alone.
 */
#ifndef BPF_GO_WALK_BPF_H
#define BPF_GO_WALK_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "go_assembly.h"

#if defined(__TARGET_ARCH_x86)
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32); /* tgid */
	__type(value, struct go_frame_process);
	__uint(max_entries, GO_ASSEMBLY_PROCESSES);
} go_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct go_frame_table);
	__uint(max_entries, GO_ASSEMBLY_TABLES);
} go_tables SEC(".maps");

/*
 * An index, masked where the verifier sees it: clang would leave out a mask that it can prove
 * unnecessary, while verifiers before 6.12 cannot.
 */
static __u64 masked(__u64 index)
{
	barrier_var(index);
	return index & (GO_ASSEMBLY_RANGES - 1);
}

/*
 * The element with the last start that is not behind offset. Without branches, of which the
 * verifier would follow all combinations.
 */
static __u64 find_go_range(const struct go_frame_table *t, __u32 offset)
{
	__u64 i = 0;

#pragma clang loop unroll(full)
	for (__u64 step = GO_ASSEMBLY_RANGES / 2; step > 0; step /= 2) {
		__s64 left = (__s64)offset - t->start[masked(i + step)];

		barrier_var(left); /* keeps clang from making it a branch */
		i += step & ~(__u64)(left >> 63);
	}
	return masked(i);
}

/* Returns false, and leaves the frame as it is, unless it has found the caller. */
static bool step_by_go_table(__u64 *ip, __u64 *sp, __u64 *fp)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	const struct go_frame_process *p = bpf_map_lookup_elem(&go_processes, &tgid);
	const struct go_frame_table *t;
	__u64 frame[2], at;
	__u16 words;

	if (!p || *ip - p->text_start >= p->text_bytes)
		return false;
	t = bpf_map_lookup_elem(&go_tables, &p->table);
	if (!t)
		return false;
	words = t->words[find_go_range(t, (__u32)(*ip - p->text_start))];
	if (words == GO_ASSEMBLY_UNKNOWN)
		return false;
	at = *sp + words * 8ULL;
	frame[0] = *fp;
	if (words == 0 ? bpf_probe_read_user(&frame[1], 8, (void *)at)
		       : bpf_probe_read_user(frame, 16, (void *)(at - 8)))
		return false;
	if (frame[1] < PAGE_ZERO_END || frame[1] >= USER_SPACE_END ||
	    frame[1] - p->text_start >= p->text_bytes)
		return false;
	*fp = frame[0];
	*ip = frame[1];
	*sp = at + 8;
	return true;
}

/* Its memory is about to become that of another program, or of none. */
static void forget_go_process(__u32 tgid)
{
	bpf_map_delete_elem(&go_processes, &tgid);
}
#else
static bool step_by_go_table(__u64 *ip, __u64 *sp, __u64 *fp)
{
	(void)ip;
	(void)sp;
	(void)fp;
	return false;
}

static void forget_go_process(__u32 tgid)
{
	(void)tgid;
}
#endif

#endif /* BPF_GO_WALK_BPF_H */
