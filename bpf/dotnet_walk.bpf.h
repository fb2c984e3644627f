/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * How code of .NET that has no file leaves its frame: methods that were compiled at run time, and
 * images that the runtime has copied into memory of its own.
 *
 * Optimised methods that are small keep no frame pointer, so their callers cannot be found by it.
 * But the runtime keeps for each method what Windows' unwinder would need (UNWIND_INFO): what the
 * prologue does, step by step. An address leads by the runtime's map of code ranges to the method's
 * heap, by the heap's map to where the method begins, and the header in front of that has a table
 * of its functions. An image has such a table in its PE header. What it says becomes a rule as a
 * table of a file has them. Epilogues are recognised by their instructions.
 *
 * Rules are remembered among those of files (unwind_lookup.bpf.h), by the address and by the code
 * that is there.
 *
 * node-agent/interpreter/dotnet/dotnet_code.c has the format of the runtime's maps, and
 * node-agent/unwind/cfi/cfi_dotnet.c makes the same rules for the files of assemblies.
 */
#ifndef BPF_DOTNET_WALK_BPF_H
#define BPF_DOTNET_WALK_BPF_H

#include "chain_state.bpf.h"
#include "unwind_rules.bpf.h"

#if defined(__TARGET_ARCH_x86)

#define DOTNET_LEVELS 5
#define DOTNET_FRAGMENTS 16 /* of a piece of the map, at most */
#define DOTNET_UNITS 32     /* of a heap's map, that are read at once; a power of two */
#define DOTNET_SCANS 32     /* of so many: 256 KiB of code */
#define DOTNET_STUBS_MAX 15 /* in front of a method is an address, in front of a stub a number */
#define DOTNET_SEARCH 20    /* log2 of the functions of an image, at most */
#define DOTNET_CODES 32     /* of a prologue, at most; a power of two */
#define DOTNET_BYTES 32     /* of code; a power of two */
#define DOTNET_BEFORE 8     /* of these, those in front of the instruction */
#define DOTNET_POPS 8

#define DOTNET_SECTION_IS_HEAP 2
#define DOTNET_SECTION_IS_STUBS 4

#define PE_HEADER_AT 0x3c
#define PE_HEADERS_BYTES 4096
#define PE_EXCEPTIONS 160 /* from the header on, in a PE32+ */

struct dotnet_function {
	__u32 begin, end, unwind; /* relative to a base */
};

struct dotnet_fragment {
	__u64 next, begin, end, section;
};

struct dotnet_info {
	__u8 version; /* and flags */
	__u8 prologue_bytes;
	__u8 n_codes;
	__u8 fp; /* number of the register, and its offset */
};

struct dotnet_scratch {
	struct dotnet_fragment fragment;
	__u64 map;       /* of a heap */
	__u64 start;     /* of a method */
	__u64 base;      /* of the heap; then what functions are relative to */
	__u64 functions; /* address of the first one */
	__u32 n_functions;
	struct dotnet_function function; /* that has the address */
	__u32 offset;                    /* of the address in it; -1: behind its prologue */
	struct dotnet_info info;
	/* What the prologue has put on the stack, in words from the stack pointer on. */
	__u32 words;
	__u32 fp_at;      /* where the frame pointer points to; see has_fp */
	__u32 fp_slot_at; /* where the caller's is; see saves_fp */
	bool has_fp, saves_fp;
	__u32 found; /* a unit that is not 0: 1 + its index */
	__u32 next;  /* of the bytes */
	__u32 n_pops;
	__u32 units[DOTNET_UNITS];
	__u16 codes[DOTNET_CODES];
	__u8 bytes[DOTNET_BYTES];
	struct unwind_rule rule;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct dotnet_scratch);
	__uint(max_entries, 1);
} dotnet_scratch SEC(".maps");

static __always_inline struct dotnet_scratch *get_dotnet_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&dotnet_scratch, &zero);
}

