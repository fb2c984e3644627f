/*
 * Decodes the profiles that were written before pprof was a protobuf and that "go tool pprof"
 * still opens: gperftools' CPU profile (binary words), heap profiles ("heap profile: …", also
 * of growth), contentions, and Go's counts of goroutines and threads ("?debug=1"). Pure.
 *
 * Types, units and values are those of github.com/google/pprof, profile/legacy_profile.go. Code
 * has no names in these formats: frames are named by code_file.h with the maps of the process at
 * the end. A line that cannot be read is left out and counted (PROFILE_LOSS_BROKEN_LINES).
 */
#ifndef COMMON_PPROF_LEGACY_PROFILE_H
#define COMMON_PPROF_LEGACY_PROFILE_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"
#include "common/pprof/profile.h"

/* Looks at the first line or words only; no protobuf begins like that. */
bool legacy_profile_detect(const void *data, size_t len);

/* As pprof_decode(), of data that was detected. */
int legacy_profile_decode(struct profile *ret, struct arena *arena, const void *data, size_t len,
			  struct err *err) MUST_CHECK;

#endif /* COMMON_PPROF_LEGACY_PROFILE_H */
