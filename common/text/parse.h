/* Strict reading of numbers and durations: the whole text or an error. Pure. */
#ifndef COMMON_TEXT_PARSE_H
#define COMMON_TEXT_PARSE_H

#include "common/base.h"

/* -EINVAL: not a number, or anything around it; -ERANGE: outside min..max. */
int parse_u64(const char *s, size_t len, uint64_t min, uint64_t max, uint64_t *ret) MUST_CHECK;

/*
 * "90s", "1m30s", "1.5h", "500ms", "7d"; "0" needs no unit. Nanoseconds;
 * units d, h, m, s, ms, us and ns. -EINVAL; -ERANGE: more than UINT64_MAX ns.
 */
int parse_duration(const char *s, size_t len, uint64_t *ret_ns) MUST_CHECK;

/* true/false/1/0/yes/no/on/off, in any case. -EINVAL. */
int parse_bool(const char *s, size_t len, bool *ret) MUST_CHECK;

#endif /* COMMON_TEXT_PARSE_H */
