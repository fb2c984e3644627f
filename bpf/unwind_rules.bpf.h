/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One step of a walk: the registers of a frame → those of its caller.
 *
 * With tables, each address has a rule (unwind_table.h). Where there is none (generated code, a
 * file whose table is not built, assembly without CFI), the step goes by frame pointer, and is
 * believed only if it leads up the stack and to executable memory. A process that user space has
 * not reported yet is walked by frame pointers alone.
 *
 * What is known of a frame is its stack pointer and frame pointer. The other registers are known
 * at the tick, and where a signal handler was called: its frame has all of them. A leaf in assembly
 * may leave a register alone that its caller has its CFA in: then they are used once more.
 *
 * rbx is followed further, as callees save it, but it is hardly ever needed: what a walk keeps is
 * where it is, and it is only read where a CFA is in it.
 */
#ifndef BPF_UNWIND_RULES_BPF_H
#define BPF_UNWIND_RULES_BPF_H

#include "sample_event.h"
#include "unwind_lookup.bpf.h"
#include "user_memory.bpf.h"
#include "walk_state.bpf.h"

/* The registers at a signal are in the frame that the kernel made on the handler's stack. */
#if defined(__TARGET_ARCH_x86)
#define SIGNAL_REGISTERS 17
#define SIGNAL_OFFSET 40            /* from the stack pointer after the handler's return */
#define USER_SPACE_END (1ULL << 56) /* five-level page tables */
#define RECORD_ENDS_FRAME 1         /* the CFA is above frame pointer and return address */
#elif defined(__TARGET_ARCH_arm64)
#define SIGNAL_REGISTERS 33
#define SIGNAL_OFFSET 312
#define USER_SPACE_END (1ULL << 52)
#define RECORD_ENDS_FRAME 0 /* compilers put the two below what the function keeps */
#else
#error "registers of this architecture are not known"
#endif

#define PAGE_ZERO_END 4096

/* A frame pointer that is not known: nothing near it can be read. */
#define WALK_FP_LOST (0xffffULL << 48 | 1ULL << 47)

/* Returned by a step if there is a caller; otherwise it returns an enum walk_end. */
#define WALK_CONTINUES (-1)

/*
 * Return addresses of arm64 may be signed: the signature is in the bits above the address. 48 bits
 * are what user space gets unless it asks mmap() for more.
 */
static __always_inline __u64 walk_code_address(__u64 address)
{
#if defined(__TARGET_ARCH_arm64)
	address &= (1ULL << 48) - 1;
#endif
	return address;
}

/* Goes to the caller. A return address of 0: the trampoline of a thread has no caller. */
static __always_inline int walk_to(struct walk *w, __u64 ip, __u64 sp, __u64 fp)
{
	if (ip == 0)
		return WALK_END_BOTTOM;
	ip = walk_code_address(ip);
	if (ip < PAGE_ZERO_END || ip >= USER_SPACE_END)
		return WALK_END_BAD_ADDRESS;
	if (sp == w->sp && !w->exact)
		return WALK_END_NOT_ASCENDING;
	w->descended = sp < w->sp;
	w->told = false;
	w->was_exact = w->exact;
	w->exact = false;
	w->sp_is_low = false;
	w->ip = ip;
	w->sp = sp;
	w->fp = fp;
	return WALK_CONTINUES;
}

/* Goes to the caller of a frame of which nothing but this record is known. */
static __always_inline int walk_to_next_record(struct walk *w, const __u64 frame[2])
{
	int end = walk_to(w, frame[1], w->fp + 2 * sizeof(frame[0]), frame[0]);

	w->sp_is_low = !RECORD_ENDS_FRAME;
	w->rbx_at = WALK_RBX_LOST;
	return end;
}

/* A frame begins with the caller's frame pointer and the return address into the caller. */
static __always_inline int walk_by_frame_pointer(struct walk *w)
{
	__u64 fp = w->fp, frame[2];

	if (fp == 0)
		return WALK_END_BOTTOM;
	if (!user_read_pair(&w->stack, frame, fp))
		return WALK_END_UNREADABLE;
	if (frame[0] == fp)
		return WALK_END_NOT_ASCENDING;
	w->descending = frame[0] != 0 && frame[0] < fp;
	return walk_to_next_record(w, frame);
}

