/*
 * Compilers leave traces of where a function begins: direct calls lead there, and between functions
 * there is padding. But calls from far away are not seen here, and loops and the cases of a switch
 * are padded as well. So what follows the end of a way (a return, a jump, a trap, a call that never
 * returns) is a candidate, and is none
 *  - if a branch leads over it: no function begins inside of what a branch spans, unless it is
 *    known to begin there, or the branch is a jump at the end of a function, a tail call;
 *  - if a jump leads there while the stack is not as at a function's first instruction;
 *  - if its code takes more from the stack than it has put there.
 *
 * Code is decoded from its start on without regard to what is executed. On x86-64, a start in the
 * middle of an instruction is of no consequence: after a few of them, decoding falls into step.
 */
#include "common/elf/code_starts.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/x86_decode.h"

#define ALIGNMENT 16u
#define LOOKAHEAD_INSTRUCTIONS 64u
#define PROLOGUE_INSTRUCTIONS 6u
#define FIRST_SAVED 12u /* r12 to r15 are saved for callers */
/* Of functions that never return; those beyond are not known. */
#define NEVER_BUCKETS 1024u
#define CALL_BYTES 4u /* the shortest */

enum flow {
	FLOW_ON, /* to the next instruction */
	FLOW_PADDING,
	FLOW_CALL,
	FLOW_BRANCH, /* perhaps */
	FLOW_JUMP,
	FLOW_END, /* elsewhere, or nowhere */
};

/* One instruction. */
struct insn {
	uint32_t len; /* 0: none */
	enum flow flow;
	bool has_target, has_slot; /* the latter: the target is what is at this offset */
	bool is_trap;              /* padding that is never executed */
	bool is_near;              /* of a jump that linkers do not write */
	bool sets_base;            /* makes a frame pointer */
	int64_t target;            /* offset from the instruction's start */
	int32_t pushed;            /* bytes of the stack that it takes */
	bool sets_depth; /* the frame pointer's distance is added to nothing: pushed is the depth */
};

enum flag {
	FLAG_INSTRUCTION = 1,
	FLAG_CERTAIN = 2,   /* a function begins: a call leads here, or it is marked */
	FLAG_CANDIDATE = 4, /* nothing falls through to it */
	FLAG_PADDED = 8,
	FLAG_AFTER_CALL = 16, /* aligned, behind a call, which may return */
};

#define DEPTH_UNKNOWN INT16_MIN

struct call {
	uint32_t next; /* the first instruction behind it that is no padding */
	int32_t to;    /* what it calls, or where that is read; an offset */
};

struct finder {
	const uint8_t *code;
	uint32_t len;
	uint64_t address;
	uint16_t machine;
	uint8_t *flags;      /* enum flag, per byte */
	int16_t *depth;      /* at targets of jumps; likewise */
	int32_t *spans;      /* how many more spans cover this byte than the one before */
	uint32_t *n_certain; /* places up to this byte where functions certainly begin */
	struct call *calls;
	uint32_t n_calls;
	int32_t never[NEVER_BUCKETS]; /* what calls lead to that do not return; 0: free */
};

/* ---- instructions ---- */

/* What becomes of the stack. */
static void decode_x86_stack(struct insn *i, const struct x86_instruction *x)
{
	switch (x->kind) {
	case X86_PUSH:
	case X86_PUSH_OTHER:
		i->pushed = 8;
		break;
	case X86_POP:
	case X86_POP_OTHER:
		i->pushed = -8;
		break;
	case X86_MOVE:
		i->sets_base = x->to == X86_RBP && x->from == X86_RSP;
		i->sets_depth = x->to == X86_RSP && x->from == X86_RBP;
		i->pushed = i->sets_depth ? 8 : 0;
		break;
	case X86_ADD:
		i->pushed = x->to == X86_RSP ? -x->number : 0;
		break;
	case X86_ADDRESS:
		if (x->to == X86_RSP && x->base == X86_RSP)
			i->pushed = -x->number;
		i->sets_depth = x->to == X86_RSP && x->base == X86_RBP;
		if (i->sets_depth)
			i->pushed = 8 - x->number;
		break;
	case X86_LEAVE:
		i->sets_depth = true;
		break;
	default:
		break;
	}
}

