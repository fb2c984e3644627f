/*
 * Decodes a pprof profile, gzipped or raw, from an untrusted sender into a struct profile.
 * Pure.
 *
 * Everything is bounded: inflated size, samples, locations, functions, strings, arena bytes. A
 * reference to something that does not exist makes the whole profile invalid: nothing is
 * guessed or repaired.
 */
#ifndef COMMON_PPROF_PPROF_DECODE_H
#define COMMON_PPROF_PPROF_DECODE_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"
#include "common/pprof/profile.h"

/*
 * Returns 0 and *ret with its contents in arena, -EBADMSG if data is not a valid pprof, -EFBIG
 * if a limit is exceeded (both with one line in err), or -ENOMEM. On failure only bytes of the
 * arena remain used.
 */
int pprof_decode(struct profile *ret, struct arena *arena, const void *data, size_t len,
		 struct err *err) MUST_CHECK;

#endif /* COMMON_PPROF_PPROF_DECODE_H */