/*
 * What follows the call in generated code that ends right behind it, or comes next where it was
 * interrupted: add $n,%rsp; ret, or pop %rbp; ret.
 */
#define SHAPE_ADD_MASK 0xff00ffffffULL
#define SHAPE_ADD 0xc300c48348ULL
#define SHAPE_POP_MASK 0xffffULL
#define SHAPE_POP 0xc35dULL

int walk_by_shape(void);

/*
 * In chain_loop.bpf.h. Steps from generated code to the interpreter's loop, if that is known to
 * have called it. Returns whether it did. A global function.
 */
int walk_to_loop(void);

/* Likewise from generated code that uses the loop's frame, to the caller of that. */
int walk_as_loop(void);

/*
 * Steps from a frame of generated code that an interpreter's loop calls or jumps to, or whose
 * instructions say how: the trampolines that CPython makes for perf, without frame pointers where
 * it is built so. Returns whether it did. A global function, like unwind_search().
 */
__noinline int walk_by_shape(void)
{
#if defined(__TARGET_ARCH_x86)
	struct scratch *s = get_scratch();
	__u64 code, cfa, frame[2];

	if (walk_to_loop() || walk_as_loop())
		return true;
	if (!s || s->walk.sp_is_low || bpf_probe_read_user(&code, sizeof(code), (void *)s->walk.ip))
		return false;
	cfa = s->walk.sp + 2 * USER_WORD_BYTES;
	if ((code & SHAPE_ADD_MASK) == SHAPE_ADD)
		cfa = s->walk.sp + (code >> 24 & 0x78) + USER_WORD_BYTES;
	else if ((code & SHAPE_POP_MASK) != SHAPE_POP)
		return false;
	if (!user_read_pair(&s->walk.stack, frame, cfa - 2 * USER_WORD_BYTES))
		return false;
	if ((code & SHAPE_POP_MASK) != SHAPE_POP)
		frame[0] = s->walk.fp;
	if (!unwind_enter(s, frame[1] - 1))
		return false;
	s->walk.rbx_at = WALK_RBX_LOST;
	return walk_to(&s->walk, frame[1], cfa, frame[0]) == WALK_CONTINUES;
#else
	return false; /* it has the address that it returns to in its frame record */
#endif
}

/*
 * The same as walk_by_frame_pointer() where nothing says that the code keeps frame pointers.
 * Returns why if they lead nowhere.
 */
static __always_inline int walk_by_guess(struct scratch *s, enum walk_end why)
{
	struct walk *w = &s->walk;
	__u64 fp = w->fp, frame[2];

	if (fp == 0 && !w->exact) {
		w->guessed = true; /* it may be anything, also in generated code */
		return WALK_END_BOTTOM;
	}
	if (fp < w->sp || !user_read_pair(&w->stack, frame, fp))
		return why;
	frame[1] = walk_code_address(frame[1]);
	if (frame[1] != 0 && !unwind_enter(s, frame[1] - 1) &&
	    (!(w->mappings.flags & UNWIND_PROCESS_OPEN) || why != WALK_END_JIT))
		return why;
	w->guessed |= why != WALK_END_JIT;
	return walk_to_next_record(w, frame) == WALK_CONTINUES ? WALK_CONTINUES : (int)why;
}

/* ---- signals ---- */

static __always_inline int walk_from_signal(struct walk *w)
{
	__u64 *r = w->registers, *saved = w->saved;

	if (bpf_probe_read_user(saved, SIGNAL_REGISTERS * 8, (void *)(w->sp + SIGNAL_OFFSET)))
		return WALK_END_UNREADABLE;
#if defined(__TARGET_ARCH_x86)
		/* r8 … r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip */
#pragma clang loop unroll(full)
	for (int i = 0; i < 8; i++)
		r[8 + i] = saved[i];
	r[5] = saved[8];
	r[4] = saved[9];
	r[6] = saved[10];
	r[3] = saved[11];
	r[1] = saved[12];
	r[0] = saved[13];
	r[2] = saved[14];
	r[7] = saved[15];
	w->fp = r[6];
	w->sp = r[7];
	w->ip = saved[16];
#else
#pragma clang loop unroll(full)
	for (int i = 0; i < WALK_REGISTERS; i++)
		r[i] = saved[i];
	w->fp = r[29];
	w->sp = r[31];
	w->ip = saved[32];
#endif
	w->exact = true;
	w->was_exact = w->sp_is_low = false;
	w->rbx_at = WALK_RBX_IN_REGISTER;
	w->descended = w->descending = false; /* a signal stack may be anywhere */
	return w->ip < PAGE_ZERO_END || w->ip >= USER_SPACE_END ? WALK_END_BAD_ADDRESS
								: WALK_CONTINUES;
}

