/*
 * Decodes a pprof profile, gzipped or raw, from an untrusted sender into a struct profile, or
 * one of the formats before it (legacy_profile.h). Pure.
 *
 * Everything is bounded: inflated size, samples, locations, functions, strings, arena bytes. One
 * odd element does not make the profile invalid; what happens to it is counted in the profile's
 * losses:
 *
 *	a sample with another number of values than there are types, or a location that does not
 *	exist (ids that are 0 or occur twice do not)            left out
 *	a stack of more than LIMIT_PPROF_STACK_DEPTH locations  cut at the root: "[truncated]"
 *	a location of more lines than the limit                 cut at the outermost call: the same
 *	a string of more than LIMIT_PPROF_STRING_BYTES          cut, and ends in "…"
 *	a name, file or comment that is no string               "", named by its address
 *	a negative value                                        0
 *
 * A profile in which all samples are broken is invalid, as is the difference of two profiles.
 * Every location of the result has lines; those without a name are named by code_file.h.
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