static void decode_x86(struct insn *i, const uint8_t *code, size_t len)
{
	struct x86_instruction x;

	if (x86_decode(&x, code, len) == 0)
		return;
	i->len = x.len;
	i->target = (int64_t)x.len + x.number;
	switch (x.kind) {
	case X86_PADDING:
		i->flow = FLOW_PADDING;
		break;
	case X86_CALL:
		i->flow = FLOW_CALL;
		i->has_target = x.number != 0;
		break;
	case X86_CALL_INDIRECT:
		i->flow = FLOW_CALL;
		i->has_slot = x.base == X86_NEXT;
		break;
	case X86_BRANCH:
		i->flow = FLOW_BRANCH;
		i->has_target = true;
		break;
	case X86_JUMP:
		i->flow = FLOW_JUMP;
		i->has_target = true;
		i->is_near = x.len == 2;
		break;
	case X86_JUMP_INDIRECT:
	case X86_RETURN:
		i->flow = FLOW_END;
		break;
	case X86_TRAP:
		i->is_trap = code[0] == 0xcc;
		i->flow = i->is_trap ? FLOW_PADDING : FLOW_END;
		break;
	default:
		decode_x86_stack(i, &x);
	}
}

static int64_t extend(uint32_t value, unsigned bits)
{
	return (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
}

/* Facts are those of Arm's manual of the A64 instruction set. */
static void decode_arm64_stack(struct insn *i, uint32_t w)
{
	int32_t number = (int32_t)(w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0);
	int32_t words = (int32_t)extend(w >> 15 & 0x7f, 7);

	if ((w & 0xff8003ff) == 0xd10003ff) /* sub sp, sp, #number */
		i->pushed = number;
	else if ((w & 0xff8003ff) == 0x910003ff) /* add sp, sp, #number */
		i->pushed = -number;
	else if ((w & 0x7e8003e0) == 0x288003e0) /* stp, ldp, [sp, #n]! or [sp], #n */
		i->pushed = -words * (w & 1u << 31 ? 8 : 4);
	else if ((w & 0xffa007e0) == 0xf80007e0) /* str, ldr, likewise */
		i->pushed = -(int32_t)extend(w >> 12 & 0x1ff, 9);
}

static void decode_arm64(struct insn *i, const uint8_t *code, size_t len)
{
	uint32_t w;

	if (len < sizeof(w))
		return;
	memcpy(&w, code, sizeof(w));
	i->len = sizeof(w);
	if (w == 0xd503201f || w == 0) { /* nop, udf #0 */
		i->flow = FLOW_PADDING;
	} else if (w >> 26 == 0x25 || w >> 26 == 0x05) { /* bl, b */
		i->flow = w >> 31 ? FLOW_CALL : FLOW_JUMP;
		i->has_target = true;
		i->target = extend(w & 0x3ffffff, 26) * 4;
	} else if ((w & 0xff000000) == 0x54000000 || (w & 0x7e000000) == 0x34000000) {
		i->flow = FLOW_BRANCH; /* b.cond, cbz */
		i->has_target = true;
		i->target = extend(w >> 5 & 0x7ffff, 19) * 4;
	} else if ((w & 0x7e000000) == 0x36000000) { /* tbz */
		i->flow = FLOW_BRANCH;
		i->has_target = true;
		i->target = extend(w >> 5 & 0x3fff, 14) * 4;
	} else if ((w & 0xfffffc1f) == 0xd61f0000 || (w & 0xfffffc1f) == 0xd65f0000 ||
		   w == 0xd65f0bff || w == 0xd65f0fff || (w & 0xffe0001f) == 0xd4200000) {
		i->flow = FLOW_END; /* br, ret, also with authentication, brk */
	} else if (w == 0x910003fd || (w & 0xffc003ff) == 0x910003fd) {
		i->sets_base = true;
	} else {
		decode_arm64_stack(i, w);
	}
}

static struct insn decode(const struct finder *f, uint32_t at)
{
	struct insn i = {0};

	if (f->machine == EM_X86_64)
		decode_x86(&i, f->code + at, f->len - at);
	else
		decode_arm64(&i, f->code + at, f->len - at);
	return i;
}

static bool target_of(const struct finder *f, uint32_t at, const struct insn *i, uint32_t *ret)
{
	int64_t target = (int64_t)at + i->target;

	if (!i->has_target || target < 0 || target >= (int64_t)f->len)
		return false;
	*ret = (uint32_t)target;
	return true;
}

static uint32_t step_bytes(const struct finder *f, const struct insn *i)
{
	if (i->len > 0)
		return i->len;
	return f->machine == EM_X86_64 ? 1 : 4;
}

/* ---- what is seen at once ---- */

static bool is_aligned(const struct finder *f, uint32_t at)
{
	return (f->address + at) % ALIGNMENT == 0;
}

/*
 * Whether it is what functions alone begin with: what CPUs check indirect calls by, or a push of a
 * register that is saved for the caller.
 */
static bool is_marked(const struct finder *f, uint32_t at)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct x86_instruction i;
	uint32_t w;

	if (f->len - at < sizeof(w))
		return false;
	memcpy(&w, f->code + at, sizeof(w));
	if (f->machine == EM_AARCH64) /* paciasp, bti c, stp x29, x30, [sp, #-n]! */
		return w == 0xd503233f || w == 0xd503245f || (w & 0xffe07fff) == 0xa9a07bfd;
	if (memcmp(f->code + at, endbr64, sizeof(endbr64)) == 0)
		return true;
	return x86_decode(&i, f->code + at, f->len - at) > 0 && i.kind == X86_PUSH &&
	       (i.from == X86_RBX || i.from == X86_RBP || i.from >= FIRST_SAVED);
}