/* ---- rules ---- */

static __always_inline __u64 walk_words(__s64 n)
{
	return (__u64)n * UNWIND_WORD_BYTES;
}

/* Returns false if the rule needs a register that is not known. */
static __always_inline bool walk_register(const struct walk *w, __u32 number, __u64 *ret)
{
	*ret = w->registers[unwind_masked(number, WALK_REGISTERS)];
	return w->exact;
}

/* The offset of a CFA from its base. */
static __always_inline __u64 walk_cfa_offset(const struct unwind_rule *r)
{
	__u32 words = r->cfa;

	if ((r->how & UNWIND_RA_MASK) == UNWIND_RA_BELOW_CFA)
		words |= (__u32)(__u16)r->aux << 16;
	return walk_words(words);
}

/* Goes from where rbx is in a frame to where it is in the caller's. */
static __always_inline void walk_rbx_to_caller(struct walk *w, const struct unwind_rule *r,
					       __u64 cfa)
{
	__u32 how = r->how & UNWIND_RBX_MASK;

	if (how == UNWIND_RBX_LOST)
		w->rbx_at = WALK_RBX_LOST;
	else if (how != UNWIND_RBX_SAME)
		w->rbx_at = cfa - walk_words(how / UNWIND_RBX_WORD);
}

/* Returns false if it is not known; then *ret stays as it was. */
static __always_inline bool walk_rbx(const struct walk *w, __u64 *ret)
{
	__u64 value;

	if (w->rbx_at == WALK_RBX_LOST)
		return false;
	if (w->rbx_at == WALK_RBX_IN_REGISTER)
		value = w->registers[UNWIND_RBX];
	else if (bpf_probe_read_user(&value, sizeof(value), (void *)w->rbx_at))
		return false;
	*ret = value;
	return true;
}

#define WALK_LIKELY_FRAME 65536 /* bytes */

/* That there is code is what the caller checks. */
static __always_inline int walk_cfa_at_word(struct walk *w, const struct unwind_rule *r, __u64 *ret)
{
	__u64 at;

	if (!user_read_word(&w->stack, &at, w->sp + walk_words((__s16)r->cfa)) ||
	    !user_read_word(&w->stack, ret, at + walk_words(r->aux >> 8)))
		return WALK_END_UNREADABLE;
	*ret += walk_words((__s8)r->aux);
	return WALK_CONTINUES;
}

static __always_inline int walk_cfa_by_register(struct walk *w, const struct unwind_rule *r,
						__u64 *ret)
{
	bool known = walk_register(w, r->base, ret), believed = w->was_exact;
	__u64 likely = WALK_LIKELY_FRAME;

	if (r->base < UNWIND_CFA_REGISTER)
		return WALK_END_NO_UNWIND_INFO;
	if (r->base < UNWIND_CFA_AT_INDEXED) {
		if (r->base == UNWIND_CFA_REGISTER + UNWIND_RBX && !known && walk_rbx(w, ret)) {
			believed = true;
			likely = ~0ULL; /* it may lead to another stack: OCaml's own */
		}
		*ret += walk_words(r->cfa);
		if (!known &&
		    !(believed && *ret - w->sp - 1 < likely && *ret % UNWIND_WORD_BYTES == 0))
			return WALK_END_NO_UNWIND_INFO;
		return WALK_CONTINUES;
	}
	if (!known)
		return WALK_END_NO_UNWIND_INFO;
	if (!user_read_word(&w->stack, ret,
			    w->sp + walk_words((__s16)r->cfa) + *ret * UNWIND_WORD_BYTES))
		return WALK_END_UNREADABLE;
	*ret += walk_words(r->aux);
	return WALK_CONTINUES;
}

