/*
 * Reads the small messages of a pprof (a function, a location, a sample) from their bytes. Pure.
 *
 * They are read by hand, because a profile has thousands of them and most of the time of decoding
 * would go into objects that are copied and freed at once: with protobuf-c, decoding took twice
 * the time ("make bench-ingest", line decode). fuzz_pprof_messages.c compares the two.
 *
 * Unknown fields are skipped; a known field of another wire type makes the message broken. Of a
 * number that occurs twice the last one counts. Each function returns 0 or -EBADMSG; *ret is
 * undefined then.
 */
#ifndef COMMON_PPROF_PPROF_MESSAGES_H
#define COMMON_PPROF_PPROF_MESSAGES_H

#include "common/base.h"

/* Strings are indexes into the string table. */
struct pprof_value_type {
	int64_t type;
	int64_t unit;
};

struct pprof_function {
	uint64_t id;
	int64_t name;
	int64_t system_name;
	int64_t file;
	int64_t start_line;
};

struct pprof_line {
	uint64_t function_id;
	int64_t line;
};

struct pprof_lines {
	struct pprof_line *items; /* of the caller */
	size_t max;
	size_t n; /* all that the message has; those beyond max are counted only */
};

struct pprof_location {
	uint64_t id;
	uint64_t mapping_id; /* 0: none */
	uint64_t address;
	struct pprof_lines lines;
};

struct pprof_numbers {
	uint64_t *items; /* as in struct pprof_lines */
	size_t max;
	size_t n;
};

struct pprof_sample {
	struct pprof_numbers location_ids;
	struct pprof_numbers values;
	/* set by the caller: a label with these strings is looked for; 0: none is */
	int64_t label_key;
	int64_t label_value;
	bool has_label;
};

struct pprof_mapping {
	uint64_t id;
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	int64_t file;
	int64_t build_id;
};

int pprof_read_mapping(const uint8_t *data, size_t len, struct pprof_mapping *ret) MUST_CHECK;
int pprof_read_value_type(const uint8_t *data, size_t len, struct pprof_value_type *ret) MUST_CHECK;
int pprof_read_function(const uint8_t *data, size_t len, struct pprof_function *ret) MUST_CHECK;
/* The caller sets items and max before these. */
int pprof_read_location(const uint8_t *data, size_t len, struct pprof_location *ret) MUST_CHECK;
int pprof_read_sample(const uint8_t *data, size_t len, struct pprof_sample *ret) MUST_CHECK;

#endif /* COMMON_PPROF_PPROF_MESSAGES_H */