/* What is between two instructions. */
struct between {
	bool has_ended; /* what is before does not go on */
	bool is_call;   /* or is a call, which may return */
	bool is_padded;
	bool is_trap; /* by what is between functions only */
	int32_t to;
};

static void note_place(struct finder *f, uint32_t at, const struct between *b)
{
	uint8_t flags = 0;

	if (b->has_ended)
		flags = FLAG_CANDIDATE;
	else if (b->is_call && is_aligned(f, at))
		flags = FLAG_AFTER_CALL;
	if (flags != 0 && b->is_padded)
		flags |= FLAG_PADDED;
	if (flags != 0 && is_aligned(f, at) && (is_marked(f, at) || b->is_trap))
		flags |= FLAG_CERTAIN;
	f->flags[at] |= flags;
	if (b->is_call && b->to != 0)
		f->calls[f->n_calls++] = (struct call){.next = at, .to = b->to};
}

static void sweep(struct finder *f)
{
	struct between b = {.has_ended = true, .is_padded = true};
	uint32_t target;

	for (uint32_t at = 0; at < f->len;) {
		struct insn i = decode(f, at);

		if (i.len == 0 || i.flow == FLOW_PADDING) {
			b.is_padded = true;
			b.has_ended |= i.len == 0;
			b.is_trap |= i.is_trap;
			at += step_bytes(f, &i);
			continue;
		}
		f->flags[at] |= FLAG_INSTRUCTION;
		note_place(f, at, &b);
		b = (struct between){.has_ended = i.flow == FLOW_END || i.flow == FLOW_JUMP,
				     .is_call = i.flow == FLOW_CALL};
		if (b.is_call && (i.has_target || i.has_slot))
			b.to = (int32_t)(at + i.target);
		if (b.is_call && target_of(f, at, &i, &target))
			f->flags[target] |= FLAG_CERTAIN;
		at += i.len;
	}
}

/* The bucket of what a call leads to, or the free one for it. */
static int32_t *never_bucket(struct finder *f, int32_t to)
{
	uint32_t i = (uint32_t)to * UINT32_C(2654435761) % NEVER_BUCKETS;

	for (unsigned n = 0; n < 8; n++, i = (i + 1) % NEVER_BUCKETS) {
		if (f->never[i] == to || f->never[i] == 0)
			return &f->never[i];
	}
	return NULL;
}

