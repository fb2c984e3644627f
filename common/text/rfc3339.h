/*
 * Converts between nanoseconds since the Unix epoch and RFC 3339
 * ("2026-11-20T20:44:06.123456Z"), the format of Kubernetes' Time and MicroTime. Pure.
 */
#ifndef COMMON_TEXT_RFC3339_H
#define COMMON_TEXT_RFC3339_H

#include "common/base.h"

/*
 * Parses the whole text, with any offset, also with 't' and 'z'. Digits beyond nanoseconds are
 * dropped; a leap second counts as the second after it. Returns 0, -EINVAL, or -ERANGE outside
 * the years 1677 to 2262.
 */
int rfc3339_parse(const char *s, size_t len, int64_t *ret_ns) MUST_CHECK;

/* In UTC, with microseconds, or in whole seconds as metav1.Time has them (rounded down). */
void rfc3339_format_us(int64_t ns, char ret[static 32]);
void rfc3339_format_s(int64_t ns, char ret[static 32]);

#endif /* COMMON_TEXT_RFC3339_H */
