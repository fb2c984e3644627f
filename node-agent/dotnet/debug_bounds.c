/*
 * Entries ascend by offset in the machine code. Each is the difference to the one before, an offset
 * in the intermediate language, and flags that do not matter here; the code up to the next entry
 * comes from there. Three values are no offsets: the compiler has made the code of prologs and
 * epilogs itself, and some that it calls unmapped.
 *
 * A prolog stands for what follows it, as handlers of exceptions have some of their own in the
 * middle of a method; other code of the compiler for what is before it.
 *
 * There are entries where the evaluation stack is empty, so not for a statement to which the C#
 * compiler has left a variable on the stack: it has the line of the one before. .NET's own stack
 * traces are no better.
 */
#include "node-agent/dotnet/debug_bounds.h"

#include <errno.h>

#define CHUNK_BYTES 256u /* aligned, as the page after it may not be mapped */
#define BOUNDS_MAX_BYTES 524288u
#define NIBBLES_MAX 11u /* of a number of 32 bits */
#define BITS_MAX 32u

/* Offsets are written with this added, so that the special values come first. */
#define IL_BIAS 3u
#define IL_EPILOG 0u
#define IL_PROLOG 1u
#define IL_UNMAPPED 2u

#define FLAG_PATCHPOINT 1u
#define FLAG_RICH 2u
/* struct PatchpointInfo: how many locals it has, and its size without those. */
#define PATCHPOINT_LOCALS_AT(form) ((form) == DEBUG_BOUNDS_PACKED ? 16u : 8u)
#define PATCHPOINT_BYTES(form) ((form) == DEBUG_BOUNDS_PACKED ? 40u : 32u)
#define LOCALS_MAX 65536u
#define HAS_MORE_BOUNDS UINT32_MAX /* .NET 10: those of code that a profiler has changed */
#define IS_FAT 0u                  /* .NET 11: more parts follow */

/* After the first error, all that is read is 0. */
struct bits {
	const struct byte_source *src;
	uint64_t at;  /* of the next byte */
	uint64_t end; /* exclusive */
	uint64_t left;
	unsigned n_left; /* bits of the bytes before, in left */
	uint64_t chunk_at;
	size_t chunk_bytes;
	int error;
	uint8_t chunk[CHUNK_BYTES];
};

static void begin(struct bits *b, uint64_t at, uint64_t max_bytes)
{
	b->at = at;
	b->end = at + max_bytes;
	b->left = 0;
	b->n_left = 0;
	b->error = at > UINT64_MAX - max_bytes ? -EBADMSG : b->error;
}

static uint8_t next_byte(struct bits *b)
{
	if (b->error == 0 && b->at >= b->end)
		b->error = -EBADMSG;
	if (b->error < 0)
		return 0;
	if (b->at < b->chunk_at || b->at - b->chunk_at >= b->chunk_bytes) {
		size_t n = CHUNK_BYTES - b->at % CHUNK_BYTES;

		if (b->at < b->src->size_bytes && n > b->src->size_bytes - b->at)
			n = b->src->size_bytes - b->at;
		b->chunk_at = b->at;
		b->chunk_bytes = n;
		b->error = byte_source_read(b->src, b->at, b->chunk, n);
		if (b->error < 0)
			return 0;
	}
	return b->chunk[b->at++ - b->chunk_at];
}

/* The lowest bits of a byte come first. */
static uint32_t next_bits(struct bits *b, unsigned n)
{
	uint64_t value;

	while (b->n_left < n) {
		b->left |= (uint64_t)next_byte(b) << b->n_left;
		b->n_left += 8;
	}
	value = b->left & ((UINT64_C(1) << n) - 1);
	b->left >>= n;
	b->n_left -= n;
	return b->error < 0 ? 0 : (uint32_t)value;
}

/* Three bits each, the highest first; the fourth one says that more follow. */
static uint32_t next_number(struct bits *b)
{
	uint32_t value = 0, nibble = 8;

	for (unsigned i = 0; nibble & 8 && b->error == 0; i++) {
		if (i == NIBBLES_MAX)
			b->error = -EBADMSG;
		nibble = next_bits(b, 4);
		value = value << 3 | (nibble & 7);
	}
	return b->error < 0 ? 0 : value;
}

/* What is left of a byte is not used. */
static void align(struct bits *b)
{
	b->left = 0;
	b->n_left = 0;
}

/* ---- the header ---- */

static void skip(struct bits *b, uint64_t bytes)
{
	begin(b, b->at + bytes, BOUNDS_MAX_BYTES);
}

