/*
 * This is not a disassembler. It knows the few instructions by which the Go compiler accesses
 * a global variable (cmd/compile/internal/amd64 and arm64), and skips all else. A real one
 * would be a large dependency for a dozen functions per executable.
 *
 * amd64: globals are addressed relative to the instruction pointer (ModRM with mod=00,
 * rm=101). Instructions have no fixed length, so decoding is attempted at every byte, and
 * bytes in the middle of an instruction may look like another one. The target of such a false
 * reference is practically random, and very unlikely to lie in the program's data.
 *
 * arm64: ADRP loads the address of a page into a register, and a later instruction adds the
 * offset. So the registers are tracked through the function, as far as ADRP and ADD set them.
 * Branches are ignored: the compiler emits the pair close together.
 */
#include "node-agent/go/image/go_code.h"

#include <elf.h>

/* ---- amd64: operand "disp32(%rip)", mod=00 rm=101 ---- */

#define REX_MASK 0xf0u
#define REX 0x40u
#define REX_W 0x08u
#define MODRM_MASK 0xc7u
#define MODRM_RIP 0x05u

struct opcode {
	uint8_t bytes[2];
	uint8_t n_bytes;
	uint8_t immediate_bytes;
	uint8_t size_bytes; /* 0 stands for 4, or 8 with REX.W */
	bool reg_is_zero;   /* the reg field of ModRM is part of the opcode: it must be 0 */
	bool reg_is_seven;  /* … or 7 */
	enum go_ref_kind kind;
};

static const struct opcode opcodes[] = {
	{{0x8b}, 1, 0, 0, false, false, GO_REF_LOAD},       /* mov */
	{{0x89}, 1, 0, 0, false, false, GO_REF_STORE},      /* mov */
	{{0x8d}, 1, 0, 0, false, false, GO_REF_ADDRESS},    /* lea */
	{{0x0f, 0xb6}, 2, 0, 1, false, false, GO_REF_LOAD}, /* movzx */
	{{0xc7}, 1, 4, 0, true, false, GO_REF_STORE},       /* mov imm32 */
	{{0x80}, 1, 1, 1, false, true, GO_REF_LOAD},        /* cmpb imm8 */
	{{0x83}, 1, 1, 0, false, true, GO_REF_LOAD},        /* cmp imm8 */
	{{0x39}, 1, 0, 0, false, false, GO_REF_LOAD},       /* cmp */
	{{0x3b}, 1, 0, 0, false, false, GO_REF_LOAD},       /* cmp */
	{{0x87}, 1, 0, 0, false, false, GO_REF_STORE},      /* xchg */
	{{0x0f, 0xb1}, 2, 0, 0, false, false, GO_REF_STORE} /* cmpxchg */
};

static bool matches(const struct opcode *o, const uint8_t *p, size_t len)
{
	uint8_t modrm, reg;

	if (len < o->n_bytes + 1u + 4u + o->immediate_bytes || memcmp(p, o->bytes, o->n_bytes) != 0)
		return false;
	modrm = p[o->n_bytes];
	reg = (uint8_t)(modrm >> 3 & 7);
	return (modrm & MODRM_MASK) == MODRM_RIP && (!o->reg_is_zero || reg == 0) &&
	       (!o->reg_is_seven || reg == 7);
}

/*
 * Returns the length of the instruction at p, whose address is `address`, or 0 if it refers
 * to nothing.
 */
static size_t decode_amd64(const uint8_t *p, size_t len, uint64_t address, struct go_ref *ret)
{
	uint8_t rex = (p[0] & REX_MASK) == REX ? p[0] : 0;
	size_t prefix = rex ? 1 : 0;

	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		const struct opcode *o = &opcodes[i];
		size_t total = prefix + o->n_bytes + 1 + 4 + o->immediate_bytes;
		int32_t distance;

		if (!matches(o, p + prefix, len - prefix))
			continue;
		memcpy(&distance, p + prefix + o->n_bytes + 1, sizeof(distance));
		*ret = (struct go_ref){
			.target = address + total + (uint64_t)(int64_t)distance,
			.size_bytes = o->size_bytes ? o->size_bytes
				      : rex & REX_W ? 8
						    : 4,
			.kind = o->kind,
		};
		return total;
	}
	return 0;
}

