/*
 * pprof bytes, gzipped or raw, from an untrusted sender → struct profile.
 *
 * Pure. Everything is bounded: inflated size, samples, locations, functions,
 * strings, arena bytes. References that point nowhere make the whole profile
 * invalid: a profile is right or refused, never guessed.
 */
#ifndef COMMON_PPROF_PPROF_DECODE_H
#define COMMON_PPROF_PPROF_DECODE_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"
#include "common/pprof/profile.h"

/*
 * 0, and ret in arena; -EBADMSG: not a valid pprof, err says why in one line;
 * -EFBIG: over a limit; -ENOMEM. Nothing is left behind but arena use.
 */
int pprof_decode(struct profile *ret, struct arena *arena, const void *data, size_t len,
		 struct err *err) MUST_CHECK;

#endif /* COMMON_PPROF_PPROF_DECODE_H */
