#include "common/data/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BUF_FIRST_ALLOC 64

void buf_init(struct buf *b, size_t limit)
{
	*b = (struct buf){.limit = limit};
}

void buf_fini(struct buf *b)
{
	free(b->data);
	buf_init(b, b->limit);
}

int buf_reserve(struct buf *b, size_t extra)
{
	size_t need, cap;
	char *data;

	if (extra > b->limit - b->len)
		return -EFBIG;

	need = b->len + extra + 1;
	if (need <= b->cap)
		return 0;

	cap = b->cap ? b->cap : BUF_FIRST_ALLOC;
	while (cap < need)
		cap *= 2;

	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;

	b->data = data;
	b->cap = cap;
	return 0;
}

int buf_add(struct buf *b, const void *data, size_t len)
{
	int r;

	r = buf_reserve(b, len);
	if (r < 0)
		return r;

	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n, r;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);

	r = n < 0 ? -EINVAL : buf_reserve(b, (size_t)n);
	if (r == 0) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
	return r;
}

void buf_truncate(struct buf *b, size_t len)
{
	if (len == b->len)
		return;
	b->len = len;
	b->data[len] = '\0';
}

char *buf_take(struct buf *b, size_t *ret_len)
{
	char *data = b->data;

	*ret_len = b->len;
	buf_init(b, b->limit);
	return data;
}
