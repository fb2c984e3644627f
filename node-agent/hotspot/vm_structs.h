/*
 * HotSpot's tables of its own data structures, in the memory of a JVM.
 *
 * Every HotSpot library (JDK 8 to 25 and later) exports variables that describe it to debuggers:
 * where static fields are, at which offset others lie, how large types are, and what constants
 * are. They even describe themselves: the offsets of the fields of an entry, and the distance
 * from one entry to the next. So nothing about a release has to be known in advance.
 *
 * Pure: reads through a byte_source, whose offsets are addresses in the process. What it reads
 * is foreign and may be anything: every count and length is bounded.
 */
#ifndef NODE_AGENT_HOTSPOT_VM_STRUCTS_H
#define NODE_AGENT_HOTSPOT_VM_STRUCTS_H

#include "common/base.h"
#include "common/elf/byte_source.h"

#define VM_STRUCTS_ENTRIES_MAX 16384u /* JDK 8 to 25 have below 4,000 */
#define VM_STRUCTS_NAME_BYTES 128u    /* of a type or field that is looked for, with its NUL */

/* The exported variables. */
enum vm_variable {
	VM_STRUCTS,
	VM_STRUCTS_TYPE_NAME,  /* offsets in an entry */
	VM_STRUCTS_FIELD_NAME, /* likewise */
	VM_STRUCTS_IS_STATIC,
	VM_STRUCTS_OFFSET,
	VM_STRUCTS_ADDRESS,
	VM_STRUCTS_STRIDE, /* from one entry to the next */
	VM_TYPES,
	VM_TYPES_NAME,
	VM_TYPES_SIZE,
	VM_TYPES_STRIDE,
	VM_CONSTANTS, /* of type int */
	VM_CONSTANTS_NAME,
	VM_CONSTANTS_VALUE,
	VM_CONSTANTS_STRIDE,
	VM_VARIABLES,
};

/* The names of their symbols. */
extern const char *const vm_variable_names[VM_VARIABLES];

/* Addresses of these variables; 0 if the library does not export it. */
struct vm_variables {
	uint64_t at[VM_VARIABLES];
};

/* What is to be looked up. */
enum vm_fact_kind {
	VM_FACT_STATIC,   /* address of a static field */
	VM_FACT_OFFSET,   /* offset of a field */
	VM_FACT_SIZE,     /* size of a type; field is NULL */
	VM_FACT_CONSTANT, /* type is its name; field is NULL */
};

struct vm_fact {
	const char *type;
	const char *field;
	enum vm_fact_kind kind;
	bool found;
	uint64_t value; /* 0 if it is not found */
};

/*
 * Looks facts up, each table being read once. Returns 0, also if some are not found; -ENOENT if
 * the library lacks the variables; -EBADMSG if what they say makes no sense, -EFBIG if a table
 * does not end within VM_STRUCTS_ENTRIES_MAX; or an error of byte_source_read(): -ENODATA if an
 * address is not mapped.
 */
int vm_structs_find(const struct byte_source *memory, const struct vm_variables *variables,
		    struct vm_fact *facts, size_t n) MUST_CHECK;

#endif /* NODE_AGENT_HOTSPOT_VM_STRUCTS_H */
