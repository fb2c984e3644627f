/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The user registers at a tick, with which a walk begins: those of the event if it hit user mode,
 * else those that were saved when user space entered the kernel.
 */
#ifndef BPF_USER_REGISTERS_BPF_H
#define BPF_USER_REGISTERS_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "kernel_types.h"
#include "walk_state.bpf.h"

/* Size of a kernel stack, at whose end the user registers are saved; set by user space. */
const volatile __u32 cfg_kernel_stack_bytes = 16384;

_Static_assert(sizeof(bpf_user_pt_regs_t) == SAVED_REGISTERS * 8, "room for the registers");

#if defined(__TARGET_ARCH_x86)
#define CS_RPL_MASK 3
#define CS_USER32 0x23

static __always_inline bool regs_are_user(const bpf_user_pt_regs_t *regs)
{
	return regs->cs & CS_RPL_MASK;
}

static __always_inline void walk_from_regs(struct walk *w, const bpf_user_pt_regs_t *regs)
{
	__u64 *r = w->registers;

	r[0] = regs->rax;
	r[1] = regs->rdx;
	r[2] = regs->rcx;
	r[3] = regs->rbx;
	r[4] = regs->rsi;
	r[5] = regs->rdi;
	r[6] = w->fp = regs->rbp;
	r[7] = w->sp = regs->rsp;
	r[8] = regs->r8;
	r[9] = regs->r9;
	r[10] = regs->r10;
	r[11] = regs->r11;
	r[12] = regs->r12;
	r[13] = regs->r13;
	r[14] = regs->r14;
	r[15] = regs->r15;
	w->ip = regs->rip;
	/* kernels keep other flags in the bits above the selector */
	w->compat = (regs->cs & 0xffff) == CS_USER32;
}
#else
#define PSTATE_MODE_MASK 0xf
#define PSTATE_AARCH32 0x10

static __always_inline bool regs_are_user(const bpf_user_pt_regs_t *regs)
{
	return (regs->pstate & PSTATE_MODE_MASK) == 0;
}

static __always_inline void walk_from_regs(struct walk *w, const bpf_user_pt_regs_t *regs)
{
#pragma clang loop unroll(full)
	for (int i = 0; i < 31; i++)
		w->registers[i] = regs->regs[i];
	w->registers[31] = w->sp = regs->sp;
	w->fp = regs->regs[29];
	w->ip = regs->pc;
	w->compat = regs->pstate & PSTATE_AARCH32;
}
#endif

/*
 * Where the registers were saved that user space had when it entered the kernel. Before 5.15 there
 * is no helper that finds them, but they have always been at the end of the kernel stack.
 */
static const void *saved_user_regs(struct task_struct *task)
{
	void *stack;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	stack = BPF_CORE_READ(task, stack);
	if (!stack)
		return NULL;
	return stack + cfg_kernel_stack_bytes - bpf_core_type_size(struct pt_regs___kernel);
}

/* On both architectures, saved registers begin with what user space is shown of them. */
static __always_inline bool walk_from_saved(struct walk *w, struct task_struct *task)
{
	const void *saved = saved_user_regs(task);

	if (!saved || bpf_probe_read_kernel(w->saved, sizeof(w->saved), saved))
		return false;
	walk_from_regs(w, (const bpf_user_pt_regs_t *)w->saved);
	return true;
}

#endif /* BPF_USER_REGISTERS_BPF_H */
