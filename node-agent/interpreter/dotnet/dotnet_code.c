/*
 * The runtime knows its code by ranges. A tree of five levels, with 8 bits of the address each,
 * leads to a list of the ranges in 128 KiB of memory. Most ranges are heaps of compiled methods.
 *
 * A heap has a map of where its methods begin: 4 bits for each 32 bytes, 0 if no method begins
 * there, else 1 + the offset in words of 4 bytes. Eight of them are a unit, the first one in the
 * highest bits. Until .NET 9 the last entry at or before an address is looked for backward. Since
 * then a unit in which a method continues over all of it has the offset of that method's start
 * instead; its lowest 4 bits, which are above 8, say so.
 *
 * The word in front of a method's code leads to its header, or is a small number in front of a
 * stub.
 *
 * Sources: vm/codeman.h, vm/nibblemapmacros.h and docs/design/datacontracts/ExecutionManager.md of
 * dotnet/runtime.
 */
#include "node-agent/interpreter/dotnet/dotnet_code.h"

#include <errno.h>

#define LEVELS 5
#define LEVEL_BITS 8
#define LAST_LEVEL_BITS 17 /* of an address, in one list of fragments */
#define COLLECTIBLE 1ULL   /* a bit of pointers in the tree */
#define FRAGMENTS_MAX 64u  /* in a list */

#define SECTION_CODE_HEAP 2u
#define SECTION_STUBS 4u

#define BUCKET_BYTES 32u /* of code, for 4 bits of the map */
#define UNIT_BUCKETS 8u
#define UNIT_BYTES (BUCKET_BYTES * UNIT_BUCKETS)
#define STEP_BYTES 4u /* of code, for 1 in an entry */
#define ENTRY_MAX (BUCKET_BYTES / STEP_BYTES)
#define CHUNK_UNITS 128u /* of a map, that are read at once: 32 KiB of code */
#define CHUNKS_MAX 128u  /* 4 MiB: no method is as long */

int dotnet_read_word(const struct dotnet_reader *k, uint64_t at, uint64_t *ret)
{
	return interpreter_read(k->memory, at, ret, sizeof(*ret));
}

int dotnet_read_field(const struct dotnet_reader *k, uint64_t object, enum dotnet_field field,
		      uint64_t *ret)
{
	return dotnet_read_word(k, object + k->layout->at[field], ret);
}

/* ---- ranges ---- */

/* The first fragment of the list that an address belongs to; 0: there is none. */
static int find_fragments(const struct dotnet_reader *k, uint64_t address, uint64_t *ret)
{
	uint64_t at = k->bias + k->layout->code_map;

	for (unsigned level = LEVELS; level-- > 0;) {
		uint64_t index = address >> (LAST_LEVEL_BITS + level * LEVEL_BITS);
		int r;

		index &= (1U << LEVEL_BITS) - 1;
		r = dotnet_read_word(k, at + index * sizeof(uint64_t), &at);
		if (r < 0)
			return r;
		at &= ~COLLECTIBLE;
		if (at == 0)
			break;
	}
	*ret = at;
	return 0;
}

static int find_section(const struct dotnet_reader *k, uint64_t address, uint64_t *ret)
{
	uint64_t fragment, begin, end;
	int r = find_fragments(k, address, &fragment);

	for (unsigned i = 0; r == 0 && fragment != 0 && i < FRAGMENTS_MAX; i++) {
		r = dotnet_read_field(k, fragment, DOTNET_FRAGMENT_BEGIN, &begin);
		if (r == 0)
			r = dotnet_read_field(k, fragment, DOTNET_FRAGMENT_END, &end);
		if (r == 0 && address >= begin && address < end)
			return dotnet_read_field(k, fragment, DOTNET_FRAGMENT_SECTION, ret);
		if (r == 0)
			r = dotnet_read_field(k, fragment, DOTNET_FRAGMENT_NEXT, &fragment);
		fragment &= ~COLLECTIBLE;
	}
	return r < 0 ? r : -ENOENT;
}

/* ---- maps of methods ---- */

/* The entry of a bucket in its unit. */
static uint32_t entry_of(uint32_t unit, uint64_t bucket)
{
	return unit >> (UNIT_BUCKETS - 1 - bucket % UNIT_BUCKETS) * 4 & 15;
}

/* Of a direct map: whether the unit has an offset, and which. */
static bool is_reference(uint32_t unit)
{
	return (unit & 15) > ENTRY_MAX;
}

static uint64_t reference_of(uint32_t unit)
{
	return (unit & ~15U) + ((unit & 15) - ENTRY_MAX - 1) * STEP_BYTES;
}

/* The last method that begins in the unit up to this bucket. Sets its offset in the heap. */
static bool find_in_unit(uint32_t unit, uint64_t number, int last_bucket, uint64_t *ret)
{
	for (int i = last_bucket; i >= 0; i--) {
		uint32_t entry = entry_of(unit, (uint64_t)i);

		if (entry == 0)
			continue;
		*ret = number * UNIT_BYTES + (uint64_t)i * BUCKET_BYTES +
		       (uint64_t)(entry - 1) * STEP_BYTES;
		return entry <= ENTRY_MAX;
	}
	return false;
}

