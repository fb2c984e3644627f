/* Parses numbers, durations, sizes and booleans strictly: the whole text must be valid. Pure. */
#ifndef COMMON_TEXT_PARSE_H
#define COMMON_TEXT_PARSE_H

#include "common/base.h"

/* Returns 0, -EINVAL if the text is anything but a number, or -ERANGE if outside min..max. */
int parse_u64(const char *s, size_t len, uint64_t min, uint64_t max, uint64_t *ret) MUST_CHECK;

/*
 * Parses "7", "-1.5", "+.5", "1e3": a sign, decimal digits and an exponent, at most 127 bytes.
 * Returns 0, -EINVAL, or -ERANGE if it is beyond what a double holds.
 */
int parse_real(const char *s, size_t len, double *ret) MUST_CHECK;

/*
 * Parses "90s", "1m30s", "1.5h", "500ms", "7d" with the units d, h, m, s, ms, us and ns; "0"
 * needs no unit. Returns 0, -EINVAL, or -ERANGE if longer than UINT64_MAX ns.
 */
int parse_duration(const char *s, size_t len, uint64_t *ret_ns) MUST_CHECK;

/*
 * Parses "500MB", "1GiB", "64k", "1024" as bytes: KB, MB, GB and TB are powers of 1000, KiB, MiB,
 * GiB and TiB those of 1024, in upper or lower case; without the B, powers of 1000. Returns 0,
 * -EINVAL, or -ERANGE if more than UINT64_MAX.
 */
int parse_size(const char *s, size_t len, uint64_t *ret_bytes) MUST_CHECK;

/* Accepts true/false/1/0/yes/no/on/off, in upper or lower case. Returns 0 or -EINVAL. */
int parse_bool(const char *s, size_t len, bool *ret) MUST_CHECK;

#endif /* COMMON_TEXT_PARSE_H */
