/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Walking the frames of code that HotSpot has made: compiled methods, its interpreter, and stubs.
 *
 * All of it lies in blobs of the code cache. A blob is found by the segment map of its heap, and
 * says how large its frames are. Compiled code keeps no frame pointer, but its frame has the
 * caller's in the word below the return address. The interpreter keeps one, and the method and the
 * bytecode at fixed distances from it.
 *
 * Where the code was interrupted, a frame may be half made. What is there is known from the
 * instructions around: compilers write few forms of prologues and epilogues.
 *
 * Each CPU remembers what it found lately of an address. A compiled method may have been replaced
 * since by another one, so its number is read each time; it is what a record has as check, too.
 */
#ifndef BPF_HOTSPOT_WALK_BPF_H
#define BPF_HOTSPOT_WALK_BPF_H

#include "chain_code.bpf.h"
#include "chain_walk.bpf.h"
#include "unwind_rules.bpf.h"

#define JVM_HEAPS 4
#define JVM_RECENT 512    /* a power of two */
#define JVM_HOPS 32       /* from a segment to the first one of its blob: 254 segments each */
#define JVM_EXTRA_WORDS 6 /* that code pushes for a moment */

enum jvm_kind {
	JVM_NONE,
	JVM_COMPILED,
	JVM_INTERPRETER,
	JVM_FRAMED, /* a stub whose frames have a fixed size */
	JVM_OTHER,  /* stubs that keep a frame pointer or have no frame */
};

struct jvm_code {
	__u64 ip; /* 0: none */
	__u64 blob;
	__u32 tgid;
	__u32 identity;
	__u32 words;    /* of a frame */
	__u16 kind;     /* enum jvm_kind */
	__u16 original; /* where in the frame the address is that this one replaces; 0: none */
};
_Static_assert(sizeof(struct jvm_code) == 32, "jvm_code layout");

struct jvm_heap {
	__u64 low, bytes, segments;
};

#define JVM_CODE_BYTES 48
#define JVM_BEFORE 24      /* of these, those in front of the instruction */
#define JVM_WORDS 16       /* a power of two */
#define JVM_FRAME_WORDS 10 /* of an interpreted method */

struct jvm_scratch {
	struct jvm_heap heaps[JVM_HEAPS];
	__u32 n_heaps; /* 0: not read yet, for this record */
	__u32 shift;
	__u64 words[JVM_WORDS]; /* of the stack */
	struct jvm_code code;   /* of the frame */
	struct jvm_code recent[JVM_RECENT];
};
_Static_assert(sizeof(struct jvm_scratch) <= 32768, "the most that the kernel allocates");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct jvm_scratch);
	__uint(max_entries, 1);
} jvm_scratch SEC(".maps");

static __always_inline struct jvm_scratch *get_jvm_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&jvm_scratch, &zero);
}

static __always_inline __u32 jvm_half_at(__u64 address)
{
	__u32 half;

	return bpf_probe_read_user(&half, sizeof(half), (void *)address) ? 0 : half;
}

static __always_inline bool jvm_has(const struct walk *w, __u64 address)
{
	return address - w->jvm_low < w->jvm_bytes;
}

__noinline int jvm_start(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct jvm_scratch *j = get_jvm_scratch();
	struct scratch *s = get_scratch();
	const struct chain_jvm *l;
	__u64 low, high, heap;

	if (!c || !s || !j)
		return 0;
	l = &c->layout.jvm;
	j->n_heaps = 0;
	if (l->low) {
		low = chain_word_at(l->low);
		high = chain_word_at(l->high);
	} else {
		heap = chain_word_at(l->heaps);
		low = chain_word_at(heap + l->heap_low);
		high = chain_word_at(heap + l->heap_high);
	}
	if (low < PAGE_ZERO_END || high <= low || high >= CHAIN_JVM_INTERPRETED)
		return 0;
	s->walk.jvm_low = low;
	s->walk.jvm_bytes = high - low;
	return 1;
}

/* ---- blobs ---- */

static __always_inline void jvm_read_heap(struct jvm_scratch *j, const struct chain_jvm *l, __u32 i,
					  __u64 heap)
{
	struct jvm_heap *h = &j->heaps[i];

	h->low = chain_word_at(heap + l->heap_low);
	h->bytes = chain_word_at(heap + l->heap_high) - h->low;
	h->segments = chain_word_at(heap + l->heap_segments);
	if (i == 0)
		j->shift = jvm_half_at(heap + l->heap_shift) & 31;
	j->n_heaps = i + 1;
}

