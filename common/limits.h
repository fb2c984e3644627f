/*
 * The limits that we impose on data from others, with their reasons. Reaching one is an
 * expected outcome with a counter, not an error in the log.
 */
#ifndef COMMON_LIMITS_H
#define COMMON_LIMITS_H

#include "common/base.h"

#define MIB (UINT64_C(1024) * 1024)

/* Uploads. A busy node's profile of one workload is below 1 MiB gzipped. */
#define LIMIT_UPLOAD_BYTES (32 * MIB)
#define LIMIT_UPLOAD_INFLATED_BYTES (128 * MIB)
/* Total size of the bodies of all unanswered uploads. */
#define LIMIT_UPLOADS_MEMORY_BYTES (256 * MIB)

/* Total size of the answers of one server that clients have not read yet; one may be as large. */
#define LIMIT_ANSWERS_MEMORY_BYTES (256 * MIB)

/* Frames of the stacks that were asked for last (stack_cache.h). */
#define LIMIT_STACK_CACHE_BYTES (64 * MIB)

/* pprof: far beyond any profile that a person could read. */
#define LIMIT_PPROF_TYPES 64u
#define LIMIT_PPROF_SAMPLES 1000000u
#define LIMIT_PPROF_LOCATIONS 1000000u
#define LIMIT_PPROF_FUNCTIONS 1000000u
#define LIMIT_PPROF_STRINGS 2000000u
#define LIMIT_PPROF_STACK_DEPTH 4096u
#define LIMIT_PPROF_MAPPINGS 262144u
#define LIMIT_PPROF_LINES_PER_LOCATION 256u
#define LIMIT_PPROF_STRING_BYTES 65536u /* of one string */
#define LIMIT_PPROF_ARENA_BYTES (256 * MIB)

/* An OTLP request: one for each file of a node, and as many attributes as it has threads. */
#define LIMIT_OTLP_MAPPINGS 262144u
#define LIMIT_OTLP_ATTRIBUTES 1000000u

/*
 * Text of all stacks of one profile, frame by frame. It is hashed: without a limit, a small
 * upload in which a million stacks repeat a few long names would keep a CPU busy for hours.
 */
#define LIMIT_PROFILE_STACK_TEXT_BYTES (1024 * MIB)
/*
 * Rows made from one profile, inflated and as they are kept and sent. The rows of a heap profile of
 * 262,144 stacks, the most that the node agent makes, are 800 MiB and PACKED.
 */
#define LIMIT_PROFILE_ROWS_BYTES (4096 * MIB)
#define LIMIT_PROFILE_PACKED_BYTES (60 * MIB)

/*
 * Our senders begin another pprof above one of these, so that no receiver's limit above is reached:
 * samples; bytes of samples before compression, which are at least one per frame; text as of
 * LIMIT_PROFILE_STACK_TEXT_BYTES; and compressed bytes. Names come on top.
 */
#define LIMIT_PART_SAMPLES 300000u
#define LIMIT_PART_RAW_BYTES (32 * MIB)
#define LIMIT_PART_TEXT_BYTES (512 * MIB)
#define LIMIT_PART_BYTES (12 * MIB)

/* Symbol names, also after demangling; longer ones are truncated. */
#define LIMIT_SYMBOL_NAME_BYTES 1024u

#endif /* COMMON_LIMITS_H */
