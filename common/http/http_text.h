/* Coding of text in requests. Pure; the input is untrusted. */
#ifndef COMMON_HTTP_HTTP_TEXT_H
#define COMMON_HTTP_HTTP_TEXT_H

#include "common/base.h"
#include "common/data/buf.h"

/*
 * Decodes %XX in place and returns the new length. %00 and sequences that are not two hex digits
 * stay as they are, so the result never ends early.
 */
size_t http_percent_decode(char *s);

/*
 * Appends s, encoded for a query: all but the unreserved set of RFC 3986 and '/'. Returns what
 * buf_add() does.
 */
int http_percent_encode(struct buf *out, const char *s) MUST_CHECK;

/* Whether this value of Accept-Encoding (NULL without one) allows "gzip", say: RFC 9110, 12.5.3. */
bool http_accepts(const char *value, const char *coding);

/* Seconds since the Unix epoch of "Date" and the like. Returns 0 or -EINVAL. */
int http_parse_date(const char *value, int64_t *ret_s) MUST_CHECK;

#endif /* COMMON_HTTP_HTTP_TEXT_H */