/*
 * Behind a call that does not return, anything may follow. Where a function certainly begins there,
 * this is known of all calls that lead to the same place.
 */
static void find_never(struct finder *f)
{
	for (uint32_t i = 0; i < f->n_calls; i++) {
		const struct call *c = &f->calls[i];
		int32_t *bucket = NULL;

		if (f->flags[c->next] & FLAG_CERTAIN)
			bucket = never_bucket(f, c->to);
		if (bucket)
			*bucket = c->to;
	}
	for (uint32_t i = 0; i < f->n_calls; i++) {
		const struct call *c = &f->calls[i];
		int32_t *bucket = never_bucket(f, c->to);

		if (bucket && *bucket == c->to)
			f->flags[c->next] |= FLAG_CANDIDATE;
	}
}

static void count_certain(struct finder *f)
{
	for (uint32_t at = 0, n = 0; at < f->len; at++) {
		if (!(f->flags[at] & FLAG_INSTRUCTION))
			f->flags[at] &= (uint8_t)~FLAG_CERTAIN;
		n += !!(f->flags[at] & FLAG_CERTAIN);
		f->n_certain[at] = n;
		f->depth[at] = DEPTH_UNKNOWN;
	}
}

/* Whether a function certainly begins after `lo`, up to `hi`. */
static bool has_certain(const struct finder *f, uint32_t lo, uint32_t hi)
{
	return f->n_certain[hi] > f->n_certain[lo];
}

static void find_spans(struct finder *f)
{
	for (uint32_t at = 0; at < f->len;) {
		struct insn i = decode(f, at);
		uint32_t target, lo, hi;

		if ((i.flow == FLOW_BRANCH || i.flow == FLOW_JUMP) &&
		    target_of(f, at, &i, &target)) {
			bool may_be_call = i.flow == FLOW_JUMP && !i.is_near &&
					   f->flags[target] & FLAG_CANDIDATE;

			lo = at < target ? at : target;
			hi = at < target ? target : at;
			if (!may_be_call && !has_certain(f, lo, hi)) {
				f->spans[lo + 1]++;
				f->spans[hi + 1]--;
			}
		}
		at += step_bytes(f, &i);
	}
}

/* ---- one after the other ---- */

/* Whether the code takes more from the stack than it has put there. */
static bool takes_from_caller(const struct finder *f, uint32_t at)
{
	int32_t depth = 0;
	bool has_base = false;

	for (unsigned n = 0; n < LOOKAHEAD_INSTRUCTIONS && at < f->len; n++) {
		struct insn i = decode(f, at);

		if (i.len == 0)
			return true;
		if (i.sets_depth && !has_base)
			return true;
		depth = i.sets_depth ? i.pushed : depth + i.pushed;
		has_base |= i.sets_base;
		if (depth < 0)
			return true;
		if (i.flow == FLOW_END || i.flow == FLOW_JUMP)
			return false;
		at += i.len;
	}
	return false;
}

/* Whether the first instructions are those of a function with a frame. */
static bool makes_frame(const struct finder *f, uint32_t at)
{
	for (unsigned n = 0; n < PROLOGUE_INSTRUCTIONS && at < f->len; n++) {
		struct insn i = decode(f, at);

		if (i.len == 0 || i.flow == FLOW_END || i.flow == FLOW_JUMP || i.flow == FLOW_CALL)
			return false;
		if (i.pushed > 0 && !i.sets_depth)
			return true;
		at += i.len;
	}
	return false;
}

