/*
 * A CPU profile as "go build -pgo" reads it: samples/count and cpu/nanoseconds, and stacks from the
 * innermost to the outermost frame of Go. Pure.
 *
 * The compiler finds a call by the names of both functions and by the line of the call relative to
 * the line at which the caller's declaration starts (cmd/compile/internal/pgoir), so functions need
 * start lines, which Go has in its binaries since 1.20. What is outside Go's frames (the kernel,
 * the name of the process, marks of our own) is left out; runtime/pprof does not have it either.
 */
#ifndef COMMON_PPROF_GO_PGO_H
#define COMMON_PPROF_GO_PGO_H

#include "common/base.h"
#include "common/err.h"
#include "common/pprof/profile.h"

/*
 * Turns p, whose values of this type are nanoseconds of CPU time, into such a profile, in its
 * arena. Without a period in p, a sample is 10 ms. Returns 0, -ENODATA with a sentence in
 * err if no function has a start line, -ENOMEM, or -EFBIG if the arena is full.
 */
int go_pgo_make(struct profile *p, uint32_t type, struct err *err) MUST_CHECK;

#endif /* COMMON_PPROF_GO_PGO_H */
