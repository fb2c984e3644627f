/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Looking for an instruction in code that a process has generated: where a frame is only half made,
 * or the stack is another one, the instructions around tell. The code is in c->words.
 *
 * A branch for each byte would be much to the verifier, and so would each word once more. So a word
 * is a call of a global function, which has no branches.
 */
#ifndef BPF_CHAIN_CODE_BPF_H
#define BPF_CHAIN_CODE_BPF_H

#include <bpf/bpf_helpers.h>

#include "chain_state.bpf.h"
#include "walk_state.bpf.h"

#define CHAIN_CODE_WORDS 8 /* at most; the word behind the last one may be part of what is found */

int chain_code_word(__u32 number, __u32 bytes, __u32 mask);

/* A bit for each byte of the word: whether four bytes from there on, masked, are those. */
__noinline int chain_code_word(__u32 number, __u32 bytes, __u32 mask)
{
	struct chain_scratch *c = get_chain_scratch();
	__u64 word, next, found = 0;

	if (!c)
		return 0;
	word = c->words[unwind_masked(number, CHAIN_FRAME_WORDS)];
	next = c->words[unwind_masked(number + 1, CHAIN_FRAME_WORDS)];
#pragma clang loop unroll(full)
	for (int i = 0; i < 8; i++) {
		__u64 other = ((__u32)word ^ bytes) & mask;

		barrier_var(other); /* keeps clang from making it a branch */
		found |= (other - 1) >> 63 << i;
		word = word >> 8 | next << 56;
		next >>= 8;
	}
	return (int)found;
}

/*
 * Places in code: the number of a word, times 256, and one bit for a byte of it. So the lower one
 * of two is before the other one.
 */
#define CHAIN_CODE_AT(n) ((n) / 8 << 8 | 1 << (n) % 8)
#define CHAIN_CODE_NOWHERE CHAIN_CODE_AT(CHAIN_CODE_WORDS * 8)

int chain_code_find(__u32 n_words, __u32 bytes, __u32 mask);

/* The first place in so many words where the four bytes, masked, are these. A global function. */
__noinline int chain_code_find(__u32 n_words, __u32 bytes, __u32 mask)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < CHAIN_CODE_WORDS && i < n_words; i++) {
		int found = chain_code_word(i, bytes, mask);

		if (found)
			return (int)(i << 8) | (found & -found);
	}
	return CHAIN_CODE_NOWHERE;
}

#endif /* BPF_CHAIN_CODE_BPF_H */