int jvm_read_heaps(void);

/* A global function, like those below: it is verified once. */
__noinline int jvm_read_heaps(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct jvm_scratch *j = get_jvm_scratch();
	const struct chain_jvm *l;
	__u64 array, data;
	__u32 n;

	if (!c || !j)
		return 0;
	l = &c->layout.jvm;
	array = chain_word_at(l->heaps);
	if (!l->low) {
		jvm_read_heap(j, l, 0, array);
		return 0;
	}
	n = jvm_half_at(array);
	data = chain_word_at(array + l->heaps_data);
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < JVM_HEAPS; i++) {
		if (i < n)
			jvm_read_heap(j, l, i, chain_word_at(data + i * sizeof(__u64)));
	}
	return 0;
}

int jvm_find_segment(__u64 heap, __u64 segment);

/* Returns the number of the first segment of the blob that has this one, or -1. */
__noinline int jvm_find_segment(__u64 heap, __u64 segment)
{
	struct jvm_scratch *j = get_jvm_scratch();
	__u64 map;
	__u8 hop;

	if (!j)
		return -1;
	map = j->heaps[unwind_masked(heap, JVM_HEAPS)].segments;
#pragma clang loop unroll(disable)
	for (int i = 0; i < JVM_HOPS; i++) {
		if (bpf_probe_read_user(&hop, sizeof(hop), (void *)(map + segment)) || hop == 0xff)
			return -1;
		if (hop == 0)
			return (int)segment;
		segment -= hop;
	}
	return -1;
}

/* Where the blob begins that has the address; 0: there is none. */
static __always_inline __u64 jvm_find_blob(struct jvm_scratch *j, const struct chain_jvm *l,
					   __u64 address)
{
	int segment;

	if (j->n_heaps == 0)
		jvm_read_heaps();
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < JVM_HEAPS; i++) {
		if (i >= j->n_heaps || address - j->heaps[i].low >= j->heaps[i].bytes)
			continue;
		segment = jvm_find_segment(i, (address - j->heaps[i].low) >> (j->shift & 31));
		if (segment < 0)
			return 0;
		return j->heaps[i].low + ((__u64)segment << (j->shift & 31)) + l->blob_from;
	}
	return 0;
}

/* The first letters of the names of blobs. */
#define JVM_NAME_COMPILED 0x00646f6874656d6eULL    /* "nmethod" */
#define JVM_NAME_NATIVE 0x6e2065766974616eULL      /* "native nmethod" */
#define JVM_NAME_INTERPRETER 0x6572707265746e49ULL /* "Interpreter" */

static __always_inline bool jvm_is_deopt(const struct chain_jvm *l, __u64 blob, __u64 ip)
{
	bool is = false;

#pragma clang loop unroll(full)
	for (int i = 0; i < 2; i++) {
		__u64 at = blob + l->deopt[i];

		if (l->flags & CHAIN_JVM_DEOPT_OFFSET)
			is |= blob + jvm_half_at(at) == ip;
		else
			is |= chain_word_at(at) == ip;
	}
	return is;
}

static __always_inline __u32 jvm_identity(const struct chain_jvm *l, __u32 kind, __u64 blob)
{
	return jvm_half_at(blob + (kind == JVM_COMPILED ? l->compile_id : l->blob_name));
}

int jvm_classify(__u64 ip);

/* Fills j->code for an address. Returns its kind. */
__noinline int jvm_classify(__u64 ip)
{
	struct chain_scratch *c = get_chain_scratch();
	struct jvm_scratch *j = get_jvm_scratch();
	const struct chain_jvm *l;
	struct jvm_code *code;
	__u64 blob, name;

	if (!c || !j)
		return JVM_NONE;
	l = &c->layout.jvm;
	code = &j->code;
	code->ip = ip;
	code->tgid = c->tgid;
	code->kind = JVM_NONE;
	code->original = 0;
	blob = jvm_find_blob(j, l, ip);
	code->blob = blob;
	if (!blob)
		return JVM_NONE;
	code->words = jvm_half_at(blob + l->blob_frame);
	name = chain_word_at(chain_word_at(blob + l->blob_name));
	if (name == JVM_NAME_COMPILED || name == JVM_NAME_NATIVE) {
		code->kind = JVM_COMPILED;
		if (name == JVM_NAME_COMPILED && jvm_is_deopt(l, blob, ip))
			code->original = (__u16)jvm_half_at(blob + l->original);
	} else if (name == JVM_NAME_INTERPRETER) {
		code->kind = JVM_INTERPRETER;
	} else if (code->words > 0 && code->words < WALK_LIKELY_FRAME / 8) {
		code->kind = JVM_FRAMED;
	} else if (name) {
		code->kind = JVM_OTHER;
	}
	code->identity = jvm_identity(l, code->kind, blob);
	return code->kind;
}

