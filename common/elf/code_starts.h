/*
 * Where functions begin in code that nothing describes: neither symbols nor exception tables. Pure.
 *
 * x86-64 and arm64. What it goes by, and where it is wrong, is said in code_starts.c.
 */
#ifndef COMMON_ELF_CODE_STARTS_H
#define COMMON_ELF_CODE_STARTS_H

#include "common/base.h"

/* Code that is looked at at once. */
#define CODE_STARTS_MAX_BYTES 524288u

struct code_starts {
	uint32_t *items; /* offsets in the code, ascending; owned */
	uint32_t n;
};

/*
 * Finds them in `len` bytes at `code`, which have this address and are of this machine (EM_…). The
 * result depends on nothing else. Returns 0; -ENOMEM; -ENOTSUP: another machine; or -EFBIG.
 */
int code_starts_find(struct code_starts *ret, const uint8_t *code, size_t len, uint64_t address,
		     uint16_t machine) MUST_CHECK;
void code_starts_fini(struct code_starts *s);

/*
 * The start of the function that has the code at this offset. Returns 0, or -ENOENT if none begins
 * at or before it.
 */
int code_starts_before(const struct code_starts *s, uint32_t at, uint32_t *ret) MUST_CHECK;

#endif /* COMMON_ELF_CODE_STARTS_H */
