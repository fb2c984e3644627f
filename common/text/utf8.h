/* Checks UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Pure. */
#ifndef COMMON_TEXT_UTF8_H
#define COMMON_TEXT_UTF8_H

#include "common/base.h"

/* Returns the length of the valid sequence at s, or 0. len is at least 1. */
size_t utf8_len(const unsigned char *s, size_t len);
bool utf8_is_valid(const char *s, size_t len);
/* The length of s without what is beyond max bytes, and without a character that begins before. */
size_t utf8_cut(const char *s, size_t len, size_t max);
/* Replaces every byte that is not part of a valid sequence by '?'. */
void utf8_repair(char *s, size_t len);
/*
 * Like utf8_repair(), but also replaces the control characters of ASCII and Latin-1. Returns
 * the new length, which is smaller if the text ends in the middle of a character: that one is
 * dropped.
 */
size_t utf8_make_printable(char *s, size_t len);
/*
 * Appends a character to the len bytes at `to`, or '?' if it cannot be printed or is none. Returns
 * false if there is no room for it and one byte more of the cap.
 */
bool utf8_put(char *to, size_t cap, size_t *len, uint32_t c) MUST_CHECK;

#endif /* COMMON_TEXT_UTF8_H */
