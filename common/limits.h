/*
 * Every maximum we impose on data that others make, with its reason. Reaching
 * one is an expected outcome with a counter, not an error in the log.
 */
#ifndef COMMON_LIMITS_H
#define COMMON_LIMITS_H

#include "common/base.h"

#define MIB (UINT64_C(1024) * 1024)

/* Uploads. A busy node's profile of one workload is below 1 MiB gzipped. */
#define LIMIT_UPLOAD_BYTES (32 * MIB)
#define LIMIT_UPLOAD_INFLATED_BYTES (128 * MIB)
/* Bodies of all uploads that are not answered yet. */
#define LIMIT_UPLOADS_MEMORY_BYTES (256 * MIB)

/* pprof: counts beyond these are no profile anyone reads. */
#define LIMIT_PPROF_TYPES 64u
#define LIMIT_PPROF_SAMPLES 1000000u
#define LIMIT_PPROF_LOCATIONS 1000000u
#define LIMIT_PPROF_FUNCTIONS 1000000u
#define LIMIT_PPROF_STRINGS 2000000u
#define LIMIT_PPROF_STACK_DEPTH 4096u
#define LIMIT_PPROF_LINES_PER_LOCATION 256u
#define LIMIT_PPROF_STRING_BYTES 65536u /* of one string */
#define LIMIT_PPROF_ARENA_BYTES (256 * MIB)

/*
 * Text of all stacks of one profile, frame by frame: it is hashed, and a few names that a
 * million stacks repeat would keep a CPU busy for hours.
 */
#define LIMIT_PROFILE_STACK_TEXT_BYTES (1024 * MIB)
/*
 * Rows made from one profile, per table: the embedded engine parses an insert of several times
 * that within its memory for one query.
 */
#define LIMIT_PROFILE_ROWS_BYTES (64 * MIB)

/* Symbol names, demangled ones included; longer ones are cut. */
#define LIMIT_SYMBOL_NAME_BYTES 1024u

#endif /* COMMON_LIMITS_H */
