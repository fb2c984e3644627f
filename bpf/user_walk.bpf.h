/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Walking a user stack: registers at the tick → return addresses.
 *
 * We do it ourselves with bpf_probe_read_user() instead of using the kernel's user callchain,
 * which has crashed hosts, returns 127 frames at most and does not report why it stopped.
 */
#ifndef BPF_USER_WALK_BPF_H
#define BPF_USER_WALK_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "kernel_types.h"
#include "sample_event.h"

/* Size of a kernel stack, at whose end the user registers are saved; set by user space. */
const volatile __u32 cfg_kernel_stack_bytes = 16384;

struct walk {
	__u64 ip; /* of the current frame: the leaf's address, then return addresses */
	__u64 sp;
	__u64 fp;
	bool compat;    /* 32-bit code */
	bool descended; /* the last step went to a lower address: another stack */
};

/*
 * How the caller of a frame is found. To add a mode: a value here, a step function below, its
 * case in next_frame(), and its condition in unwind_mode_at().
 */
enum unwind_mode {
	UNWIND_FRAME_POINTER,
};

/* Returned by next_frame() if there is a caller; otherwise it returns an enum walk_end. */
#define WALK_CONTINUES (-1)

#define PAGE_ZERO_END 4096

#if defined(__TARGET_ARCH_x86)
#define USER_SPACE_END (1ULL << 56) /* five-level page tables */
#define CS_RPL_MASK 3
#define CS_USER32 0x23

static bool regs_are_user(const bpf_user_pt_regs_t *regs)
{
	return regs->cs & CS_RPL_MASK;
}

static __u64 code_address(__u64 address)
{
	return address;
}

static void walk_from_event(struct walk *w, const bpf_user_pt_regs_t *regs)
{
	w->ip = regs->rip;
	w->sp = regs->rsp;
	w->fp = regs->rbp;
	w->compat = regs->cs == CS_USER32;
}

static void walk_from_saved(struct walk *w, const struct pt_regs___kernel *regs)
{
	w->ip = BPF_CORE_READ(regs, ip);
	w->sp = BPF_CORE_READ(regs, sp);
	w->fp = BPF_CORE_READ(regs, bp);
	/* later kernels keep other flags in the bits above the selector */
	w->compat = (BPF_CORE_READ(regs, cs) & 0xffff) == CS_USER32;
}
#elif defined(__TARGET_ARCH_arm64)
#define USER_SPACE_END (1ULL << 52)
#define PSTATE_MODE_MASK 0xf
#define PSTATE_AARCH32 0x10
#define REG_FP 29

static bool regs_are_user(const bpf_user_pt_regs_t *regs)
{
	return (regs->pstate & PSTATE_MODE_MASK) == 0;
}

/*
 * Return addresses may be signed: the signature is in the bits above the
 * address. 48 bits are what user space gets unless it asks mmap() for more.
 */
static __u64 code_address(__u64 address)
{
	return address & ((1ULL << 48) - 1);
}

static void walk_from_event(struct walk *w, const bpf_user_pt_regs_t *regs)
{
	w->ip = regs->pc;
	w->sp = regs->sp;
	w->fp = regs->regs[REG_FP];
	w->compat = regs->pstate & PSTATE_AARCH32;
}

static void walk_from_saved(struct walk *w, const struct pt_regs___kernel *regs)
{
	w->ip = BPF_CORE_READ(regs, pc);
	w->sp = BPF_CORE_READ(regs, sp);
	w->fp = BPF_CORE_READ(regs, regs[REG_FP]);
	w->compat = BPF_CORE_READ(regs, pstate) & PSTATE_AARCH32;
}
#endif

#include "go_walk.bpf.h"

/*
 * The registers that user space had when it entered the kernel. Before 5.15 there is no helper
 * that finds them, but they have always been at the end of the kernel stack.
 */
static const struct pt_regs___kernel *saved_user_regs(struct task_struct *task)
{
	void *stack;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	stack = BPF_CORE_READ(task, stack);
	if (!stack)
		return NULL;
	return stack + cfg_kernel_stack_bytes - bpf_core_type_size(struct pt_regs___kernel);
}

/*
 * The only place that decides how a frame is unwound; called for each frame, with its
 * registers in w.
 *
 * This is where unwinding tables plug in. Their maps are declared in a header beside this one.
 * User space fills them (process_table_subscribe() reports the mappings and files of each
 * process, sampler_map_fd() returns the maps). Here, look up the mapping of w->ip in the
 * current process and return the mode of its table; without a table, keep
 * UNWIND_FRAME_POINTER, so that a process is walked as well as possible until its tables are
 * ready. Only look up: hash maps must not be written on the sample path (see sampler.bpf.c).
 * The README beside this file has the instruction budget.
 */
static enum unwind_mode unwind_mode_at(const struct walk *w)
{
	(void)w;
	return UNWIND_FRAME_POINTER;
}

/* A frame begins with the caller's frame pointer and the return address into the caller. */
static int step_by_frame_pointer(struct walk *w)
{
	__u64 frame[2];

	if (w->fp == 0)
		return WALK_END_BOTTOM;
	if (bpf_probe_read_user(frame, sizeof(frame), (void *)w->fp))
		return WALK_END_UNREADABLE;
	if (frame[1] == 0) /* the outermost frame of a thread: its trampoline has no caller */
		return WALK_END_BOTTOM;
	frame[1] = code_address(frame[1]);
	if (frame[1] < PAGE_ZERO_END || frame[1] >= USER_SPACE_END)
		return WALK_END_BAD_ADDRESS;
	if (frame[0] == w->fp)
		return WALK_END_NOT_ASCENDING;
	w->descended = frame[0] != 0 && frame[0] < w->fp;
	w->sp = w->fp + sizeof(frame);
	w->fp = frame[0];
	w->ip = frame[1];
	return WALK_CONTINUES;
}

/*
 * Steps from a frame to its caller. Returns WALK_CONTINUES, or the enum walk_end if there is
 * none.
 */
static int next_frame(struct walk *w)
{
	switch (unwind_mode_at(w)) {
	case UNWIND_FRAME_POINTER:
		return step_by_frame_pointer(w);
	}
	return WALK_END_UNREADABLE;
}

/*
 * The same for the frame of the tick: unlike all others, it may be anywhere in its function, or in
 * code that calls nothing and so does without a frame pointer.
 */
static int first_frame(struct walk *w)
{
	w->descended = false;
	return step_by_go_table(&w->ip, &w->sp, &w->fp) ? WALK_CONTINUES : next_frame(w);
}

#endif /* BPF_USER_WALK_BPF_H */
