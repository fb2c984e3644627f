/*
 * Maps strings to small ids: keeps each distinct string once, and numbers them from 0 in the
 * order in which they were first added. Id 0 is always "". Not thread-safe.
 */
#ifndef COMMON_DATA_INTERN_H
#define COMMON_DATA_INTERN_H

#include "common/base.h"

struct intern;

/* limit_bytes bounds the sum of all strings, each with its NUL. Returns 0 or -ENOMEM. */
int intern_new(struct intern **ret, size_t limit_bytes) MUST_CHECK;
void intern_free(struct intern *in);
DEFINE_CLEANUP(struct intern *, intern_free);

/* Returns 0, -ENOMEM, or -EFBIG if the limit would be exceeded. */
int intern_add(struct intern *in, const char *s, size_t len, uint32_t *ret_id) MUST_CHECK;

/* Borrowed, NUL-terminated; valid until intern_free(). id must be < intern_count(). */
const char *intern_get(const struct intern *in, uint32_t id, size_t *ret_len);
uint32_t intern_count(const struct intern *in);

#endif /* COMMON_DATA_INTERN_H */
