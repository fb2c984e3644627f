/*
 * The types of a chunk, which it describes itself: the fields of its events and constants, in the
 * order in which they are written. Pure.
 *
 * A plan is a type prepared for reading: what each field is, and in which slot the caller wants it.
 */
#ifndef COMMON_JFR_JFR_METADATA_H
#define COMMON_JFR_JFR_METADATA_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/number_index.h"
#include "common/jfr/jfr_reader.h"

struct err;

#define JFR_TYPES_MAX 8192u
#define JFR_FIELDS_MAX 32768u
#define JFR_METADATA_STRINGS_MAX 32768u
#define JFR_NO_TYPE UINT32_MAX

/* How a value is written. */
enum jfr_form {
	JFR_FORM_STRUCT, /* its fields one after the other */
	JFR_FORM_BYTE,   /* byte, boolean */
	JFR_FORM_CHAR,   /* char, short; integers may be compressed */
	JFR_FORM_INT,
	JFR_FORM_LONG, /* also a reference to a constant */
	JFR_FORM_FLOAT,
	JFR_FORM_DOUBLE,
	JFR_FORM_TEXT,
};

struct jfr_type {
	uint64_t id; /* first, for number_index_find() */
	const char *name;
	uint32_t first_field;
	uint32_t n_fields;
	enum jfr_form form;
	bool is_integers; /* a struct of nothing but integers and references */
};

struct jfr_field {
	const char *name;
	uint64_t type_id;
	uint32_t type;    /* index; JFR_NO_TYPE: not defined */
	bool is_constant; /* a reference to a constant of that type */
	bool is_array;
};

struct jfr_metadata {
	struct jfr_type *types;
	uint32_t n_types;
	struct jfr_field *fields;
	uint32_t n_fields;
	struct number_index by_id;
};

/*
 * Reads the metadata event at r's position; everything is allocated in a. Returns 0, -ENOMEM, or
 * -EBADMSG, also if there is more of it than the limits above or that of a allow.
 */
int jfr_metadata_read(struct jfr_metadata *ret, struct jfr_reader *r, struct arena *a,
		      struct err *err) MUST_CHECK;

/* NULL if there is none. */
const struct jfr_type *jfr_metadata_find(const struct jfr_metadata *m, uint64_t id);
const struct jfr_type *jfr_metadata_find_name(const struct jfr_metadata *m, const char *name);

/* Skips a value of that type. */
void jfr_metadata_skip(const struct jfr_metadata *m, struct jfr_reader *r,
		       const struct jfr_type *type);

#define JFR_PLAN_OPS_MAX 64u
#define JFR_PLAN_SLOTS_MAX 4u
#define JFR_PLAN_NO_SLOT JFR_PLAN_SLOTS_MAX

struct jfr_plan {
	struct {
		uint8_t form; /* enum jfr_form */
		uint8_t slot; /* JFR_PLAN_NO_SLOT: not wanted */
		bool is_array;
		uint32_t type; /* of JFR_FORM_STRUCT */
	} ops[JFR_PLAN_OPS_MAX];
	size_t n;         /* 0: not usable */
	bool is_integers; /* compressed: the fast way */
	const struct jfr_metadata *metadata;
};

/* Which fields a caller wants. */
struct jfr_wanted {
	const char *names[JFR_PLAN_SLOTS_MAX]; /* by slot; NULL: none */
	size_t n_required; /* the first of them must exist, and be neither structs nor arrays */
	/* Leave out fields behind the last one wanted: for events, whose size is known. */
	bool prefix;
};

/* Prepares a type, which may be NULL. Returns false if that is not possible. */
bool jfr_plan_make(struct jfr_plan *ret, const struct jfr_metadata *m, const struct jfr_type *type,
		   const struct jfr_wanted *wanted);

/* The general case of jfr_plan_read(). */
void jfr_plan_read_any(const struct jfr_plan *plan, struct jfr_reader *r,
		       uint64_t slots[JFR_PLAN_SLOTS_MAX + 1], struct jfr_text *texts);

/*
 * Reads a value. Numbers and references go into slots, which are 0 where the type has no such
 * field; a text into the element of texts with the number of its slot. The last slot is for what is
 * not wanted.
 */
static inline void jfr_plan_read(const struct jfr_plan *plan, struct jfr_reader *r,
				 uint64_t slots[JFR_PLAN_SLOTS_MAX + 1], struct jfr_text *texts)
{
	memset(slots, 0, JFR_PLAN_SLOTS_MAX * sizeof(*slots));
	if (!plan->is_integers || !r->compressed) {
		jfr_plan_read_any(plan, r, slots, texts);
		return;
	}
	for (size_t i = 0; i < plan->n; i++)
		slots[plan->ops[i].slot] = jfr_reader_varint(r);
}

/* Skips field i of the type: for values that the caller reads field by field. */
void jfr_plan_skip(const struct jfr_plan *plan, struct jfr_reader *r, size_t i);

#endif /* COMMON_JFR_JFR_METADATA_H */