static __always_inline bool dotnet_read(void *to, __u32 bytes, __u64 at)
{
	return !bpf_probe_read_user(to, bytes, (void *)at);
}

/* ---- which code ---- */

int dotnet_find_fragment(__u64 address);

/* Finds the code range of an address. A global function, like those below: it is verified once. */
__noinline int dotnet_find_fragment(__u64 address)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	struct chain_scratch *c = get_chain_scratch();
	__u64 at;

	if (!c || !d)
		return 0;
	at = c->layout.dotnet.code_map;
#pragma clang loop unroll(full)
	for (int level = DOTNET_LEVELS - 1; level >= 0; level--) {
		__u64 index = address >> (17 + level * 8) & 255;

		if (!dotnet_read(&at, sizeof(at), at + index * sizeof(at)))
			return 0;
		at &= ~1ULL;
	}
	d->fragment.next = at;
#pragma clang loop unroll(disable)
	for (int i = 0; i < DOTNET_FRAGMENTS; i++) {
		if (!dotnet_read(&d->fragment, sizeof(d->fragment), d->fragment.next & ~1ULL))
			return 0;
		if (address - d->fragment.begin < d->fragment.end - d->fragment.begin)
			return 1;
	}
	return 0;
}

/* 1 if a word is not 0, without a branch. */
static __always_inline __u32 dotnet_is_set(__u32 word)
{
	__u64 w = word;

	w = (w - 1) >> 63;
	barrier_var(w); /* keeps clang from making it a branch */
	return 1 - (__u32)w;
}

/*
 * Where the last method begins, relative to the heap, that a unit has; n says which unit it is, and
 * its entries from 7 - skip on are not those of the unit any more.
 */
static __always_inline __u64 dotnet_start_in(__u32 unit, __u64 n, __u32 skip)
{
	__u32 low = unit & -unit, k;

	k = dotnet_is_set(low & 0xffff0000) * 4 + dotnet_is_set(low & 0xff00ff00) * 2 +
	    dotnet_is_set(low & 0xf0f0f0f0);
	return n * 256 + (7 - skip - k) * 32 + ((unit >> 4 * (k & 7) & 15) - 1) * 4;
}

int dotnet_find_heap(__u64 address);

/* The map of the heap that has the address. */
__noinline int dotnet_find_heap(__u64 address)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	struct chain_scratch *c = get_chain_scratch();
	const struct chain_dotnet *l;
	__u64 heap;

	if (!c || !d)
		return 0;
	l = &c->layout.dotnet;
	return dotnet_read(&heap, sizeof(heap), d->fragment.section + l->section_heap) &&
	       dotnet_read(&d->base, sizeof(d->base), heap + l->heap_base) &&
	       dotnet_read(&d->map, sizeof(d->map), heap + l->heap_map) && d->base <= address;
}

int dotnet_scan(__u64 end);

/* 1 + the index of the last unit before `end` that is not 0, of those that are read at once. */
__noinline int dotnet_scan(__u64 end)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	__u64 from = end > DOTNET_UNITS ? end - DOTNET_UNITS : 0;

	if (!d)
		return 0;
	d->found = 0;
	if (!dotnet_read(d->units, sizeof(d->units), d->map + from * sizeof(d->units[0])))
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < DOTNET_UNITS; i++) {
		if (from + i < end && d->units[unwind_masked(i, DOTNET_UNITS)])
			d->found = i + 1;
	}
	return (int)d->found;
}

int dotnet_find_backward(__u64 end);

/* Finds the last method that begins in a unit before this one. */
__noinline int dotnet_find_backward(__u64 end)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	__u64 from, found;

	if (!d)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < DOTNET_SCANS; i++) {
		from = end > DOTNET_UNITS ? end - DOTNET_UNITS : 0;
		found = (__u32)dotnet_scan(end);
		if (found) {
			found--;
			d->start = dotnet_start_in(d->units[unwind_masked(found, DOTNET_UNITS)],
						   from + found, 0);
			return 1;
		}
		if (from == 0)
			break;
		end = from;
	}
	return 0;
}