/*
 * The CFA of a function that has saved the caller's frame pointer: by arm64's standard of procedure
 * calls, its own frame pointer is where it has saved that.
 */
static __always_inline int walk_cfa_by_record(const struct walk *w, const struct unwind_rule *r,
					      __u64 *ret)
{
	*ret = w->fp - walk_words(r->fp);
	return (r->how & UNWIND_FP_MASK) == UNWIND_FP_AT_CFA ? WALK_CONTINUES
							     : WALK_END_NO_UNWIND_INFO;
}

/* Returns WALK_CONTINUES with the CFA, or the enum walk_end. */
static __always_inline int walk_cfa(struct walk *w, const struct unwind_rule *r, __u64 *ret)
{
	__u64 at;

	switch (r->base) {
	case UNWIND_CFA_SP:
		if (!RECORD_ENDS_FRAME && w->sp_is_low)
			return walk_cfa_by_record(w, r, ret);
		*ret = w->sp + walk_cfa_offset(r);
		return WALK_CONTINUES;
	case UNWIND_CFA_FP:
		*ret = w->fp + walk_cfa_offset(r);
		return WALK_CONTINUES;
	case UNWIND_CFA_AT_SP:
	case UNWIND_CFA_AT_FP:
	case UNWIND_CFA_AT_RBX:
		at = r->base == UNWIND_CFA_AT_SP ? w->sp : w->fp;
		if (r->base == UNWIND_CFA_AT_RBX && !walk_rbx(w, &at))
			return WALK_END_NO_UNWIND_INFO;
		if (!user_read_word(&w->stack, ret, at + walk_words((__s16)r->cfa)))
			return WALK_END_UNREADABLE;
		*ret += walk_words(r->aux);
		return WALK_CONTINUES;
	case UNWIND_CFA_AT_WORD:
		return walk_cfa_at_word(w, r, ret);
	case UNWIND_CFA_PLT:
		*ret = w->sp + walk_words((w->ip & 15) >= r->cfa ? 2 : 1);
		return WALK_CONTINUES;
	default:
		return walk_cfa_by_register(w, r, ret);
	}
}

/* Where the caller's frame pointer is; 0: in its register. */
static __always_inline __u64 walk_fp_slot(const struct walk *w, const struct unwind_rule *r,
					  __u64 cfa)
{
	switch (r->how & UNWIND_FP_MASK) {
	case UNWIND_FP_AT_CFA:
		return cfa + walk_words(r->fp);
	case UNWIND_FP_AT_FP:
		return w->fp + walk_words(r->fp);
	case UNWIND_FP_AT_SP:
		return w->sp + walk_words(r->fp);
	default:
		return 0;
	}
}

/* Where the return address is; 0: in the register ret. */
static __always_inline __u64 walk_ra_slot(const struct unwind_rule *r, __u64 cfa)
{
	switch (r->how & UNWIND_RA_MASK) {
	case UNWIND_RA_BELOW_CFA:
		return cfa - UNWIND_WORD_BYTES;
	case UNWIND_RA_AT_CFA:
		return cfa + walk_words(r->aux);
	default:
		return 0;
	}
}

