/*
 * A growable byte buffer with a hard limit.
 *
 * The limit is given at init and never exceeded: input from the network or from another process
 * can make an append fail, but not make us grow without bound. The content is always
 * NUL-terminated one byte past len.
 *
 * Not thread-safe.
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

/* Frees the storage; b is then as after buf_init() with the same limit. */
void buf_fini(struct buf *b);

/*
 * Makes room for extra bytes at data + len: the caller writes there, adds their number to len
 * and writes the NUL behind them. Returns what buf_add() does.
 */
int buf_reserve(struct buf *b, size_t extra) MUST_CHECK;

/* Returns 0, -ENOMEM, or -EFBIG if the limit would be exceeded. On failure b is unchanged. */
int buf_add(struct buf *b, const void *data, size_t len) MUST_CHECK;
int buf_addf(struct buf *b, const char *fmt, ...) MUST_CHECK PRINTF_LIKE(2, 3);

/* Forgets what is beyond len, which is at most b->len, and keeps the storage. */
void buf_truncate(struct buf *b, size_t len);

/*
 * Hands the storage to the caller, who frees it with free(3). Returns NULL if b never had any.
 */
char *buf_take(struct buf *b, size_t *ret_len);

#endif /* COMMON_DATA_BUF_H */
