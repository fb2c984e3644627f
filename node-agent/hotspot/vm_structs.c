/*
 * A table is an array in the library's data, each entry of which points to its names in read-only
 * data, and whose last entry has none. It is read in pieces of several entries; the names one by
 * one, which is cheap if the caller's byte_source caches pages.
 *
 * A table is read as a whole even when everything was found, because a later entry never
 * replaces an earlier one: the first wins.
 */
#include "node-agent/hotspot/vm_structs.h"

#include <errno.h>

#define ENTRY_MAX_BYTES 256u /* distance between entries: 24 to 48 bytes in all releases */
#define PIECE_BYTES 4096u

const char *const vm_variable_names[VM_VARIABLES] = {
	[VM_STRUCTS] = "gHotSpotVMStructs",
	[VM_STRUCTS_TYPE_NAME] = "gHotSpotVMStructEntryTypeNameOffset",
	[VM_STRUCTS_FIELD_NAME] = "gHotSpotVMStructEntryFieldNameOffset",
	[VM_STRUCTS_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[VM_STRUCTS_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[VM_STRUCTS_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[VM_STRUCTS_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[VM_TYPES] = "gHotSpotVMTypes",
	[VM_TYPES_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[VM_TYPES_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
	[VM_TYPES_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[VM_CONSTANTS] = "gHotSpotVMIntConstants",
	[VM_CONSTANTS_NAME] = "gHotSpotVMIntConstantEntryNameOffset",
	[VM_CONSTANTS_VALUE] = "gHotSpotVMIntConstantEntryValueOffset",
	[VM_CONSTANTS_STRIDE] = "gHotSpotVMIntConstantEntryArrayStride",
};

struct reading {
	const struct byte_source *memory;
	uint64_t v[VM_VARIABLES]; /* values of the variables */
	struct vm_fact *facts;
	size_t n;
};

/* Looks at one entry. Returns 0 to continue, 1 at the end of the table, or -errno. */
typedef int entry_fn(struct reading *r, const uint8_t *entry);

static uint64_t word_at(const uint8_t *entry, uint64_t offset, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, entry + offset, size);
	return v;
}

/*
 * Reads a name of the process. One that is too long is none of those that are looked for: it is
 * cut. Returns 0 or an error of byte_source_read().
 */
static int read_name(const struct reading *r, uint64_t address, char to[VM_STRUCTS_NAME_BYTES])
{
	int len;

	*to = '\0';
	if (address == 0)
		return 0;
	len = byte_source_read_string(r->memory, address, address + VM_STRUCTS_NAME_BYTES, to,
				      VM_STRUCTS_NAME_BYTES);
	if (len == -ENAMETOOLONG)
		*to = '\0';
	return len < 0 && len != -ENAMETOOLONG ? len : 0;
}

static bool is_wanted(const struct vm_fact *f, bool of_kind, const char *type, const char *field)
{
	return of_kind && !f->found && strcmp(f->type, type) == 0 &&
	       (!f->field || strcmp(f->field, field) == 0);
}

/* Whether any fact is of this type, so that the name of the field is worth reading. */
static bool is_type_wanted(const struct reading *r, const char *type)
{
	for (size_t i = 0; i < r->n; i++) {
		if ((r->facts[i].kind == VM_FACT_STATIC || r->facts[i].kind == VM_FACT_OFFSET) &&
		    strcmp(r->facts[i].type, type) == 0)
			return true;
	}
	return false;
}

static int on_struct(struct reading *r, const uint8_t *entry)
{
	bool is_static = word_at(entry, r->v[VM_STRUCTS_IS_STATIC], sizeof(int32_t)) != 0;
	uint64_t type_at = word_at(entry, r->v[VM_STRUCTS_TYPE_NAME], sizeof(uint64_t));
	uint64_t value = word_at(entry, r->v[is_static ? VM_STRUCTS_ADDRESS : VM_STRUCTS_OFFSET],
				 sizeof(uint64_t));
	char type[VM_STRUCTS_NAME_BYTES], field[VM_STRUCTS_NAME_BYTES];
	int e;

	if (type_at == 0)
		return 1;
	e = read_name(r, type_at, type);
	if (e < 0 || !is_type_wanted(r, type))
		return e;
	e = read_name(r, word_at(entry, r->v[VM_STRUCTS_FIELD_NAME], sizeof(uint64_t)), field);
	for (size_t i = 0; i < r->n && e == 0; i++) {
		struct vm_fact *f = &r->facts[i];

		if (is_wanted(f, f->kind == (is_static ? VM_FACT_STATIC : VM_FACT_OFFSET), type,
			      field)) {
			f->found = true;
			f->value = value;
		}
	}
	return e;
}

/* Types and constants: a name and a number. */
static int on_named(struct reading *r, const uint8_t *entry, enum vm_fact_kind kind,
		    uint64_t name_offset, uint64_t value)
{
	uint64_t name_at = word_at(entry, name_offset, sizeof(uint64_t));
	char name[VM_STRUCTS_NAME_BYTES];
	int e;

	if (name_at == 0)
		return 1;
	e = read_name(r, name_at, name);
	for (size_t i = 0; i < r->n && e == 0; i++) {
		struct vm_fact *f = &r->facts[i];

		if (is_wanted(f, f->kind == kind, name, "")) {
			f->found = true;
			f->value = value;
		}
	}
	return e;
}

static int on_type(struct reading *r, const uint8_t *entry)
{
	return on_named(r, entry, VM_FACT_SIZE, r->v[VM_TYPES_NAME],
			word_at(entry, r->v[VM_TYPES_SIZE], sizeof(uint64_t)));
}

static int on_constant(struct reading *r, const uint8_t *entry)
{
	return on_named(r, entry, VM_FACT_CONSTANT, r->v[VM_CONSTANTS_NAME],
			word_at(entry, r->v[VM_CONSTANTS_VALUE], sizeof(int32_t)));
}

/* Reads at most max entries; fewer if the table ends right before memory that is not mapped. */
static int read_piece(const struct reading *r, uint64_t address, uint64_t stride, uint8_t *piece,
		      uint64_t *n)
{
	int e;

	for (*n = PIECE_BYTES / stride;; *n /= 2) {
		e = byte_source_read(r->memory, address, piece, (size_t)(*n * stride));
		if (e == 0 || *n == 1)
			return e;
	}
}

/* Reads entries until one has no name. */
static int each_entry(struct reading *r, uint64_t table, uint64_t stride, entry_fn *fn)
{
	uint8_t piece[PIECE_BYTES];
	uint64_t first = 0, n = 0;

	for (uint64_t i = 0; i < VM_STRUCTS_ENTRIES_MAX; i++) {
		int e = 0;

		if (i == first + n) {
			first = i;
			e = read_piece(r, table + i * stride, stride, piece, &n);
		}
		if (e == 0)
			e = fn(r, piece + (i - first) * stride);
		if (e != 0)
			return e < 0 ? e : 0;
	}
	return -EFBIG;
}

/* Whether the fields of entries lie within them. */
static bool is_plausible(const struct reading *r)
{
	static const struct {
		enum vm_variable stride, fields[5];
		size_t n;
	} tables[] = {
		{VM_STRUCTS_STRIDE,
		 {VM_STRUCTS_TYPE_NAME, VM_STRUCTS_FIELD_NAME, VM_STRUCTS_IS_STATIC,
		  VM_STRUCTS_OFFSET, VM_STRUCTS_ADDRESS},
		 5},
		{VM_TYPES_STRIDE, {VM_TYPES_NAME, VM_TYPES_SIZE}, 2},
		{VM_CONSTANTS_STRIDE, {VM_CONSTANTS_NAME, VM_CONSTANTS_VALUE}, 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		uint64_t stride = r->v[tables[i].stride];

		if (stride < sizeof(uint64_t) || stride > ENTRY_MAX_BYTES)
			return false;
		for (size_t j = 0; j < tables[i].n; j++) {
			if (r->v[tables[i].fields[j]] > stride - sizeof(uint64_t))
				return false;
		}
	}
	return true;
}

static int read_variables(struct reading *r, const struct vm_variables *variables)
{
	for (size_t i = 0; i < VM_VARIABLES; i++) {
		int e;

		if (variables->at[i] == 0)
			return -ENOENT;
		e = byte_source_read(r->memory, variables->at[i], &r->v[i], sizeof(r->v[i]));
		if (e < 0)
			return e;
	}
	return is_plausible(r) ? 0 : -EBADMSG;
}

int vm_structs_find(const struct byte_source *memory, const struct vm_variables *variables,
		    struct vm_fact *facts, size_t n)
{
	struct reading r = {.memory = memory, .facts = facts, .n = n};
	int e;

	for (size_t i = 0; i < n; i++) {
		facts[i].found = false;
		facts[i].value = 0;
	}
	e = read_variables(&r, variables);
	if (e == 0)
		e = each_entry(&r, r.v[VM_STRUCTS], r.v[VM_STRUCTS_STRIDE], on_struct);
	if (e == 0)
		e = each_entry(&r, r.v[VM_TYPES], r.v[VM_TYPES_STRIDE], on_type);
	if (e == 0)
		e = each_entry(&r, r.v[VM_CONSTANTS], r.v[VM_CONSTANTS_STRIDE], on_constant);
	return e;
}