static size_t refs_amd64(const uint8_t *code, size_t len, uint64_t address, struct go_ref *refs,
			 size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i + 6 <= len && n < max; i++) {
		if (decode_amd64(code + i, len - i, address + i, &refs[n]) == 0)
			continue;
		n++;
		/* without its REX prefix the same instruction would be found once more */
		i += (code[i] & REX_MASK) == REX;
	}
	return n;
}

/* ---- arm64: ADRP gives a page, the next instructions an offset in it ---- */

#define PAGE_MASK UINT64_C(0xfff)
#define CALL_CLOBBERS 18u /* x0 … x17 */
#define NO_REGISTER 31u

/* The values of registers, as far as they can be followed. */
struct arm_state {
	uint64_t value[32]; /* 0 if unknown */
};

static uint64_t adrp_page(uint32_t word, uint64_t address)
{
	uint64_t imm = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);

	imm = (imm ^ UINT64_C(0x100000)) - UINT64_C(0x100000); /* 21 bits, signed */
	return (address & ~PAGE_MASK) + (imm << 12);
}

/* Decodes LDR and STR with an offset, LDAR and STLR. False if it is another instruction. */
static bool decode_access(uint32_t word, const struct arm_state *s, struct go_ref *ret)
{
	unsigned shift = word >> 30, base = word >> 5 & 31;
	uint64_t offset = 0;
	bool load;

	if ((word & 0x3f800000) == 0x39000000) { /* unsigned offset; opc is 0 or 1 */
		load = word & 0x400000;
		offset = (uint64_t)(word >> 10 & 0xfff) << shift;
	} else if ((word & 0x3fbffc00) == 0x089ffc00) { /* ordered */
		load = word & 0x400000;
	} else {
		return false;
	}
	*ret = (struct go_ref){
		.target = s->value[base] ? s->value[base] + offset : 0,
		.size_bytes = (uint8_t)(1u << shift),
		.kind = load ? GO_REF_LOAD : GO_REF_STORE,
	};
	return true;
}

/* Follows one instruction. ret->target is 0 if it refers to nothing. */
static void step_arm64(uint32_t word, uint64_t address, struct arm_state *s, struct go_ref *ret)
{
	unsigned to = word & 31, base = word >> 5 & 31;

	ret->target = 0;
	if ((word & 0x9f000000) == 0x90000000) { /* ADRP */
		s->value[to] = adrp_page(word, address);
	} else if ((word & 0xffc00000) == 0x91000000) { /* ADD Xd, Xn, #imm */
		s->value[to] = s->value[base] ? s->value[base] + (word >> 10 & 0xfff) : 0;
		*ret = (struct go_ref){s->value[to], 8, GO_REF_ADDRESS};
	} else if (decode_access(word, s, ret)) {
		if (ret->kind == GO_REF_LOAD)
			s->value[to] = 0;
	} else if ((word & 0xfc000000) == 0x94000000) { /* BL */
		memset(s->value, 0, CALL_CLOBBERS * sizeof(*s->value));
	}
	s->value[NO_REGISTER] = 0;
}

static size_t refs_arm64(const uint8_t *code, size_t len, uint64_t address, struct go_ref *refs,
			 size_t max)
{
	struct arm_state state = {0};
	size_t n = 0;

	for (size_t i = 0; i + 4 <= len && n < max; i += 4) {
		uint32_t word;

		memcpy(&word, code + i, sizeof(word));
		step_arm64(word, address + i, &state, &refs[n]);
		n += refs[n].target != 0;
	}
	return n;
}

size_t go_code_refs(uint16_t machine, const uint8_t *code, size_t len, uint64_t address,
		    struct go_ref *refs, size_t max)
{
	if (machine == EM_X86_64)
		return refs_amd64(code, len, address, refs, max);
	if (machine == EM_AARCH64)
		return refs_arm64(code, len, address, refs, max);
	return 0;
}
