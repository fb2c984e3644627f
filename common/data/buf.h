/*
 * Growable byte buffer with a hard limit.
 *
 * The limit is given at init and is never exceeded: input from the network
 * or from another process can make an append fail, never grow us without
 * bound. The content is always NUL-terminated one byte past len.
 *
 * Not thread-safe; a buf belongs to one thread at a time.
 */
#ifndef COMMON_DATA_BUF_H
#define COMMON_DATA_BUF_H

#include "common/base.h"

struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t limit;
};

/* Cannot fail and does not allocate. */
void buf_init(struct buf *b, size_t limit);

/* Release the storage; b is then as after buf_init() with the same limit. */
void buf_fini(struct buf *b);

/*
 * Room for extra more bytes behind data + len: the caller writes there, adds
 * what it wrote to len and puts the NUL behind it. Results as of buf_add().
 */
int buf_reserve(struct buf *b, size_t extra) MUST_CHECK;

/* 0; -ENOMEM; -EFBIG when limit would be exceeded. On failure b is unchanged. */
int buf_add(struct buf *b, const void *data, size_t len) MUST_CHECK;
int buf_addf(struct buf *b, const char *fmt, ...) MUST_CHECK PRINTF_LIKE(2, 3);

/* Hand the storage to the caller, who frees it with free(3). May be NULL. */
char *buf_take(struct buf *b, size_t *ret_len);

#endif /* COMMON_DATA_BUF_H */
