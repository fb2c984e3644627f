/* What is UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). Pure. */
#ifndef COMMON_TEXT_UTF8_H
#define COMMON_TEXT_UTF8_H

#include "common/base.h"

/* Length of the valid sequence at s, or 0; len is at least 1. */
size_t utf8_len(const unsigned char *s, size_t len);
bool utf8_is_valid(const char *s, size_t len);
/* Every byte that belongs to no valid sequence becomes '?'. */
void utf8_repair(char *s, size_t len);
/*
 * What is not printable UTF-8 becomes '?' too: control characters of ASCII and of Latin-1.
 * Returns the length, which can only become smaller: a character cut at the end goes.
 */
size_t utf8_make_printable(char *s, size_t len);

#endif /* COMMON_TEXT_UTF8_H */
