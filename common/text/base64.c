#include "common/text/base64.h"

#include <errno.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* -1: not of the alphabet */
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_space(char c)
{
	return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

/* To where there is room for it; the number of bytes, or -EBADMSG. */
static ssize_t decode(const char *s, size_t len, char *to)
{
	unsigned bits = 0, n_chars = 0, n_padding = 0;
	ssize_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int v = value_of(s[i]);

		if (is_space(s[i]))
			continue;
		n_padding += s[i] == '=';
		if ((v < 0 && s[i] != '=') || (v >= 0 && n_padding > 0))
			return -EBADMSG;
		n_chars++;
		if (v < 0)
			continue;
		bits = (bits << 6 | (unsigned)v) & 0xffffff;
		if (n_chars % 4 != 1)
			to[n++] = (char)(bits >> (6 - 2 * ((n_chars - 1) % 4)) & 0xff);
	}
	/* padding is complete or missing; a single character is less than a byte */
	if (n_padding > 2 || n_chars % 4 == 1 || (n_padding > 0 && n_chars % 4 != 0))
		return -EBADMSG;
	return n;
}

int base64_decode(const char *s, size_t len, struct buf *out)
{
	AUTO_FREE char *bytes = NULL;
	ssize_t n;

	/* three bytes for four characters */
	bytes = malloc(len / 4 * 3 + 3);
	if (!bytes)
		return -ENOMEM;
	n = decode(s, len, bytes);
	return n < 0 ? (int)n : buf_add(out, bytes, (size_t)n);
}

int base64_encode(const void *data, size_t len, struct buf *out)
{
	const unsigned char *d = data;
	size_t n_chars = len / 3 * 4 + (len % 3 ? 4 : 0);
	char *to;
	int r;

	r = buf_reserve(out, n_chars);
	if (r < 0)
		return r;
	to = out->data + out->len;
	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		unsigned bits = (unsigned)d[i] << 16 | (n > 1 ? (unsigned)d[i + 1] << 8 : 0) |
				(n > 2 ? d[i + 2] : 0);

		*to++ = alphabet[bits >> 18];
		*to++ = alphabet[bits >> 12 & 63];
		*to++ = n > 1 ? alphabet[bits >> 6 & 63] : '=';
		*to++ = n > 2 ? alphabet[bits & 63] : '=';
	}
	out->len += n_chars;
	out->data[out->len] = '\0';
	return 0;
}