static int read_unit(const struct dotnet_reader *k, uint64_t map, uint64_t number, uint32_t *ret)
{
	return interpreter_read(k->memory, map + number * sizeof(*ret), ret, sizeof(*ret));
}

/* In the unit that an offset is in, as far as that is before it. */
static bool find_before(uint32_t unit, uint64_t offset, uint64_t *ret)
{
	uint64_t bucket = offset / BUCKET_BYTES;
	int last = (int)(bucket % UNIT_BUCKETS);
	uint32_t entry = entry_of(unit, bucket);

	/* no two methods begin in a bucket, so its own one may begin behind the offset */
	if (entry > 0 && (entry - 1) * STEP_BYTES > offset % BUCKET_BYTES)
		last--;
	return find_in_unit(unit, offset / UNIT_BYTES, last, ret);
}

static int search_backward(const struct dotnet_reader *k, uint64_t map, uint64_t end, uint64_t *ret)
{
	uint32_t units[CHUNK_UNITS];

	for (unsigned chunk = 0; chunk < CHUNKS_MAX && end > 0; chunk++) {
		uint64_t n = end < CHUNK_UNITS ? end : CHUNK_UNITS;
		int r = interpreter_read(k->memory, map + (end - n) * sizeof(units[0]), units,
					 n * sizeof(units[0]));

		if (r < 0)
			return r;
		for (; n > 0; n--, end--) {
			if (units[n - 1] != 0)
				return find_in_unit(units[n - 1], end - 1, UNIT_BUCKETS - 1, ret)
					       ? 0
					       : -EBADMSG;
		}
	}
	return -ENOENT;
}

static int search_direct(const struct dotnet_reader *k, uint64_t map, uint64_t number,
			 uint64_t *ret)
{
	uint32_t unit;
	int r;

	if (number == 0)
		return -ENOENT;
	r = read_unit(k, map, number - 1, &unit);
	if (r < 0)
		return r;
	if (is_reference(unit)) {
		*ret = reference_of(unit);
		return 0;
	}
	return find_in_unit(unit, number - 1, UNIT_BUCKETS - 1, ret) ? 0 : -ENOENT;
}

/* Where the method begins that has the offset in a heap. */
static int find_start(const struct dotnet_reader *k, uint64_t map, uint64_t offset, uint64_t *ret)
{
	bool direct = k->layout->method_map == DOTNET_MAP_DIRECT;
	uint64_t number = offset / UNIT_BYTES;
	uint32_t unit;
	int r = read_unit(k, map, number, &unit);

	if (r < 0)
		return r;
	if (direct && is_reference(unit)) {
		*ret = reference_of(unit);
		return *ret <= offset ? 0 : -EBADMSG;
	}
	if (find_before(unit, offset, ret))
		return 0;
	return direct ? search_direct(k, map, number, ret) : search_backward(k, map, number, ret);
}

/* ---- code ---- */

static int find_in_heap(const struct dotnet_reader *k, uint64_t section, uint64_t address,
			struct dotnet_code *ret)
{
	uint64_t heap, base, map, start, header;
	int r = dotnet_read_field(k, section, DOTNET_SECTION_HEAP, &heap);

	if (r == 0)
		r = dotnet_read_field(k, heap, DOTNET_HEAP_BASE, &base);
	if (r == 0)
		r = dotnet_read_field(k, heap, DOTNET_HEAP_MAP, &map);
	if (r == 0 && base > address)
		r = -EBADMSG;
	if (r == 0)
		r = find_start(k, map, address - base, &start);
	if (r == 0)
		r = dotnet_read_word(k, base + start - sizeof(uint64_t), &header);
	if (r < 0)
		return r;
	if (header <= DOTNET_STUBS_MAX) {
		*ret = (struct dotnet_code){.kind = DOTNET_CODE_STUB, .stub = (uint8_t)header};
		return 0;
	}
	*ret = (struct dotnet_code){
		.kind = DOTNET_CODE_METHOD_BODY, .start = base + start, .header = header};
	return dotnet_read_field(k, header, DOTNET_CODE_METHOD, &ret->method);
}

int dotnet_code_find(const struct dotnet_reader *k, uint64_t address, struct dotnet_code *ret)
{
	uint64_t section;
	uint32_t flags;
	int r = find_section(k, address, &section);

	if (r == 0)
		r = interpreter_read(k->memory, section + k->layout->at[DOTNET_SECTION_FLAGS],
				     &flags, sizeof(flags));
	if (r < 0)
		return r;
	if (flags & SECTION_CODE_HEAP)
		return find_in_heap(k, section, address, ret);
	*ret = (struct dotnet_code){.kind = flags & SECTION_STUBS ? DOTNET_CODE_STUB
								  : DOTNET_CODE_IMAGE};
	return 0;
}