static __always_inline bool dotnet_is_reference(__u32 unit)
{
	return (unit & 15) > 8;
}

static __always_inline __u64 dotnet_reference(__u32 unit)
{
	return (unit & ~15U) + ((unit & 15) - 9) * 4;
}

int dotnet_find_direct(__u64 number);

/* The same in a map with references: of the unit before this one. */
__noinline int dotnet_find_direct(__u64 number)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	__u32 unit;

	if (!d || number == 0 ||
	    !dotnet_read(&unit, sizeof(unit), d->map + (number - 1) * sizeof(unit)) || !unit)
		return 0;
	d->start = dotnet_is_reference(unit) ? dotnet_reference(unit)
					     : dotnet_start_in(unit, number - 1, 0);
	return 1;
}

int dotnet_find_near(__u64 offset);

/* The same in the unit that the offset in the heap is in. */
__noinline int dotnet_find_near(__u64 offset)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	struct chain_scratch *c = get_chain_scratch();
	__u32 unit, skip = 7 - (offset / 32 & 7);

	if (!c || !d || !dotnet_read(&unit, sizeof(unit), d->map + offset / 256 * sizeof(unit)))
		return 0;
	if (c->layout.dotnet.direct && dotnet_is_reference(unit)) {
		d->start = dotnet_reference(unit);
		return 1;
	}
	unit >>= 4 * skip;
	if ((unit & 15) > (offset & 31) / 4 + 1) /* it begins after the address */
		unit &= ~15U;
	d->start = dotnet_start_in(unit, offset / 256, skip);
	return unit != 0;
}

int dotnet_read_header(void);

/* The functions of the method that was found. */
__noinline int dotnet_read_header(void)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	struct chain_scratch *c = get_chain_scratch();
	const struct chain_dotnet *l;
	__u64 header;
	__u32 first;

	if (!c || !d)
		return 0;
	l = &c->layout.dotnet;
	d->start += d->base;
	if (!dotnet_read(&header, sizeof(header), d->start - sizeof(header)) ||
	    header <= DOTNET_STUBS_MAX ||
	    !dotnet_read(&d->n_functions, sizeof(d->n_functions), header + l->n_functions) ||
	    !dotnet_read(&first, sizeof(first), header + l->functions))
		return 0;
	d->functions = header + l->functions;
	d->base = d->start - first;
	return 1;
}

static __always_inline bool dotnet_find_method(struct dotnet_scratch *d,
					       const struct chain_scratch *c, __u64 address)
{
	__u64 offset;

	if (!dotnet_find_heap(address))
		return false;
	offset = address - d->base;
	if (!dotnet_find_near(offset) &&
	    !(c->layout.dotnet.direct ? dotnet_find_direct(offset / 256)
				      : dotnet_find_backward(offset / 256)))
		return false;
	return dotnet_read_header();
}

int dotnet_find_image(void);

/* Likewise, of an image. */
__noinline int dotnet_find_image(void)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	struct {
		__u32 at, bytes;
	} table;
	__u32 header;

	if (!d)
		return 0;
	d->base = d->fragment.begin;
	if (!dotnet_read(&header, sizeof(header), d->base + PE_HEADER_AT) ||
	    header > PE_HEADERS_BYTES ||
	    !dotnet_read(&table, sizeof(table), d->base + header + PE_EXCEPTIONS))
		return 0;
	d->functions = d->base + table.at;
	d->n_functions = table.bytes / sizeof(d->function);
	return 1;
}

int dotnet_find_function(__u64 address);