/* Likewise, by what is remembered. */
static __always_inline int jvm_find(struct jvm_scratch *j, const struct chain_scratch *c, __u64 ip)
{
	__u64 hash = (ip ^ (__u64)c->tgid << 32) * 0x9e3779b97f4a7c15;
	struct jvm_code *recent = &j->recent[unwind_masked(hash >> 55, JVM_RECENT)];

	if (recent->ip == ip && recent->tgid == c->tgid &&
	    recent->identity == jvm_identity(&c->layout.jvm, recent->kind, recent->blob)) {
		j->code = *recent;
		return recent->kind;
	}
	if (jvm_classify(ip) == JVM_NONE)
		return JVM_NONE;
	*recent = j->code;
	return j->code.kind;
}

/* ---- where code was interrupted ---- */

/* What of a frame is there. */
enum jvm_made {
	JVM_MADE,       /* all of it */
	JVM_MADE_NONE,  /* the return address is at the stack pointer */
	JVM_MADE_SAVED, /* and the caller's frame pointer below it */
	JVM_MADE_ROOM,  /* all, but the frame pointer is not saved yet */
};

static __always_inline bool jvm_bytes_are(const __u8 *b, __u8 one, __u8 two, __u8 three)
{
	return b[0] == one && b[1] == two && b[2] == three;
}

static __always_inline bool jvm_moves_sp(const __u8 *b) /* mov %rsp, %rbp */
{
	return jvm_bytes_are(b, 0x48, 0x8b, 0xec) || jvm_bytes_are(b, 0x48, 0x89, 0xe5);
}

static __always_inline bool jvm_makes_room(const __u8 *b) /* sub $n, %rsp */
{
	return jvm_bytes_are(b, 0x48, 0x83, 0xec) || jvm_bytes_are(b, 0x48, 0x81, 0xec);
}

/* Whether nothing but a poll is between the instruction and a return. */
static __always_inline bool jvm_returns(const __u8 *b)
{
	const __u8 *at = b + JVM_BEFORE;

	if (at[0] == 0xc3 || at[0] == 0xc2 || (at[0] == 0xf3 && at[1] == 0xc3))
		return true;
	if (at[0] == 0x0f && (at[1] & 0xf0) == 0x80) /* a branch */
		return at[6] == 0xc3;
	if (at[0] == 0x85 && at[1] == 0x05) /* test %eax, poll(%rip) */
		return at[6] == 0xc3;
	if (jvm_bytes_are(at, 0x41, 0x85, 0x02)) /* test %eax, (%r10) */
		return at[3] == 0xc3;
	if (jvm_bytes_are(at, 0x4d, 0x8b, 0x97)) /* mov poll(%r15), %r10 */
		return jvm_bytes_are(at + 7, 0x41, 0x85, 0x02) && at[10] == 0xc3;
	if (jvm_bytes_are(at, 0x4d, 0x8b, 0x57))
		return jvm_bytes_are(at + 4, 0x41, 0x85, 0x02) && at[7] == 0xc3;
	if (jvm_bytes_are(at, 0x49, 0x3b, 0xa7)) /* cmp poll(%r15), %rsp */
		return at[7] == 0x0f && at[13] == 0xc3;
	if (jvm_bytes_are(at, 0x49, 0x3b, 0x67))
		return at[4] == 0x0f && at[10] == 0xc3;
	if (jvm_bytes_are(at, 0x49, 0x83, 0x7f)) /* cmp $0, exception(%r15) */
		return at[5] == 0x0f && at[11] == 0xc3;
	if (jvm_bytes_are(at, 0x49, 0x83, 0xbf))
		return at[8] == 0x0f && at[14] == 0xc3;
	return false;
}

