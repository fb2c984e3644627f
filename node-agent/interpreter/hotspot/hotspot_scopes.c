#include "node-agent/interpreter/hotspot/hotspot_scopes.h"

#include <errno.h>

#include "node-agent/interpreter/hotspot/hotspot_numbers.h"

#define PC_DESC_BYTES 16u
#define PCS_MAX 1000000u
#define SCOPES_MAX_BYTES (64u * 1024 * 1024)
#define METADATA_MAX 1000000u

/* struct PcDesc of code/pcDesc.hpp */
struct pc_desc {
	int32_t offset; /* in the code */
	int32_t scope;  /* offset in scopes; 0: nothing is known */
	int32_t objects;
	int32_t flags;
};
_Static_assert(sizeof(struct pc_desc) == PC_DESC_BYTES, "pc_desc layout");

struct code {
	const struct hotspot_layout *layout;
	const struct interpreter_memory *memory;
	uint64_t nmethod;
	uint64_t begin; /* of the instructions */
	uint64_t pcs;
	uint32_t n_pcs;
	uint64_t scopes;
	uint64_t metadata;
	int error; /* the first one */
};

static uint64_t read_at(struct code *c, uint64_t at, size_t n)
{
	uint64_t v = 0;
	int r = c->error;

	if (r == 0)
		r = interpreter_read(c->memory, at, &v, n);
	c->error = r;
	return r == 0 ? v : 0;
}

static uint64_t word(struct code *c, uint16_t offset)
{
	return read_at(c, c->nmethod + offset, sizeof(uint64_t));
}

static uint32_t half(struct code *c, uint16_t offset)
{
	return (uint32_t)read_at(c, c->nmethod + offset, sizeof(uint32_t));
}

static uint64_t find_metadata(struct code *c)
{
	const struct hotspot_layout *l = c->layout;

	if (l->blob_mutable)
		return word(c, l->blob_mutable) + half(c, l->blob_relocations);
	if (l->nmethod_immutable)
		return c->nmethod + half(c, l->blob_data) + (half(c, l->nmethod_metadata) & 0xffff);
	return c->nmethod + half(c, l->nmethod_metadata);
}

static int find_parts(struct code *c)
{
	const struct hotspot_layout *l = c->layout;
	uint64_t base = l->nmethod_immutable ? word(c, l->nmethod_immutable) : c->nmethod;
	uint32_t from = half(c, l->nmethod_scopes_pcs), to = half(c, l->nmethod_pcs_end);

	if (l->walk.flags & CHAIN_JVM_CODE_OFFSET)
		c->begin = c->nmethod + half(c, l->walk.blob_code);
	else
		c->begin = word(c, l->walk.blob_code);
	c->pcs = base + from;
	c->n_pcs = to > from ? (to - from) / PC_DESC_BYTES : 0;
	if (c->n_pcs > PCS_MAX)
		c->n_pcs = 0;
	c->scopes = l->scopes_pointer ? word(c, l->nmethod_scopes_data)
				      : base + half(c, l->nmethod_scopes_data);
	c->metadata = find_metadata(c);
	return c->error;
}

/* The first one at or behind the address; the instructions before it belong to it. */
static struct pc_desc find_pc(struct code *c, uint64_t address)
{
	int64_t offset = (int64_t)(address - c->begin);
	uint32_t low = 0, high = c->n_pcs;
	struct pc_desc d = {0};

	while (low < high && c->error == 0) {
		uint32_t middle = low + (high - low) / 2;

		if ((int32_t)read_at(c, c->pcs + (uint64_t)middle * PC_DESC_BYTES,
				     sizeof(d.offset)) < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (c->error == 0 && low < c->n_pcs)
		c->error = interpreter_read(c->memory, c->pcs + (uint64_t)low * PC_DESC_BYTES, &d,
					    sizeof(d));
	return c->error == 0 ? d : (struct pc_desc){0};
}

/* Returns the offset of the scope of the caller; 0: it is the outermost, or not a scope. */
static uint32_t read_scope(struct code *c, uint32_t offset, struct hotspot_scope *ret)
{
	UNINITIALIZED struct hotspot_numbers s;
	uint32_t caller, method;

	hotspot_numbers_begin(&s, c->memory, c->scopes + offset, c->scopes + SCOPES_MAX_BYTES,
			      c->layout->byte_excess);
	caller = hotspot_numbers_read(&s);
	method = hotspot_numbers_read(&s);
	ret->bytecode = (int32_t)hotspot_numbers_read(&s) - 1;
	ret->method = 0;
	if (s.error != 0) {
		c->error = s.error;
		return 0;
	}
	if (method > 0 && method < METADATA_MAX)
		ret->method =
			read_at(c, c->metadata + (method - 1) * sizeof(uint64_t), sizeof(uint64_t));
	return caller;
}

static void read_scopes(struct code *c, uint64_t address, struct hotspot_scopes *ret)
{
	uint32_t at = (uint32_t)find_pc(c, address).scope;

	while (at > 0 && at < SCOPES_MAX_BYTES && c->error == 0 && ret->n < HOTSPOT_SCOPES_MAX) {
		uint32_t caller = read_scope(c, at, &ret->scopes[ret->n]);

		if (c->error == 0 && ret->scopes[ret->n].method != 0)
			ret->n++;
		at = caller;
	}
}

int hotspot_scopes_read(const struct hotspot_layout *l, const struct interpreter_memory *memory,
			uint64_t nmethod, uint64_t address, struct hotspot_scopes *ret)
{
	struct code c = {.layout = l, .memory = memory, .nmethod = nmethod};
	uint64_t method = word(&c, l->nmethod_method);
	int r = find_parts(&c);

	ret->n = 0;
	if (r < 0)
		return r;
	read_scopes(&c, address, ret);
	/* what is not understood is not believed in parts */
	if (ret->n > 0 && ret->scopes[ret->n - 1].method == method && c.error == 0)
		return 0;
	ret->n = 1;
	ret->scopes[0] = (struct hotspot_scope){method, -1};
	return 0;
}