/* The one that has the address. */
__noinline int dotnet_find_function(__u64 address)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	__u32 low = 0, left, begin, half, rva;

	if (!d)
		return 0;
	left = d->n_functions;
	rva = (__u32)(address - d->base);
	if (left == 0 || left >= 1U << DOTNET_SEARCH)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < DOTNET_SEARCH; i++) {
		if (left <= 1)
			break;
		half = left / 2;
		if (!dotnet_read(&begin, sizeof(begin),
				 d->functions + (__u64)(low + half) * sizeof(d->function)))
			return 0;
		low += half & (__u32)unwind_if_positive((__s64)rva - begin);
		left -= half;
	}
	if (!dotnet_read(&d->function, sizeof(d->function),
			 d->functions + (__u64)low * sizeof(d->function)))
		return 0;
	return rva - d->function.begin < d->function.end - d->function.begin;
}

/* ---- its prologue ---- */

enum dotnet_operation {
	DOTNET_PUSH = 0,
	DOTNET_ALLOCATE_LARGE = 1,
	DOTNET_ALLOCATE = 2,
	DOTNET_SET_FP = 3,
	DOTNET_SAVE = 4,
	DOTNET_SAVE_FAR = 5,
	DOTNET_SAVE_XMM = 8,
	DOTNET_SAVE_XMM_FAR = 9,
	DOTNET_SET_FP_LARGE = 11,
};

#define DOTNET_RBP 5
#define DOTNET_CHAINED (4 << 3)
#define DOTNET_SLOTS_1 (1 << DOTNET_PUSH | 1 << DOTNET_ALLOCATE | 1 << DOTNET_SET_FP)
#define DOTNET_SLOTS_2 (1 << DOTNET_ALLOCATE_LARGE | 1 << DOTNET_SAVE | 1 << DOTNET_SAVE_XMM)
#define DOTNET_SLOTS_3 (1 << DOTNET_SAVE_FAR | 1 << DOTNET_SAVE_XMM_FAR | 1 << DOTNET_SET_FP_LARGE)

/* How many slots an operation has; 0: it is not known. */
static __always_inline __u32 dotnet_slots_of(__u32 operation, __u32 info)
{
	if (operation == DOTNET_ALLOCATE_LARGE && info)
		return 3;
	return (DOTNET_SLOTS_1 >> operation & 1) + (DOTNET_SLOTS_2 >> operation & 1) * 2 +
	       (DOTNET_SLOTS_3 >> operation & 1) * 3;
}

int dotnet_undo(__u32 number);

/*
 * Codes are those of the prologue from its end to its start: undoes the one in this slot, if it was
 * executed. Returns how many slots it has; 0: it is not known.
 */
__noinline int dotnet_undo(__u32 number)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	__u32 code, operation, info, n, behind, offset;

	if (!d)
		return 0;
	code = d->codes[unwind_masked(number, DOTNET_CODES)];
	operation = code >> 8 & 15;
	info = code >> 12;
	n = dotnet_slots_of(operation, info);
	if (d->offset < (code & 255))
		return (int)n;
	behind = d->codes[unwind_masked(number + 1, DOTNET_CODES)];
	if (n == 3)
		behind |= (__u32)d->codes[unwind_masked(number + 2, DOTNET_CODES)] << 16;
	switch (operation) {
	case DOTNET_PUSH:
		if (info == DOTNET_RBP) {
			d->saves_fp = true;
			d->fp_slot_at = d->words;
		}
		d->words++;
		break;
	case DOTNET_ALLOCATE:
		d->words += info + 1;
		break;
	case DOTNET_ALLOCATE_LARGE:
		d->words += n == 3 ? behind / UNWIND_WORD_BYTES : behind;
		break;
	case DOTNET_SET_FP:
	case DOTNET_SET_FP_LARGE:
		offset = n == 3 ? behind : d->info.fp >> 4;
		if ((d->info.fp & 15) != DOTNET_RBP)
			return 0;
		d->has_fp = true;
		d->fp_at = d->words + 2 * offset;
		break;
	case DOTNET_SAVE:
	case DOTNET_SAVE_FAR:
		if (info == DOTNET_RBP) {
			d->saves_fp = true;
			d->fp_slot_at = d->words + (n == 3 ? behind / UNWIND_WORD_BYTES : behind);
		}
		break;
	}
	return (int)n;
}

