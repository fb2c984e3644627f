/*
 * Reads the small messages of OTLP profiles (proto/otlp_profiles.proto) from their bytes. Pure.
 *
 * Unknown fields are skipped; a known field of another wire type makes the message broken. Of a
 * number that occurs twice the last one counts. Numbers that repeat may be packed or not. Every
 * function returns 0 or -EBADMSG; *ret is undefined then. What is borrowed points into the bytes.
 */
#ifndef COMMON_OTLP_OTLP_MESSAGES_H
#define COMMON_OTLP_OTLP_MESSAGES_H

#include "common/base.h"
#include "common/pprof/pprof_wire.h"

/* Bytes of a message or a string, borrowed. */
struct otlp_bytes {
	const uint8_t *data;
	size_t len;
};

/* Field numbers of messages that are walked with otlp_next(). */
enum {
	OTLP_REQUEST_RESOURCE_PROFILES = 1,
	OTLP_REQUEST_DICTIONARY = 2,

	OTLP_DICTIONARY_MAPPINGS = 1,
	OTLP_DICTIONARY_LOCATIONS = 2,
	OTLP_DICTIONARY_FUNCTIONS = 3,
	OTLP_DICTIONARY_LINKS = 4,
	OTLP_DICTIONARY_STRINGS = 5,
	OTLP_DICTIONARY_ATTRIBUTES = 6,
	OTLP_DICTIONARY_STACKS = 7,
	OTLP_DICTIONARY_MAX = 7,

	OTLP_RESOURCE_PROFILES_RESOURCE = 1,
	OTLP_RESOURCE_PROFILES_SCOPES = 2,
	OTLP_RESOURCE_ATTRIBUTES = 1,

	OTLP_SCOPE_PROFILES_SCOPE = 1,
	OTLP_SCOPE_PROFILES_PROFILES = 2,
	OTLP_SCOPE_NAME = 1,

	OTLP_PROFILE_SAMPLES = 2,

	OTLP_ARRAY_VALUES = 1,
};

/*
 * Walks the fields 1 to max_number of a message whose fields of these numbers are all messages or
 * strings: returns 1 and the next of them, 0 at the end, or -EBADMSG.
 */
int otlp_next(struct wire_reader *r, uint32_t max_number, struct wire_field *ret) MUST_CHECK;
static inline struct wire_reader otlp_reader(struct otlp_bytes b)
{
	return (struct wire_reader){b.data, b.len > 0 ? b.data + b.len : b.data};
}

enum otlp_value_kind {
	OTLP_VALUE_NONE,
	OTLP_VALUE_STRING,   /* bytes */
	OTLP_VALUE_BOOL,     /* number */
	OTLP_VALUE_INT,      /* number */
	OTLP_VALUE_DOUBLE,   /* real */
	OTLP_VALUE_ARRAY,    /* bytes of the message ArrayValue */
	OTLP_VALUE_OTHER,    /* lists of keys and values, bytes */
	OTLP_VALUE_STRINDEX, /* number */
};

struct otlp_value {
	enum otlp_value_kind kind;
	struct otlp_bytes bytes;
	int64_t number;
	double real;
};

/* KeyValue and KeyValueAndUnit */
struct otlp_attribute {
	struct otlp_bytes key; /* of a KeyValue; empty: key_strindex */
	int32_t key_strindex;
	struct otlp_value value;
};

struct otlp_mapping {
	uint64_t memory_start;
	uint64_t memory_limit;
	uint64_t file_offset;
	int32_t filename_strindex;
};

struct otlp_function {
	int32_t name_strindex;
	int32_t system_name_strindex;
	int32_t filename_strindex;
};

struct otlp_line {
	int32_t function_index;
	int64_t line;
};

struct otlp_location {
	int32_t mapping_index;
	uint64_t address;
	size_t n_lines;
};

struct otlp_value_type {
	int32_t type_strindex;
	int32_t unit_strindex;
};

struct otlp_sample {
	int32_t stack_index;
	uint64_t n_values;
	int64_t sum;         /* of values that are not negative; INT64_MAX if it is more */
	uint64_t n_negative; /* values, not in sum */
	bool is_clamped;
	uint64_t n_timestamps;
	uint64_t first_ns; /* of timestamps, if there is one */
	uint64_t last_ns;
};

struct otlp_profile {
	struct otlp_value_type sample_type;
	struct otlp_value_type period_type;
	int64_t period;
	uint64_t start_ns;
	uint64_t duration_ns;
	size_t n_samples;
};

int otlp_read_value(struct otlp_bytes message, struct otlp_value *ret) MUST_CHECK;
int otlp_read_key_value(struct otlp_bytes message, struct otlp_attribute *ret) MUST_CHECK;
int otlp_read_attribute(struct otlp_bytes message, struct otlp_attribute *ret) MUST_CHECK;
int otlp_read_mapping(struct otlp_bytes message, struct otlp_mapping *ret) MUST_CHECK;
int otlp_read_function(struct otlp_bytes message, struct otlp_function *ret) MUST_CHECK;
int otlp_read_location(struct otlp_bytes message, struct otlp_location *ret) MUST_CHECK;
int otlp_read_profile(struct otlp_bytes message, struct otlp_profile *ret) MUST_CHECK;
int otlp_read_sample(struct otlp_bytes message, struct otlp_sample *ret) MUST_CHECK;

/* Calls fn for each line of a location; fn returns 0, or an error, which is returned. */
int otlp_each_line(struct otlp_bytes location, int (*fn)(void *ctx, const struct otlp_line *line),
		   void *ctx) MUST_CHECK;

/* Fields of numbers that repeat. */
#define OTLP_MAPPING_ATTRIBUTES 5u
#define OTLP_LOCATION_ATTRIBUTES 4u
#define OTLP_STACK_LOCATIONS 1u
#define OTLP_SAMPLE_ATTRIBUTES 2u
#define OTLP_PROFILE_ATTRIBUTES 11u

/* Calls fn for each number of a field that repeats, as above. */
int otlp_each_number(struct otlp_bytes message, uint32_t field,
		     int (*fn)(void *ctx, uint64_t number), void *ctx) MUST_CHECK;

#endif /* COMMON_OTLP_OTLP_MESSAGES_H */