static __always_inline bool jvm_saves_poll(const __u8 *b) /* mov %r10, poll(%r15) */
{
	return jvm_bytes_are(b, 0x4d, 0x89, 0x97);
}

/* Whether the frame has been left, to go to a stub: by a poll or with an exception. */
static __always_inline bool jvm_leaves(const __u8 *b)
{
	const __u8 *at = b + JVM_BEFORE;

	if (at[0] == 0xe9) /* jmp */
		return at[-1] == 0x5d || jvm_saves_poll(at - 7);
	if (at[0] == 0x49 && at[1] == 0xba) /* mov $n, %r10 */
		return jvm_saves_poll(at + 10);
	if (jvm_bytes_are(at, 0x4c, 0x8d, 0x15)) /* lea n(%rip), %r10 */
		return jvm_saves_poll(at + 7);
	return jvm_saves_poll(at) && at[7] == 0xe9;
}

/* In front of where the frame of a compiled method is complete. */
static __always_inline enum jvm_made jvm_made_of_prologue(const __u8 *b)
{
	const __u8 *at = b + JVM_BEFORE;

	if (jvm_moves_sp(at) && at[-1] == 0x55)
		return JVM_MADE_SAVED;
	if (jvm_makes_room(at))
		return at[-1] == 0x55 || (at[-4] == 0x55 && jvm_moves_sp(at - 3)) ? JVM_MADE_SAVED
										  : JVM_MADE_NONE;
	if (at[0] == 0x48 && at[1] == 0x89 &&
	    (at[2] == 0x6c || at[2] == 0xac)) /* mov %rbp, n(%rsp) */
		return JVM_MADE_ROOM;
	if (at[0] == 0x55) /* push %rbp */
		return JVM_MADE_NONE;
	/* as jvm_makes_room(), somewhere before */
	return chain_code_find(JVM_BEFORE / 8, 0xec8148, 0xfffdff) <= CHAIN_CODE_AT(JVM_BEFORE - 4)
		       ? JVM_MADE
		       : JVM_MADE_NONE;
}

static __always_inline bool jvm_is_complete(const struct chain_jvm *l, __u64 blob, __u64 ip)
{
	__u32 code = jvm_half_at(blob + l->blob_code);
	__u32 complete = jvm_half_at(blob + l->blob_complete);
	__u64 begin;

	if (l->flags & CHAIN_JVM_CODE_OFFSET)
		begin = blob + code;
	else
		begin = chain_word_at(blob + l->blob_code);
	if (l->flags & CHAIN_JVM_COMPLETE_16)
		complete = (__u32)(__s16)complete;
	return (__s32)complete < 0 || ip - begin >= complete;
}

int jvm_made(__u64 ip);

/* How much of its frame code has made where it was interrupted, that of j->code. */
__noinline int jvm_made(__u64 ip)
{
	struct chain_scratch *c = get_chain_scratch();
	struct jvm_scratch *j = get_jvm_scratch();
	const __u8 *bytes, *at;

	if (!c || !j || bpf_probe_read_user(c->words, JVM_CODE_BYTES, (void *)(ip - JVM_BEFORE)))
		return JVM_MADE;
	bytes = (const __u8 *)c->words;
	at = bytes + JVM_BEFORE;
	if (at[0] == 0x5d) /* pop %rbp */
		return JVM_MADE_SAVED;
	if (jvm_returns(bytes) || jvm_leaves(bytes))
		return JVM_MADE_NONE;
	if (j->code.kind == JVM_COMPILED)
		return jvm_is_complete(&c->layout.jvm, j->code.blob, ip)
			       ? JVM_MADE
			       : jvm_made_of_prologue(bytes);
	if (at[0] == 0x55)
		return JVM_MADE_NONE;
	return jvm_moves_sp(at) && at[-1] == 0x55 ? JVM_MADE_SAVED : JVM_MADE;
}

/* ---- steps ---- */

static __always_inline bool jvm_is_return(struct scratch *s, __u64 address)
{
	return jvm_has(&s->walk, address) || (address && unwind_enter(s, address - 1));
}

/* Reads up to JVM_WORDS words into j->words. */
static __always_inline bool jvm_read_words(struct jvm_scratch *j, __u64 from, __u32 n)
{
	return !bpf_probe_read_user(j->words, n * sizeof(j->words[0]), (void *)from);
}

int jvm_find_code(void);