static __always_inline int walk_by_cfa(struct scratch *s, const struct unwind_rule *r)
{
	struct walk *w = &s->walk;
	__u64 frame[2], cfa, fp_slot, ra_slot;
	int end = walk_cfa(w, r, &cfa);
	bool told = r->base > UNWIND_CFA_FP && cfa < w->sp;

	if (end != WALK_CONTINUES)
		return end;
	walk_rbx_to_caller(w, r, cfa);
	fp_slot = walk_fp_slot(w, r, cfa);
	ra_slot = walk_ra_slot(r, cfa);
	frame[0] = r->fp == UNWIND_FP_LOST ? WALK_FP_LOST : w->fp;
	if (fp_slot && ra_slot == fp_slot + UNWIND_WORD_BYTES && !told &&
	    r->base < UNWIND_CFA_REGISTER) {
		if (!user_read_pair(&w->stack, frame, fp_slot))
			return WALK_END_UNREADABLE;
		return walk_to(w, frame[1], cfa, frame[0]);
	}
	if (fp_slot && !user_read_word(&w->stack, &frame[0], fp_slot))
		return WALK_END_UNREADABLE;
	if (!ra_slot && !walk_register(w, (__u32)r->aux, &frame[1]))
		return WALK_END_NO_UNWIND_INFO;
	if (ra_slot && !user_read_word(&w->stack, &frame[1], ra_slot))
		return WALK_END_UNREADABLE;
	if ((told || (r->base >= UNWIND_CFA_REGISTER && !w->exact)) &&
	    !unwind_enter(s, walk_code_address(frame[1]) - 1))
		return WALK_END_NO_UNWIND_INFO;
	end = walk_to(w, frame[1], cfa, frame[0]);
	w->told = told;
	return end;
}

static __always_inline int walk_by_rule(struct scratch *s, const struct unwind_rule *rule)
{
	struct unwind_rule r = *rule;

	switch (r.base) {
	case UNWIND_CFA_END:
		return WALK_END_BOTTOM;
	case UNWIND_CFA_SIGNAL:
		return walk_from_signal(&s->walk);
	case UNWIND_CFA_FRAME_POINTER:
		return walk_by_frame_pointer(&s->walk);
	default:
		return walk_by_cfa(s, &r);
	}
}

/*
 * Finds the rule at an address in generated code whose runtime says how it leaves its frame
 * (dotnet_walk.bpf.h). Returns its index among those that were found lately, or -1. A global
 * function, like unwind_search().
 */
int generated_rule(__u64 address);

static __always_inline const struct unwind_rule *walk_generated_rule(struct scratch *s,
								     __u64 address)
{
	int i = s->walk.chained ? generated_rule(address) : -1;

	return i < 0 ? NULL : &s->recent[unwind_masked((__u32)i, UNWIND_RECENT)].rule;
}

/* The rule that holds in the frame; NULL, and why, if there is none that is to be followed. */
static __always_inline const struct unwind_rule *walk_rule(struct scratch *s, enum walk_end *why)
{
	const struct walk *w = &s->walk;
	const struct unwind_mappings *m = &w->mappings;
	__u64 address = w->exact ? w->ip : w->ip - 1; /* in the call, which may end its function */
	const struct unwind_table *t;
	const struct unwind_rule *rule;

	*why = m->flags & UNWIND_PROCESS_OPEN ? WALK_END_JIT : WALK_END_NO_MAPPING;
	if (!unwind_enter(s, address))
		return NULL;
	*why = m->table == UNWIND_TABLE_ANONYMOUS ? WALK_END_JIT : WALK_END_NO_TABLE;
	if (m->table == UNWIND_TABLE_ANONYMOUS)
		return walk_generated_rule(s, address);
	t = bpf_map_lookup_elem(&unwind_tables, &m->table);
	if (!t || t->n_pages == 0)
		return NULL;
	*why = WALK_END_NO_UNWIND_INFO;
	rule = unwind_rule_at(s, t, address - m->bias);
	return rule && rule->base != UNWIND_CFA_UNKNOWN ? rule : NULL;
}

/* Steps from a frame of a process with tables to its caller. */
static __always_inline int walk_by_table(struct scratch *s)
{
	const struct unwind_rule *rule;
	enum walk_end why;
	bool trampoline;
	int end;

	rule = walk_rule(s, &why);
	if (rule)
		return walk_by_rule(s, rule);
	/*
	 * Compilers mostly keep frame pointers, and an interpreter's trampolines do not. It costs
	 * as much to read instructions as to read the stack.
	 */
	trampoline = why == WALK_END_JIT && (s->walk.chained || s->walk.fp == 0);
	if (trampoline && walk_by_shape())
		return WALK_CONTINUES;
	end = walk_by_guess(s, why);
	if (end == WALK_END_JIT && !trampoline && walk_by_shape())
		return WALK_CONTINUES;
	return end;
}

#endif /* BPF_UNWIND_RULES_BPF_H */
