/*
 * Points in time as text: RFC 3339 ("2026-11-20T20:44:06.123456Z"), as Kubernetes writes its
 * Time and MicroTime. As numbers they are nanoseconds since the Unix epoch. Pure.
 */
#ifndef COMMON_TEXT_RFC3339_H
#define COMMON_TEXT_RFC3339_H

#include "common/base.h"

/*
 * The whole text, with any offset; 't' and 'z' too. Digits behind the ninth of a second are
 * dropped, a leap second is the second after it. -EINVAL; -ERANGE: not between the years 1677
 * and 2262.
 */
int rfc3339_parse(const char *s, size_t len, int64_t *ret_ns) MUST_CHECK;

/* With six digits of a second, cut, and 'Z'. */
void rfc3339_format_us(int64_t ns, char ret[static 32]);

#endif /* COMMON_TEXT_RFC3339_H */