/* The number of the first word but one that is code of the JVM; JVM_WORDS: none is. */
__noinline int jvm_find_code(void)
{
	struct jvm_scratch *j = get_jvm_scratch();
	struct scratch *s = get_scratch();
	int found = JVM_WORDS;

	if (!j || !s)
		return JVM_WORDS;
#pragma clang loop unroll(full)
	for (int i = JVM_WORDS - 1; i > 0; i--) {
		if (jvm_has(&s->walk, j->words[i]))
			found = i;
	}
	return found;
}

/* The caller's frame pointer is where it was; the return address at sp. */
static __always_inline int jvm_return_at(struct scratch *s, __u64 sp)
{
	__u64 ip;

	if (!user_read_word(&s->walk.stack, &ip, sp))
		return WALK_END_UNREADABLE;
	return walk_to(&s->walk, ip, sp + 8, s->walk.fp);
}

/* The caller's frame pointer is at sp, the return address above it. */
static __always_inline int jvm_record_at(struct scratch *s, __u64 sp)
{
	__u64 frame[2];

	if (!user_read_pair(&s->walk.stack, frame, sp))
		return WALK_END_UNREADABLE;
	return walk_to(&s->walk, frame[1], sp + 16, frame[0]);
}

int jvm_step_other(void);

/* From a stub, which keeps a frame pointer if it calls anything. */
__noinline int jvm_step_other(void)
{
	struct jvm_scratch *j = get_jvm_scratch();
	struct scratch *s = get_scratch();
	struct walk *w;
	__u32 n;

	if (!j || !s)
		return WALK_END_JIT;
	w = &s->walk;
	if (w->exact && jvm_read_words(j, w->sp, JVM_WORDS)) {
		n = jvm_is_return(s, j->words[0]) ? 0 : (__u32)jvm_find_code();
		if (n < JVM_WORDS && w->fp - w->sp > n * 8)
			return jvm_return_at(s, w->sp + n * 8);
	}
	if (w->fp < w->sp)
		return WALK_END_JIT;
	return jvm_record_at(s, w->fp);
}

int jvm_step_fixed(__u32 made);

#define JVM_NO_FRAME (-2)

/* From a frame of a fixed size. JVM_NO_FRAME: it is not there, or not all of it. */
__noinline int jvm_step_fixed(__u32 made)
{
	struct jvm_scratch *j = get_jvm_scratch();
	struct scratch *s = get_scratch();
	__u64 at;
	__u32 n;

	if (!j || !s)
		return WALK_END_JIT;
	if (made == JVM_MADE_NONE)
		return jvm_return_at(s, s->walk.sp);
	if (made == JVM_MADE_SAVED)
		return jvm_record_at(s, s->walk.sp);
	if (j->code.words < 2)
		return jvm_return_at(s, s->walk.sp);
	at = s->walk.sp + (__u64)(j->code.words & 0xffff) * 8;
	if (made == JVM_MADE_ROOM)
		return jvm_return_at(s, at - 8);
	if (s->walk.exact && jvm_read_words(j, at - 8, JVM_EXTRA_WORDS) &&
	    !jvm_is_return(s, j->words[0])) {
		/* stubs make their frames bit by bit, and some instructions push words */
		if (j->code.kind == JVM_FRAMED)
			return JVM_NO_FRAME;
		s->walk.guessed = true;
		n = (__u32)jvm_find_code();
		if (n < JVM_EXTRA_WORDS)
			at += n * 8;
	}
	return jvm_record_at(s, at - 16);
}

/* Of an interpreted method: words from its frame pointer. */
#define JVM_CALLER_SP (-1)
#define JVM_LAST_SP (-2) /* 0, unless it calls a method */
#define JVM_METHOD (-3)
#define JVM_LOWEST (-8)
#define JVM_R13 13           /* the bytecode, while it is interpreted */
#define JVM_RBX 3            /* the method that is called */
#define JVM_BYTECODES 131072 /* of a method, and what is around them */

static __always_inline __u64 jvm_word_of(const struct jvm_scratch *j, int number)
{
	return j->words[number - JVM_LOWEST];
}

int jvm_push_entry(__u64 code, __u64 at, __u64 check);

__noinline int jvm_push_entry(__u64 code, __u64 at, __u64 check)
{
	struct chain_scratch *c = get_chain_scratch();

	if (c)
		chain_push_entry(c, code, at, chain_check(check));
	return 0;
}

int jvm_step_interpreted(void);