int dotnet_read_info(__u64 address);

/* Reads what is known of the function's prologue. */
__noinline int dotnet_read_info(__u64 address)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	struct scratch *s = get_scratch();
	__u64 at;
	__u32 n;

	if (!d || !s)
		return 0;
	at = d->base + d->function.unwind;
	if (!dotnet_read(&d->info, sizeof(d->info), at) || d->info.version & DOTNET_CHAINED)
		return 0;
	n = d->info.n_codes;
	if (n > DOTNET_CODES ||
	    !dotnet_read(d->codes, n * sizeof(d->codes[0]), at + sizeof(d->info)))
		return 0;
	d->offset = (__u32)(address - d->base) - d->function.begin;
	if (!s->walk.exact || d->offset >= d->info.prologue_bytes)
		d->offset = ~0U;
	return 1;
}

int dotnet_undo_all(void);

/* Undoes what the prologue has done. */
__noinline int dotnet_undo_all(void)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	__u32 at = 0, n;

	if (!d)
		return 0;
	d->words = 0;
	d->has_fp = d->saves_fp = false;
#pragma clang loop unroll(disable)
	for (int i = 0; i < DOTNET_CODES; i++) {
		if (at >= d->info.n_codes)
			return at == d->info.n_codes;
		n = (__u32)dotnet_undo(at);
		if (n == 0 || n > 3)
			return 0;
		at += n;
	}
	return at == d->info.n_codes;
}

/* ---- its epilogue ---- */

#define DOTNET_POP 0x58 /* and the number of the register */
#define DOTNET_POP_MASK 0xf8

static __always_inline __u8 dotnet_byte(const struct dotnet_scratch *d, __u32 i)
{
	return d->bytes[unwind_masked(i, DOTNET_BYTES)];
}

/* Whether the code at a byte returns, or jumps to another method. */
static __always_inline bool dotnet_jumps(const struct dotnet_scratch *d, __u32 i)
{
	__u8 one = dotnet_byte(d, i), two = dotnet_byte(d, i + 1);

	if (one == 0x48) { /* a prefix that compilers add to jumps of epilogues */
		one = two;
		two = dotnet_byte(d, i + 2);
	}
	return one == 0xe9 || one == 0xeb || (one == 0xff && (two == 0x25 || (two & 0xf8) == 0xe0));
}

/* Whether the instructions before this one have released a frame without a frame pointer. */
static __always_inline bool dotnet_has_left(const struct dotnet_scratch *d)
{
	const __u8 *before = d->bytes + DOTNET_BEFORE;

	return (before[-1] & DOTNET_POP_MASK) == DOTNET_POP ||
	       (before[-4] == 0x48 && before[-3] == 0x83 && before[-2] == 0xc4) ||
	       (before[-7] == 0x48 && before[-6] == 0x81 && before[-5] == 0xc4);
}

int dotnet_leave(__u64 ip);

/* If the code that was interrupted is in an epilogue, less of the frame is left. */
__noinline int dotnet_leave(__u64 ip)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	__u32 slot, i, prefix;
	bool returns;

	if (!d || !dotnet_read(d->bytes, sizeof(d->bytes), ip - DOTNET_BEFORE))
		return 0;
	d->next = DOTNET_BEFORE;
	d->n_pops = 0;