static int skip_flags(struct bits *b, uint8_t form)
{
	uint8_t flags = next_byte(b);

	if (flags & ~(FLAG_PATCHPOINT | FLAG_RICH))
		return -EBADMSG;
	if (flags & FLAG_RICH) /* only if it was asked for when the program started */
		return -ENOTSUP;
	if (flags & FLAG_PATCHPOINT) {
		uint64_t start = b->at;
		uint32_t n;

		skip(b, PATCHPOINT_LOCALS_AT(form));
		n = next_bits(b, BITS_MAX);
		if (n > LOCALS_MAX)
			return -EBADMSG;
		begin(b, start + PATCHPOINT_BYTES(form) + n * sizeof(uint32_t), BOUNDS_MAX_BYTES);
	}
	return b->error;
}

/* Sets b to the entries. */
static int find_entries(struct bits *b, const struct debug_info *d)
{
	uint32_t bytes;
	int r = d->has_flags ? skip_flags(b, d->form) : 0;

	if (r < 0)
		return r;
	bytes = next_number(b);
	if (bytes == HAS_MORE_BOUNDS && d->form == DEBUG_BOUNDS_PACKED) {
		bytes = next_number(b);
		(void)next_number(b);
	} else if (bytes == IS_FAT && d->form == DEBUG_BOUNDS_PACKED_WIDE) {
		bytes = next_number(b);
		for (unsigned i = 0; i < 4; i++)
			(void)next_number(b);
	}
	(void)next_number(b);
	if (b->error < 0)
		return b->error;
	if (bytes == 0)
		return -ENOENT;
	if (bytes > BOUNDS_MAX_BYTES)
		return -EBADMSG;
	begin(b, b->at, bytes);
	return b->error;
}

/* ---- entries ---- */

struct widths {
	unsigned native, il, flags;
};

static void next_entry(struct bits *b, const struct widths *w, uint32_t *delta, uint32_t *il)
{
	if (w->native == 0) {
		*delta = next_number(b);
		*il = next_number(b);
		(void)next_number(b);
		return;
	}
	(void)next_bits(b, w->flags);
	*delta = next_bits(b, w->native);
	*il = next_bits(b, w->il);
}

static int read_widths(struct bits *b, const struct debug_info *d, struct widths *ret)
{
	*ret = (struct widths){0, 0, 0};
	if (d->form == DEBUG_BOUNDS_NIBBLES)
		return b->error;
	ret->native = next_number(b);
	ret->il = next_number(b);
	ret->flags = d->form == DEBUG_BOUNDS_PACKED ? 2 : 3;
	align(b);
	if (ret->native >= BITS_MAX || ret->il >= BITS_MAX)
		return -EBADMSG;
	ret->native++;
	ret->il++;
	return b->error;
}

static int find_entry(struct bits *b, const struct debug_info *d, uint32_t native_offset,
		      uint32_t *ret)
{
	uint32_t n = next_number(b), delta, il;
	bool found = false, wanted = false; /* an offset is known; the next one is needed */
	uint64_t native = 0;
	struct widths w;
	int r = read_widths(b, d, &w);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		next_entry(b, &w, &delta, &il);
		r = b->error;
		native += delta;
		if (r < 0 || (native > native_offset && !wanted))
			break;
		if (il >= IL_BIAS) {
			*ret = il - IL_BIAS;
			found = true;
			wanted = false;
			if (native > native_offset)
				break;
		} else if (native <= native_offset) {
			wanted = il == IL_PROLOG || (wanted && il == IL_UNMAPPED) || !found;
		}
	}
	if (r == 0 && !found &&
	    wanted) { /* what followed was optimised away, or begins the method */
		*ret = 0;
		found = true;
	}
	return r < 0 ? r : found ? 0 : -ENOENT;
}

int debug_bounds_find(const struct debug_info *d, uint32_t native_offset, uint32_t *ret_il_offset)
{
	UNINITIALIZED struct bits b;
	int r;

	if (d->form == DEBUG_BOUNDS_UNKNOWN || d->form > DEBUG_BOUNDS_PACKED_WIDE)
		return -ENOTSUP;
	b.src = d->src;
	b.chunk_at = 0;
	b.chunk_bytes = 0;
	b.error = 0;
	begin(&b, d->at, BOUNDS_MAX_BYTES);
	r = find_entries(&b, d);
	if (r == 0)
		r = find_entry(&b, d, native_offset, ret_il_offset);
	return r == -ENODATA ? -EBADMSG : r;
}