__noinline int jvm_step_interpreted(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct jvm_scratch *j = get_jvm_scratch();
	struct scratch *s = get_scratch();
	__u64 method, bytecode, constant, caller_sp, ip;
	bool has_frame;
	struct walk *w;

	if (!c || !j || !s)
		return WALK_END_JIT;
	w = &s->walk;
	has_frame = w->fp > w->sp - 8 && jvm_read_words(j, w->fp + JVM_LOWEST * 8, JVM_FRAME_WORDS);
	caller_sp = jvm_word_of(j, JVM_CALLER_SP);
	if (w->exact &&
	    (!has_frame || jvm_word_of(j, JVM_LAST_SP) || caller_sp < w->fp + 16 ||
	     caller_sp - w->fp > 2 * WALK_LIKELY_FRAME) &&
	    user_read_word(&w->stack, &ip, w->sp) && jvm_has(w, ip)) {
		/* the method that is called has no frame yet */
		method = w->registers[JVM_RBX];
		constant = chain_word_at(method + c->layout.jvm.const_method);
		if (constant)
			jvm_push_entry(method, CHAIN_JVM_INTERPRETED, constant);
		return walk_to(w, ip, w->sp + 8, w->fp);
	}
	if (!has_frame)
		return WALK_END_UNREADABLE;
	method = jvm_word_of(j, JVM_METHOD);
	constant = chain_word_at(method + c->layout.jvm.const_method);
	bytecode = j->words[unwind_masked((__u64)(c->layout.jvm.bytecode - JVM_LOWEST), 8)];
	if (w->exact && w->registers[JVM_R13] - constant < JVM_BYTECODES)
		bytecode = w->registers[JVM_R13];
	jvm_push_entry(method, (bytecode & (CHAIN_JVM_INTERPRETED - 1)) | CHAIN_JVM_INTERPRETED,
		       constant);
	if (caller_sp < w->fp + 16 || caller_sp - w->fp > 16 * WALK_LIKELY_FRAME)
		caller_sp = w->fp + 16;
	return walk_to(w, j->words[1 - JVM_LOWEST], caller_sp, j->words[-JVM_LOWEST]);
}

int jvm_push(void);

/* Adds j->code. */
__noinline int jvm_push(void)
{
	struct jvm_scratch *j = get_jvm_scratch();
	struct scratch *s = get_scratch();
	__u64 ip;

	if (!j || !s)
		return 0;
	ip = j->code.ip;
	if (j->code.original)
		(void)user_read_word(&s->walk.stack, &ip, s->walk.sp + j->code.original);
	return jvm_push_entry(j->code.blob, ip & (CHAIN_JVM_INTERPRETED - 1), j->code.identity);
}

#define JVM_AT_BARRIER 0xa78b49 /* mov entry(%r15), %rsp */

/*
 * Whether the code is to return to the stub that brings the next frames of a virtual thread back
 * from the heap.
 */
static __always_inline bool jvm_is_barrier(const struct walk *w)
{
	return !w->exact && (jvm_half_at(w->ip) & 0xffffff) == JVM_AT_BARRIER;
}

int jvm_frame(void);

/* Goes from a frame whose code is HotSpot's to its caller. */
__noinline int jvm_frame(void)
{
	struct chain_scratch *c = get_chain_scratch();
	struct jvm_scratch *j = get_jvm_scratch();
	struct scratch *s = get_scratch();
	int made, kind, end;

	if (!c || !j || !s)
		return WALK_END_JIT;
	c->index = s->n_user - 1;
	s->walk.rbx_at = WALK_RBX_LOST;
	kind = jvm_find(j, c, s->walk.ip);
	if (kind == JVM_NONE)
		return WALK_END_JIT;
	if (kind == JVM_INTERPRETER)
		return jvm_step_interpreted();
	if (kind == JVM_OTHER && jvm_is_barrier(&s->walk)) {
		jvm_push_entry(CHAIN_JVM_BARRIER, 0, 0);
		return WALK_END_BOTTOM;
	}
	made = s->walk.exact ? jvm_made(s->walk.ip) : JVM_MADE;
	jvm_push();
	if (made != JVM_MADE || kind != JVM_OTHER) {
		end = jvm_step_fixed((__u32)made);
		if (end != JVM_NO_FRAME)
			return end;
	}
	return jvm_step_other();
}

#endif /* BPF_HOTSPOT_WALK_BPF_H */
