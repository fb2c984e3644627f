/*
 * A pprof profile in memory, with every reference checked: the node agent builds it, the
 * cluster agent decodes it.
 *
 * Strings, functions, locations and samples refer to each other by index into the arrays here,
 * not by pprof id. All arrays and strings live in the arena and are freed with it. Limits are
 * those of common/limits.h.
 */
#ifndef COMMON_PPROF_PROFILE_H
#define COMMON_PPROF_PROFILE_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/pprof/profile_losses.h"

/* Bytes in the arena, NUL-terminated; len excludes the NUL and may include others. */
struct profile_string {
	const char *data;
	size_t len;
};

struct profile_value_type {
	struct profile_string type;
	struct profile_string unit;
};

struct profile_function {
	struct profile_string name;
	struct profile_string file; /* source file, or "[module]" if only the module is known */
	int64_t start_line;         /* of the declaration; 0: unknown */
};

struct profile_line {
	uint32_t function; /* index into profile.functions */
	int64_t line;      /* 0: unknown */
};

struct profile_location {
	const struct profile_line *lines; /* innermost inlined call first */
	uint32_t n_lines;
	uint64_t address;
	uint32_t mapping; /* 1 + its number when it is written; 0: in no file */
};

/* A file's code, as it is mapped. Only written: the mappings of a decoded profile become names. */
struct profile_mapping {
	uint64_t start;
	uint64_t end;    /* exclusive */
	uint64_t offset; /* of start in the file */
	struct profile_string file;
	struct profile_string build_id; /* in hexadecimal; "": unknown */
	/* What its locations have; tools look for what is missing. */
	bool has_functions;
	bool has_lines;
	bool has_inlined;
	bool is_main; /* the program: tools expect it first */
};

struct profile_sample {
	const uint32_t *locations; /* leaf first; indexes into profile.locations */
	uint32_t n_locations;
	const int64_t *values; /* profile.n_types of them */
	/* written as the label pprof::base="true": part of what is subtracted in a difference */
	bool is_base;
};

struct profile {
	struct arena *arena; /* borrowed */
	struct profile_value_type *types;
	uint32_t n_types;
	struct profile_function *functions;
	uint32_t n_functions;
	struct profile_location *locations;
	uint32_t n_locations;
	const struct profile_mapping *mappings; /* when it is written */
	uint32_t n_mappings;
	struct profile_sample *samples;
	uint32_t n_samples;
	struct profile_string *comments;
	uint32_t n_comments;
	struct profile_value_type period_type;
	int64_t period;
	int64_t time_ns; /* end, since the Unix epoch */
	int64_t duration_ns;
	struct profile_losses losses; /* counted while the profile was decoded */
};

#endif /* COMMON_PPROF_PROFILE_H */
