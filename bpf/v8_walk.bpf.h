/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Frames of V8 (Node.js): those of code that it generates, and of the code that it brings along,
 * its builtins, among which are its interpreter's instructions.
 *
 * All of that keeps frame pointers, so a frame is proven by its layout, where one is made. Below
 * the frame pointer are two words: in a frame of JavaScript its context and its function, both
 * objects; in another one a small number that says what it is. Frames of the interpreter have their
 * bytecode and the offset in it further below. What is sent of a function is its
 * SharedFunctionInfo, which is moved less often than the function itself.
 *
 * Where the code was interrupted there may be no frame yet, or no more, or never one. Instructions
 * tell.
 */
#ifndef BPF_V8_WALK_BPF_H
#define BPF_V8_WALK_BPF_H

#include "chain_code.bpf.h"
#include "chain_walk.bpf.h"
#include "unwind_rules.bpf.h"

/*
 * CHAIN_IN_NATIVE: what an address is: an enum chain_native. V8 maps the loop again for each
 * isolate, near the code that it generates. A global function.
 */
__noinline int chain_native_at(__u64 address)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();
	const struct unwind_mappings *m;

	if (!c || !s || !unwind_enter(s, address))
		return CHAIN_NATIVE_NOT;
	m = &s->walk.mappings;
	if (m->table == UNWIND_TABLE_ANONYMOUS)
		return CHAIN_NATIVE_GENERATED;
	return m->table == c->loop_table && m->table != UNWIND_TABLE_NONE &&
			       address - m->bias - c->layout.loop_in_file < c->layout.loop_bytes
		       ? CHAIN_NATIVE_LOOP
		       : CHAIN_NATIVE_NOT;
}

/* What a frame is, of code that was interrupted. */
enum v8_frame {
	V8_FRAME,     /* the frame pointer is that of the code */
	V8_AT_ENTRY,  /* there is none: the return address is where the stack pointer is */
	V8_AT_RETURN, /* the same, after the frame has been taken down */
	V8_PUSHED,    /* the caller's frame pointer is there, the return address above it */
};

#define V8_TAGS 3ULL
#define V8_OBJECT 1ULL
#define V8_BYTECODE_MAX (1U << 24)
#define V8_BYTECODE_MIN 48 /* offsets count from the object that has the bytecode */

static __always_inline bool v8_is_object(__u64 word)
{
	return (word & V8_TAGS) == V8_OBJECT;
}

#if defined(__TARGET_ARCH_x86)
#define V8_CODE_WORDS 4
#define V8_MAKES_FRAME 0xe5894855 /* push %rbp; mov %rsp, %rbp */
#define V8_SETS_FRAME 0xe58948
#define V8_RETURNS 0xc3
#define V8_RETURNS_BY 0xc2
#define V8_FUNCTION_REGISTER 5 /* rdi, when a function is called */
#define V8_OFFSET_REGISTER 9   /* r9, in the interpreter's instructions */

/* What the next instructions, which were read, say. */
static __always_inline int v8_frame_by_code(const struct chain_scratch *c)
{
	__u64 first = c->words[0];

	if ((first & 0xff) == V8_RETURNS || (first & 0xff) == V8_RETURNS_BY)
		return V8_AT_RETURN;
	if ((first & 0xffffff) == V8_SETS_FRAME)
		return V8_PUSHED;
	return chain_code_find(V8_CODE_WORDS, V8_MAKES_FRAME, ~0U) == CHAIN_CODE_NOWHERE
		       ? V8_FRAME
		       : V8_AT_ENTRY;
}

int v8_frame_of_leaf(int is_builtin);

/* An enum v8_frame. A global function. */
__noinline int v8_frame_of_leaf(int is_builtin)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();
	__u64 caller[2];
	int how;

	if (!c || !s || bpf_probe_read_user(c->words, V8_CODE_WORDS * 8, (void *)s->walk.ip) ||
	    bpf_probe_read_user(caller, sizeof(caller), (void *)s->walk.sp))
		return V8_FRAME;
	c->words[V8_CODE_WORDS] = 0;
	how = v8_frame_by_code(c);
	/* code may have parts that make a frame for what they call */
	if (how != V8_FRAME &&
	    unwind_enter(s, walk_code_address(how == V8_PUSHED ? caller[1] : caller[0]) - 1))
		return how;
	/* what generated code calls may do without a frame */
	return is_builtin && unwind_enter(s, caller[0] - 1) &&
			       s->walk.mappings.table == UNWIND_TABLE_ANONYMOUS
		       ? V8_AT_RETURN
		       : V8_FRAME;
}
#endif

