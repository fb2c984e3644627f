/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reading the stack of a process.
 *
 * Half of what a step costs is the call that reads user memory, whose price hardly depends on how
 * much it reads. Frames are mostly small, and callers' frames are above. So the words from an
 * address on are read at once, and the next steps find theirs among them. They end with the page,
 * so that they can be read whenever the first of them can: no walk ends earlier for it.
 */
#ifndef BPF_USER_MEMORY_BPF_H
#define BPF_USER_MEMORY_BPF_H

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "walk_state.bpf.h"

#define USER_PAGE_BYTES 4096 /* the smallest page that there is */
#define USER_WORD_BYTES 8

/* To be called at the start of a walk: what was read before may have changed. */
static __always_inline void user_memory_begin(struct user_words *u)
{
	u->bytes = 0;
}

/* Reads the words from an address on, which is a multiple of a word. */
static __always_inline bool user_read_ahead(struct user_words *u, __u64 at)
{
	__u64 bytes = USER_PAGE_BYTES - at % USER_PAGE_BYTES;

	if (bytes > sizeof(u->words))
		bytes = sizeof(u->words);
	u->bytes = 0;
	if (bpf_probe_read_user(u->words, bytes, (void *)at))
		return false;
	u->at = at;
	u->bytes = bytes;
	return true;
}

/*
 * Returns whether the words have these bytes, of which the first is one of theirs; their
 * difference wraps if it is below them.
 */
static __always_inline bool user_words_have(const struct user_words *u, __u64 at, __u64 bytes)
{
	__u64 offset = at - u->at;

	return offset < u->bytes && u->bytes - offset >= bytes && offset % USER_WORD_BYTES == 0;
}

static __always_inline __u64 user_word_at(const struct user_words *u, __u64 at)
{
	return u->words[unwind_masked((at - u->at) / USER_WORD_BYTES, USER_WORDS)];
}

static __always_inline bool user_read_word(struct user_words *u, __u64 *ret, __u64 at)
{
	if (at % USER_WORD_BYTES != 0)
		return bpf_probe_read_user(ret, sizeof(*ret), (void *)at) == 0;
	if (!user_words_have(u, at, sizeof(*ret)) && !user_read_ahead(u, at))
		return false;
	*ret = user_word_at(u, at);
	return true;
}

/* Reads two words that follow each other. */
static __always_inline bool user_read_pair(struct user_words *u, __u64 ret[2], __u64 at)
{
	const __u64 bytes = 2 * USER_WORD_BYTES;

	if (!user_words_have(u, at, bytes)) {
		if (at % USER_WORD_BYTES != 0 || at % USER_PAGE_BYTES > USER_PAGE_BYTES - bytes)
			return bpf_probe_read_user(ret, bytes, (void *)at) == 0;
		if (!user_read_ahead(u, at))
			return false;
	}
	ret[0] = user_word_at(u, at);
	ret[1] = user_word_at(u, at + USER_WORD_BYTES);
	return true;
}

#endif /* BPF_USER_MEMORY_BPF_H */
