#include "common/text/utf8.h"

size_t utf8_len(const unsigned char *s, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t n;

	if (s[0] < 0xc2 || s[0] > 0xf4)
		return s[0] < 0x80;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	if (s[0] == 0xed)
		high = 0x9f;
	if (s[0] == 0xf0)
		low = 0x90;
	if (s[0] == 0xf4)
		high = 0x8f;
	if (len < n || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

bool utf8_is_valid(const char *s, size_t len)
{
	size_t n = 1;

	for (size_t i = 0; i < len && n > 0; i += n)
		n = utf8_len((const unsigned char *)s + i, len - i);
	return n > 0;
}

size_t utf8_cut(const char *s, size_t len, size_t max)
{
	size_t n = max;

	if (len <= max)
		return len;
	/* a character has at most three continuation bytes; text that has more is no UTF-8 */
	while (n > 0 && max - n < 3 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return ((unsigned char)s[n] & 0xc0) == 0x80 ? max : n;
}

void utf8_repair(char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len((const unsigned char *)s + i, len - i);

		if (n == 0)
			s[i] = '?';
		i += n > 0 ? n : 1;
	}
}

/* Returns the length of the printable character at s, 0 if invalid, or -1 if truncated. */
static int character_bytes(const unsigned char *s, size_t len)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t smallest;
	} forms[] = {{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		size_t n = f + 2;
		uint32_t c = s[0] & (unsigned char)~forms[f].mask;

		if ((s[0] & forms[f].mask) != forms[f].lead)
			continue;
		for (size_t i = 1; i < n; i++) {
			if (i == len)
				return -1;
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (s[i] & 0x3f);
		}
		if (c < forms[f].smallest || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ||
		    (c >= 0x80 && c < 0xa0))
			return 0;
		return (int)n;
	}
	return 0;
}

size_t utf8_make_printable(char *s, size_t len)
{
	size_t i = 0;

	while (i < len) {
		int n = character_bytes((const unsigned char *)s + i, len - i);

		if (n < 0)
			return i;
		if (n == 0) {
			s[i] = '?';
			n = 1;
		}
		i += (size_t)n;
	}
	return len;
}

bool utf8_put(char *to, size_t cap, size_t *len, uint32_t c)
{
	uint8_t b[4];
	size_t n;

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || c < 0x20 || (c >= 0x7f && c < 0xa0))
		c = '?';
	if (c < 0x80) {
		n = 1;
		b[0] = (uint8_t)c;
	} else if (c < 0x800) {
		n = 2;
		b[0] = (uint8_t)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		n = 3;
		b[0] = (uint8_t)(0xe0 | c >> 12);
	} else {
		n = 4;
		b[0] = (uint8_t)(0xf0 | c >> 18);
	}
	for (size_t i = 1; i < n; i++)
		b[i] = (uint8_t)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	if (*len + n >= cap)
		return false;
	memcpy(to + *len, b, n);
	*len += n;
	return true;
}
