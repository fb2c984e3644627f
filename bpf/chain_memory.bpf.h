/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reading the memory of an interpreter.
 *
 * Most of the cost of a frame is calls that read user memory, and their price hardly depends on how
 * much they read. So all words of one object are read with one call. Frames, and environments,
 * mostly lie side by side, up or down: if one is near the last one, the words beyond it are read
 * with it. As with the stack, such a read stays within the page of the words that were asked for,
 * so a page that is not there costs no frame.
 *
 * Whoever needs a word asks for it by its address, and gets it whether it was read before or not.
 */
#ifndef BPF_CHAIN_MEMORY_BPF_H
#define BPF_CHAIN_MEMORY_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "chain_state.bpf.h"
#include "user_memory.bpf.h"

/* To be called at the start of a walk: what was read before may have changed. */
static __always_inline void chain_memory_begin(struct chain_scratch *c)
{
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < CHAIN_PIECES; i++) {
		c->pieces[i].asked = 0;
		user_memory_begin(&c->pieces[i].words);
	}
	c->again_at = 0;
	c->again = 0;
}

/*
 * Widens the range that is asked for, from *from up to *end, by words that are likely to be asked
 * for next.
 */
static __always_inline void chain_read_from(const struct chain_piece *p, __u64 *from, __u64 *end)
{
	const __u64 at = *from, most = sizeof(p->words.words);
	const __u64 page = at - at % USER_PAGE_BYTES;
	const __u64 way = at - p->asked;

	if (*end - page > USER_PAGE_BYTES || at % USER_WORD_BYTES != 0)
		return;
	if (way < most) {
		*end = at + most;
		if (*end - page > USER_PAGE_BYTES)
			*end = page + USER_PAGE_BYTES;
	} else if (-way < most) {
		*from = *end - page > most ? *end - most : page;
	}
}

/* Words of what cannot be read are 0: all, or those in the next page. */
static __always_inline bool chain_read_less(struct chain_piece *p, __u64 at, __u64 wanted)
{
	__u64 bytes = USER_PAGE_BYTES - at % USER_PAGE_BYTES;

	p->words.at = at;
	p->words.bytes = 0;
	__builtin_memset(p->words.words, 0, sizeof(p->words.words));
	if (bytes < wanted && bytes <= sizeof(p->words.words))
		bpf_probe_read_user(p->words.words, bytes, (void *)at);
	return false;
}

int chain_read(__u32 piece, __u64 at, __u64 bytes);

/*
 * Reads so many bytes of one object, a multiple of a word, unless they were read before. Returns
 * whether they can be read. A global function.
 */
__noinline int chain_read(__u32 piece, __u64 at, __u64 bytes)
{
	struct chain_scratch *c = get_chain_scratch();
	struct chain_piece *p;
	__u64 from = at, end;

	if (!c || piece >= CHAIN_PIECES)
		return false;
	p = &c->pieces[piece];
	if (bytes > sizeof(p->words.words))
		return chain_read_less(p, at, bytes);
	if (user_words_have(&p->words, at, bytes)) {
		p->asked = at;
		return true;
	}
	end = at + bytes;
	chain_read_from(p, &from, &end);
	p->asked = at;
	bytes = end - from;
	if (bytes > sizeof(p->words.words) ||
	    bpf_probe_read_user(p->words.words, bytes, (void *)from))
		return chain_read_less(p, at, bytes);
	p->words.at = from;
	p->words.bytes = bytes;
	return true;
}

/* Reads two words of an object and all words between them. Returns whether they can be read. */
static __always_inline bool chain_read_object(__u64 object, __s64 one, __s64 other)
{
	__s64 low = one < other ? one : other, high = one < other ? other : one;

	return chain_read(CHAIN_OBJECT, object + (__u64)low, (__u64)(high - low) + USER_WORD_BYTES);
}

/* A word of the object that was read. */
static __always_inline __u64 chain_object_word(const struct chain_scratch *c, __u64 at)
{
	return user_word_at(&c->pieces[CHAIN_OBJECT].words, at);
}

/* The same, of 4 bytes, that may be the upper half of a word. */
static __always_inline __u32 chain_object_half(const struct chain_scratch *c, __u64 at)
{
	__u64 word = chain_object_word(c, at);

	return (__u32)((at - c->pieces[CHAIN_OBJECT].words.at) & 4 ? word >> 32 : word);
}

/* The word at an address that the last frame may have asked for, too; 0 if it cannot be read. */
static __always_inline __u64 chain_word_again(struct chain_scratch *c, __u64 at)
{
	if (c->again_at != at) {
		c->again = chain_word_at(at);
		c->again_at = at;
	}
	return c->again;
}

/* The word of the frame that was read, at this offset. */
static __always_inline __u64 chain_word_of(const struct chain_scratch *c, __u32 offset)
{
	return user_word_at(&c->pieces[CHAIN_FRAME].words, c->words_of + offset);
}

/* Reads a frame. Returns whether it can be read. */
static __always_inline bool chain_read_frame(struct chain_scratch *c, __u64 frame)
{
	const struct chain_frames *f = &c->layout.frames;

	c->words_of = frame;
	return chain_read(CHAIN_FRAME, frame + f->from, f->n_bytes);
}

#endif /* BPF_CHAIN_MEMORY_BPF_H */