#pragma clang loop unroll(disable)
	for (int n = 0; n < DOTNET_POPS; n++) {
		i = d->next;
		prefix = dotnet_byte(d, i) == 0x41;
		if ((dotnet_byte(d, i + prefix) & DOTNET_POP_MASK) != DOTNET_POP)
			break;
		d->next = i + prefix + 1;
		d->n_pops++;
	}
	returns = dotnet_byte(d, d->next) == 0xc3;
	if (!returns && !dotnet_jumps(d, d->next))
		return 0;
	if (d->has_fp &&
	    (d->n_pops > 0 || (!returns && d->bytes[DOTNET_BEFORE - 1] != DOTNET_POP + DOTNET_RBP)))
		return 0;
	if (d->n_pops == 0 && !returns && !dotnet_has_left(d))
		return 0;
	slot = d->words - d->fp_slot_at; /* below the return address */
	d->has_fp = false;
	d->saves_fp = d->saves_fp && slot <= d->n_pops;
	d->fp_slot_at = d->n_pops - slot;
	d->words = d->n_pops;
	return 1;
}

/* ---- the rule ---- */

#define DOTNET_FRAME_WORDS 0x7fff

/* The rule at an address, which was not seen lately. */
static __always_inline bool dotnet_make_rule(struct dotnet_scratch *d,
					     const struct chain_scratch *c, const struct scratch *s,
					     __u64 address)
{
	__u32 flags, cfa;

	if (!dotnet_find_fragment(address) ||
	    !dotnet_read(&flags, sizeof(flags),
			 d->fragment.section + c->layout.dotnet.section_flags) ||
	    flags & DOTNET_SECTION_IS_STUBS)
		return false;
	if (flags & DOTNET_SECTION_IS_HEAP ? !dotnet_find_method(d, c, address)
					   : !dotnet_find_image())
		return false;
	if (!dotnet_find_function(address) || !dotnet_read_info(address) || !dotnet_undo_all())
		return false;
	if (s->walk.exact && d->offset == ~0U)
		dotnet_leave(address);
	cfa = d->words + 1;
	if (cfa > DOTNET_FRAME_WORDS || (d->saves_fp && d->fp_slot_at >= d->words) ||
	    (d->has_fp && d->fp_at >= cfa))
		return false;
	d->rule.base = d->has_fp ? UNWIND_CFA_FP : UNWIND_CFA_SP;
	d->rule.how = d->saves_fp ? UNWIND_FP_AT_CFA : UNWIND_FP_SAME;
	d->rule.cfa = (__u16)(d->has_fp ? cfa - d->fp_at : cfa);
	d->rule.fp = (__s16)(d->fp_slot_at - cfa);
	d->rule.aux = 0;
	if (!d->saves_fp)
		d->rule.fp = 0;
	return true;
}

/* What a rule is remembered by: above all keys of tables, for a million generations. */
static __always_inline __u64 dotnet_key(const struct chain_scratch *c, __u64 address)
{
	__u64 key = chain_word_at(address & ~7ULL) * 0x9e3779b97f4a7c15;

	return (key ^ key >> 32 ^ address << 3 ^ (__u64)c->tgid << 40) | 1ULL << 63;
}

/* See unwind_rules.bpf.h. */
__noinline int generated_rule(__u64 address)
{
	struct dotnet_scratch *d = get_dotnet_scratch();
	struct chain_scratch *c = get_chain_scratch();
	struct scratch *s = get_scratch();
	struct unwind_recent *recent;
	__u64 key;

	if (!c || !d || !s || !(c->layout.flags & CHAIN_BY_ADDRESS) || !c->layout.dotnet.code_map)
		return -1;
	key = dotnet_key(c, address);
	recent = unwind_recent_of(s, key);
	if (recent->key != key) {
		if (!dotnet_make_rule(d, c, s, address))
			return -1;
		recent->key = key;
		recent->rule = d->rule;
	}
	return (int)unwind_recent_index(key);
}

#else

__noinline int generated_rule(__u64 address)
{
	(void)address;
	return -1; /* all of it keeps frame pointers */
}

#endif
#endif /* BPF_DOTNET_WALK_BPF_H */