static bool is_start(const struct finder *f, uint32_t at, bool is_covered)
{
	uint8_t flags = f->flags[at];

	if (flags & FLAG_CERTAIN)
		return true;
	if (!(flags & (FLAG_CANDIDATE | FLAG_AFTER_CALL)) || is_covered)
		return false;
	if (f->depth[at] != DEPTH_UNKNOWN)
		return flags & FLAG_CANDIDATE && f->depth[at] == 0;
	if (!(flags & FLAG_PADDED) && !is_aligned(f, at))
		return false;
	/* what is behind a call may be where it returns to, or where exceptions are caught */
	if (flags & FLAG_AFTER_CALL &&
	    (flags & (FLAG_CANDIDATE | FLAG_PADDED)) != (FLAG_CANDIDATE | FLAG_PADDED) &&
	    !makes_frame(f, at))
		return false;
	return !takes_from_caller(f, at);
}

static int16_t add_depth(int16_t depth, const struct insn *i)
{
	int64_t sum = i->pushed;

	if (!i->sets_depth) {
		if (depth == DEPTH_UNKNOWN)
			return depth;
		sum += depth;
	}
	/* more is not needed than that it is not 0 */
	return (int16_t)(sum < 0 ? 0 : sum > INT16_MAX ? INT16_MAX : sum);
}

static int find_starts(struct finder *f, struct code_starts *ret, uint32_t max)
{
	uint32_t covered_to = 0, target;
	int16_t depth = DEPTH_UNKNOWN;
	int32_t spans = 0;

	for (uint32_t at = 0, next; at < f->len; at = next) {
		struct insn i = decode(f, at);

		next = at + step_bytes(f, &i);
		spans += f->spans[at];
		if (is_start(f, at, spans > 0 || at <= covered_to)) {
			if (ret->n == max)
				return -EFBIG;
			ret->items[ret->n++] = at;
			depth = 0;
			covered_to = 0;
		} else if (f->flags[at] & FLAG_CANDIDATE || depth == DEPTH_UNKNOWN) {
			depth = f->depth[at];
		}
		for (uint32_t p = at + 1; p < next && p < f->len; p++)
			spans += f->spans[p];
		depth = add_depth(depth, &i);
		if ((i.flow != FLOW_BRANCH && i.flow != FLOW_JUMP) ||
		    !target_of(f, at, &i, &target) || target <= at)
			continue;
		if (f->depth[target] == DEPTH_UNKNOWN)
			f->depth[target] = depth;
		if (i.flow == FLOW_JUMP && depth > 0 && !has_certain(f, at, target) &&
		    target > covered_to)
			covered_to = target;
	}
	return 0;
}

int code_starts_find(struct code_starts *ret, const uint8_t *code, size_t len, uint64_t address,
		     uint16_t machine)
{
	struct finder f = {.code = code, .len = (uint32_t)len, .address = address};
	uint32_t max = (uint32_t)len / 8 + 1;
	int r = -ENOMEM;

	*ret = (struct code_starts){0};
	if (machine != EM_X86_64 && machine != EM_AARCH64)
		return -ENOTSUP;
	if (len > CODE_STARTS_MAX_BYTES)
		return -EFBIG;
	f.machine = machine;
	f.flags = calloc(len + 1, sizeof(*f.flags));
	f.depth = calloc(len + 1, sizeof(*f.depth));
	f.spans = calloc(len + 2, sizeof(*f.spans));
	f.n_certain = calloc(len + 1, sizeof(*f.n_certain));
	f.calls = calloc(len / CALL_BYTES + 1, sizeof(*f.calls));
	ret->items = calloc(max, sizeof(*ret->items));
	if (f.calls && f.flags && f.depth && f.spans && f.n_certain && ret->items) {
		sweep(&f);
		find_never(&f);
		count_certain(&f);
		find_spans(&f);
		r = find_starts(&f, ret, max);
	}
	free(f.flags);
	free(f.depth);
	free(f.spans);
	free(f.n_certain);
	free(f.calls);
	if (r < 0)
		code_starts_fini(ret);
	return r;
}

void code_starts_fini(struct code_starts *s)
{
	free(s->items);
	*s = (struct code_starts){0};
}

int code_starts_before(const struct code_starts *s, uint32_t at, uint32_t *ret)
{
	uint32_t from = 0, to = s->n;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (s->items[middle] <= at)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == 0)
		return -ENOENT;
	*ret = s->items[from - 1];
	return 0;
}