#if defined(__TARGET_ARCH_x86)
int v8_frame_of_caller(void);

/*
 * An enum v8_frame, of generated code that has called what was interrupted: a builtin may make the
 * frame for it. Until then, nothing is on the stack but the return address. A global function.
 */
__noinline int v8_frame_of_caller(void)
{
	struct scratch *s = get_scratch();
	__u64 word;

	if (!s || bpf_probe_read_user(&word, sizeof(word), (void *)s->walk.sp))
		return V8_FRAME;
	return unwind_enter(s, walk_code_address(word) - 1) ? V8_AT_ENTRY : V8_FRAME;
}
#endif

/*
 * Where V8 has mapped builtins again, the address is sent that the code has in its file's first
 * mapping. That one is older than what user space knows of the process.
 */
static __always_inline void v8_note_builtin(struct scratch *s, const struct chain_layout *l)
{
	__u64 addr = s->walk.ip - s->walk.mappings.bias - l->loop_in_file + l->loop;
	__u32 index = s->n_user - 1;

	if (index < SAMPLER_USER_FRAMES)
		s->addrs[unwind_masked(s->event.n_kernel + index, SAMPLER_MAX_ADDRS)] = addr;
	s->root[unwind_masked(index, SAMPLER_ROOT_FRAMES)] = addr;
}

int v8_take_frame(void);

/* Takes the frame of the walk, if it is one of JavaScript. Returns an enum v8_frame. */
__noinline int v8_take_frame(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();
	const struct chain_frames *f;
	__u64 function = 0, code = 0, pc;
	bool is_builtin;
	int how = V8_FRAME;

	if (!c || !s)
		return V8_FRAME;
	f = &c->layout.frames;
	pc = s->walk.exact ? s->walk.ip : s->walk.ip - 1;
	is_builtin = chain_native_at(pc) == CHAIN_NATIVE_LOOP;
	if (is_builtin)
		v8_note_builtin(s, &c->layout);
#ifdef V8_FUNCTION_REGISTER
	if (s->walk.exact)
		how = v8_frame_of_leaf(is_builtin);
	else if (s->walk.was_exact && !is_builtin)
		how = v8_frame_of_caller();
	if ((how == V8_AT_ENTRY || how == V8_PUSHED) && !is_builtin &&
	    v8_is_object(s->walk.registers[V8_FUNCTION_REGISTER]))
		function = s->walk.registers[V8_FUNCTION_REGISTER];
#endif
	if (how == V8_FRAME && (__s64)(s->walk.fp - 16 - s->walk.sp) >= 0 &&
	    !bpf_probe_read_user(c->words, 16, (void *)(s->walk.fp - 16)) &&
	    v8_is_object(c->words[0]) && v8_is_object(c->words[1]))
		function = c->words[0];
	if (!function && is_builtin)
		return how;
	if (is_builtin && !bpf_probe_read_user(c->words, 16, (void *)(s->walk.fp - f->at)) &&
	    v8_is_object(c->words[1]) && (__u32)c->words[0] == 0) {
		pc = c->words[0] >> 32;
#ifdef V8_OFFSET_REGISTER
		if (s->walk.exact &&
		    s->walk.registers[V8_OFFSET_REGISTER] - V8_BYTECODE_MIN < V8_BYTECODE_MAX)
			pc = s->walk.registers[V8_OFFSET_REGISTER];
#endif
		pc |= CHAIN_AT_BYTECODE;
	}
	if (function)
		code = chain_word_at((function & ~V8_TAGS) + f->code) & ~7ULL;
	c->index = s->n_user - 1;
	chain_push_entry(c, code, pc, code ? chain_check(chain_word_at(code + f->check)) : 0);
	return how;
}

/* Goes to the caller. */
static __always_inline int v8_next(struct scratch *s)
{
	struct walk *w = &s->walk;
	int how = v8_take_frame();
	__u64 frame[2], at = w->fp;

	if (how != V8_FRAME)
		at = how == V8_PUSHED ? w->sp : w->sp - sizeof(frame[0]);
	if (at == 0 || (__s64)(at + sizeof(frame[0]) - w->sp) < 0 ||
	    !user_read_pair(&w->stack, frame, at))
		return WALK_END_JIT;
	if (how == V8_AT_ENTRY || how == V8_AT_RETURN)
		frame[0] = w->fp;
	w->rbx_at = WALK_RBX_LOST;
	return walk_to(w, frame[1], at + sizeof(frame), frame[0]);
}

#endif /* BPF_V8_WALK_BPF_H */
