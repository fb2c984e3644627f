#include "common/utf8.h"

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

void utf8_repair(char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len((const unsigned char *)s + i, len - i);

		if (n == 0)
			s[i] = '?';
		i += n > 0 ? n : 1;
	}
}
