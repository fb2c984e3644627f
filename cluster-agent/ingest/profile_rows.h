/*
 * struct profile → what becomes rows: distinct stacks with their hashes, and a value per stack
 * and sample type. Pure, but for the cache of known stacks.
 *
 * Frames are "name file:line", leaf first, inlined calls before their caller; spaces of files are
 * underscores, since readers take the last space for the end of the name. The hash of a
 * stack is FNV-1a 64 over its frames without separator, as Coroot writes it. A sample type with
 * an empty name is skipped.
 *
 * Samples of one profile with the same stack are merged per type. A value of 0 makes no row,
 * but a type whose values are all 0 has one row with its first stack (or the empty one), so
 * that every received profile is in the table: an average over time must include it.
 *
 * Negative values count as 0. If the values of a type exceed 63 bits together, its largest are
 * reduced until they do not.
 */
#ifndef CLUSTER_AGENT_INGEST_PROFILE_ROWS_H
#define CLUSTER_AGENT_INGEST_PROFILE_ROWS_H

#include "cluster-agent/ingest/seen_stacks.h"
#include "cluster-agent/store/row_batch.h"
#include "common/base.h"
#include "common/err.h"
#include "common/pprof/profile.h"

/*
 * When a profile was taken, as far as that is credible. Pure.
 *
 * A profile whose end is in the future, or longer ago than profiles are kept, comes from a host
 * whose clock is wrong. Refusing it would lose everything that such a host measures, and storing it
 * where it claims to belong would hide it or delete it at once. So it gets the time at which it
 * arrived, and says in a label of its rows that it was moved, and by how much. A profile that is
 * old, but not too old, stays where it is: it may have waited for the end of an outage.
 */

/* Clocks that are synchronised differ by less. Lists end now, so what is later is in none. */
#define PROFILE_WINDOW_MAX_FUTURE_NS (INT64_C(60) * 1000000000)

/* Nanoseconds since the Unix epoch. */
struct profile_window {
	int64_t start_ns;
	int64_t end_ns;
	bool bad_duration; /* the claimed one is impossible, and 0 is used */
	int64_t skew_ns; /* by how much the claimed end was after the arrival; 0: it is believed */
};

/*
 * end_ns and duration_ns are what the profile claims; an end of 0 stands for the arrival. A
 * duration that is negative or longer than max_age_ns is impossible.
 */
void profile_window_set(struct profile_window *ret, int64_t end_ns, int64_t duration_ns,
			int64_t now_ns, int64_t max_age_ns);

/* Of a sample type; longer ones are left out. Lists of types are read by everyone. */
#define PROFILE_ROWS_TYPE_BYTES 128u
#define PROFILE_ROWS_MAX_LOST 64u
#define PROFILE_ROWS_MAX_RUNTIMES 32u
#define PROFILE_ROWS_STATE_BYTES 64u /* of "<runtime>:<state>" */
#define PROFILE_ROWS_MAX_UNWINDING 96u
#define PROFILE_ROWS_UNWINDING_BYTES 63u   /* of "<end>:<binary>" */
#define PROFILE_ROWS_MAX_PROGRAMS 1000000u /* in one state */

struct profile_rows_limits {
	int64_t now_ns;     /* when it arrived: the time of a profile without a credible one */
	int64_t max_age_ns; /* how old and how long it may be: older rows would expire at once */
	uint64_t max_hash_bytes; /* limit on the text of all stacks together, as it is hashed */
};

/* Where to ask which stacks are known. */
struct profile_rows_known {
	struct seen_stacks *seen; /* borrowed */
	struct row_text service;
};

struct profile_rows_stack {
	uint64_t hash;
	struct seen_key key;
	uint32_t sample; /* the first one with this stack; UINT32_MAX: the empty stack */
	bool truncated;  /* has the frame "[truncated]" */
	bool known;      /* need not be sent */
};

struct profile_rows_type {
	struct profile_string type;
	const int64_t *values; /* by stack */
	int64_t sum;           /* of values */
	bool is_zero;          /* all of them are 0 */
	uint64_t n_samples;    /* observations, see below */
	uint64_t n_truncated;  /* observations whose stack is truncated */
};

struct profile_rows_location {
	const struct row_text *frames;
	uint64_t hash;    /* of the frames, for keys of stacks */
	uint32_t n_bytes; /* of all frames */
	uint16_t n_frames;
	bool truncated; /* one of them is "[truncated]" */
};

/* All in the profile's arena. */
struct profile_rows {
	const struct profile *profile; /* borrowed */
	struct profile_window window;
	struct profile_rows_location *locations; /* by profile location */
	struct profile_rows_stack *stacks;       /* at least one */
	uint32_t n_stacks;
	uint32_t max_frames; /* of any stack */
	uint64_t text_bytes; /* of all stacks, see max_hash_bytes */
	struct profile_rows_type *types;
	uint32_t n_types;
	uint32_t n_long_types;  /* that were left out: see PROFILE_ROWS_TYPE_BYTES */
	struct row_count *lost; /* from the comments "lost:<reason>=<count>" */
	size_t n_lost;
	/*
	 * From the comments "runtime:<runtime>:<state>=<count>", as "<runtime>:<state>": so many
	 * programs of the workload are in that state.
	 */
	struct row_count *runtimes;
	size_t n_runtimes;
	/*
	 * From the comments "unwind:<end>=<count>" and "unwind:<end>:<binary>=<count>", without the
	 * first word: so many samples whose walk ended so, in that binary. Of end "seen": samples
	 * with a frame of the binary.
	 */
	struct row_count *unwinding;
	size_t n_unwinding;
	struct profile_losses losses; /* besides those of the profile */
};

/*
 * n_samples of a type is the sum of values / period if the profile gives a period in the type's
 * unit, otherwise the number of samples with a value. known may be NULL: no stack is known.
 *
 * Returns 0, -EBADMSG if the profile is invalid, -EFBIG if it is too large (err then says why
 * in one line), or -ENOMEM.
 */
int profile_rows_make(struct profile_rows *ret, const struct profile *p,
		      const struct profile_rows_limits *limits,
		      const struct profile_rows_known *known, struct err *err) MUST_CHECK;

/* Writes the stack's frames to frames[max_frames] and returns their number. */
size_t profile_rows_frames(const struct profile_rows *r, uint32_t stack, struct row_text *frames);

/*
 * True if (type, stack) is a row: its value is not 0, or it is the one row of a type that is
 * all 0.
 */
bool profile_rows_has(const struct profile_rows_type *t, uint32_t stack);

#endif /* CLUSTER_AGENT_INGEST_PROFILE_ROWS_H */
