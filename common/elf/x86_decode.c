/*
 * An instruction is: prefixes, one to three bytes of operation, ModRM and SIB (registers and an
 * address), displacement, constant. One table per map of operations says which of these follow and
 * whether general registers are written; VEX, EVEX and XOP prefixes choose a map and nearly always
 * work on vectors. Facts are those of Intel's manual, volume 2, appendix A, and of AMD's, volumes 3
 * and 6.
 */
#include "common/elf/x86_decode.h"

enum {
	M = 1 << 0,     /* has ModRM */
	I8 = 1 << 1,    /* a constant of one byte */
	IZ = 1 << 2,    /* of 4 bytes, 2 with 16-bit operands */
	I16 = 1 << 3,   /* of 2 bytes */
	I32 = 1 << 4,   /* of 4 bytes */
	G = 1 << 5,     /* writes the register that ModRM names */
	E = 1 << 6,     /* writes the other operand, which may be a register */
	V = 1 << 7,     /* writes the register that the VEX prefix names */
	B = 1 << 8,     /* on bytes */
	A = 1 << 9,     /* writes rax */
	D = 1 << 10,    /* writes rax and rdx */
	C = 1 << 11,    /* writes rcx */
	S = 1 << 12,    /* writes rcx, rsi and rdi, as string instructions do */
	BAD = 1 << 13,  /* no instruction */
	TRAP = 1 << 14, /* X86_TRAP */
};

/* The eight operations of arithmetic have the same six forms. */
#define ALU(at)                                                                           \
	[at] = M | E | B, [(at) + 1] = M | E, [(at) + 2] = M | G | B, [(at) + 3] = M | G, \
	[(at) + 4] = I8 | A, [(at) + 5] = IZ | A

static const uint16_t one_byte[256] = {
	ALU(0x00),
	[0x06 ... 0x07] = BAD,
	ALU(0x08),
	[0x0e] = BAD,
	ALU(0x10),
	[0x16 ... 0x17] = BAD,
	ALU(0x18),
	[0x1e ... 0x1f] = BAD,
	ALU(0x20),
	[0x27] = BAD,
	ALU(0x28),
	[0x2f] = BAD,
	ALU(0x30),
	[0x37] = BAD,
	/* cmp */
	[0x38 ... 0x3b] = M,
	[0x3c] = I8,
	[0x3d] = IZ,
	[0x3f] = BAD,
	[0x60 ... 0x62] = BAD,
	[0x63] = M | G,
	[0x68] = IZ,
	[0x69] = M | IZ | G,
	[0x6a] = I8,
	[0x6b] = M | I8 | G,
	[0x6c ... 0x6f] = S,
	[0x70 ... 0x7f] = I8,
	[0x80] = M | I8 | E | B,
	[0x81] = M | IZ | E,
	[0x82] = BAD,
	[0x83] = M | I8 | E,
	[0x84 ... 0x85] = M,
	[0x86] = M | E | G | B,
	[0x87] = M | E | G,
	[0x88] = M | E | B,
	[0x89] = M | E,
	[0x8a] = M | G | B,
	[0x8b] = M | G,
	[0x8c] = M | E,
	[0x8d] = M | G,
	[0x8e] = M,
	[0x8f] = M | E,
	[0x90 ... 0x97] = A,
	[0x98] = A,
	[0x99] = D,
	[0x9a] = BAD,
	[0x9f] = A,
	[0xa0 ... 0xa3] = A,
	[0xa4 ... 0xa7] = S,
	[0xa8] = I8,
	[0xa9] = IZ,
	[0xaa ... 0xab] = S,
	[0xac ... 0xad] = S | A,
	[0xae ... 0xaf] = S,
	[0xb0 ... 0xb7] = I8 | B,
	[0xc0 ... 0xc1] = M | I8 | E,
	[0xc2] = I16,
	[0xc6] = M | I8 | E | B,
	[0xc7] = M | IZ | E,
	[0xc8] = I16 | I8,
	[0xca] = I16,
	[0xcc] = TRAP,
	[0xcd] = I8,
	[0xce] = BAD,
	[0xd0 ... 0xd3] = M | E,
	[0xd4 ... 0xd6] = BAD,
	[0xd7] = A,
	[0xd8 ... 0xde] = M,
	[0xdf] = M | A,
	[0xe0 ... 0xe3] = I8 | C,
	[0xe4 ... 0xe5] = I8 | A,
	[0xe6 ... 0xe7] = I8,
	[0xe8 ... 0xe9] = I32,
	[0xea] = BAD,
	[0xeb] = I8,
	[0xec ... 0xed] = A,
	[0xf1] = TRAP,
	[0xf4] = TRAP,
	[0xf6] = M | E | B | D,
	[0xf7] = M | E | D,
	[0xfe] = M | E | B,
	[0xff] = M,
};

/* Behind 0f. */
static const uint16_t two_bytes[256] = {
	[0x00] = M | E,
	[0x01] = M | E | D | C,
	[0x02 ... 0x03] = M | G,
	[0x04] = BAD,
	[0x05] = A | C,
	[0x0a] = BAD,
	[0x0b] = TRAP,
	[0x0c] = BAD,
	[0x0d] = M,
	[0x0f] = M | I8,
	[0x10 ... 0x1d] = M,
	[0x1e] = M | E,
	[0x1f] = M,
	[0x20 ... 0x21] = M | E,
	[0x22 ... 0x23] = M,
	[0x24 ... 0x27] = BAD,
	[0x28 ... 0x2b] = M,
	[0x2c ... 0x2d] = M | G,
	[0x2e ... 0x2f] = M,
	[0x31 ... 0x33] = D,
	[0x36] = BAD,
	[0x39] = BAD,
	[0x3b ... 0x3f] = BAD,
	[0x40 ... 0x4f] = M | G,
	[0x50] = M | G,
	[0x51 ... 0x6f] = M,
	[0x70 ... 0x73] = M | I8,
	[0x74 ... 0x76] = M,
	[0x78] = M | E,
	[0x79] = M,
	[0x7a ... 0x7b] = BAD,
	[0x7c ... 0x7d] = M,
	[0x7e] = M | E,
	[0x7f] = M,
	[0x80 ... 0x8f] = I32,
	[0x90 ... 0x9f] = M | E | B,
	[0xa2] = D | C,
	[0xa3] = M,
	[0xa4] = M | I8 | E,
	[0xa5] = M | E,
	[0xa6 ... 0xa7] = M,
	[0xab] = M | E,
	[0xac] = M | I8 | E,
	[0xad] = M | E,
	[0xae] = M | E,
	[0xaf] = M | G,
	[0xb0] = M | E | A | B,
	[0xb1] = M | E | A,
	[0xb2] = M | G,
	[0xb3] = M | E,
	[0xb4 ... 0xb8] = M | G,
	[0xb9] = M | TRAP,
	[0xba] = M | I8 | E,
	[0xbb] = M | E,
	[0xbc ... 0xbf] = M | G,
	[0xc0] = M | E | G | B,
	[0xc1] = M | E | G,
	[0xc2] = M | I8,
	[0xc3] = M,
	[0xc4] = M | I8,
	[0xc5] = M | I8 | G,
	[0xc6] = M | I8,
	[0xc7] = M | E | D,
	[0xd0 ... 0xd6] = M,
	[0xd7] = M | G,
	[0xd8 ... 0xfe] = M,
	[0xff] = M | TRAP,
};

/* Of the map after 0f 38, the operations that write general registers; all have ModRM. */
static uint16_t three_bytes(uint8_t opcode, bool is_vex)
{
	if (is_vex)
		return (opcode >= 0xf2 && opcode <= 0xf7) || (opcode & 0xf0) == 0xe0 ? M | G | V
										     : M;
	return opcode >= 0xf0 && opcode <= 0xf6 ? M | G : M;
}

/* Of the map after 0f 3a; all have ModRM and a constant. */
static uint16_t three_bytes_constant(uint8_t opcode)
{
	if (opcode >= 0x14 && opcode <= 0x17)
		return M | I8 | E;
	if (opcode == 0xf0)
		return M | I8 | G;
	return (opcode & 0xfd) == 0x61 ? M | I8 | C : M | I8;
}

/* Of the map 0f with a VEX or EVEX prefix: vectors, and few ways from them to registers. */
static uint16_t vector(uint8_t opcode, bool is_evex)
{
	switch (opcode) {
	case 0x2c:
	case 0x2d:
	case 0x50:
	case 0x93:
	case 0xd7:
		return M | G;
	case 0x78:
	case 0x79:
		return is_evex ? M | G : BAD;
	case 0x7e:
		return M | E;
	case 0x77:
		return is_evex ? BAD : 0;
	case 0x70 ... 0x73:
	case 0xc2:
	case 0xc4:
	case 0xc6:
		return M | I8;
	case 0xc5:
		return M | I8 | G;
	default:
		return M;
	}
}

struct reader {
	const uint8_t *p, *end;
	bool is_short; /* the instruction is longer than the code */

	bool has_66, has_67, has_f3, has_rep, is_wide, has_rex; /* is_wide: REX.W */
	uint8_t rex_r, rex_x, rex_b;                            /* 8 or 0 */
	uint8_t map; /* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a */
	uint8_t opcode, vex_register;
	bool is_vector; /* has a prefix of vectors */
	uint16_t what;

	uint8_t mod, reg, rm;
	uint8_t base; /* of the address; X86_NO_REGISTER: not just a register and a displacement */
	int32_t displacement, number;
};

static uint8_t take(struct reader *d)
{
	if (d->p == d->end) {
		d->is_short = true;
		return 0;
	}
	return *d->p++;
}

/* A little-endian number with a sign. */
static int32_t take_number(struct reader *d, unsigned bytes)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint32_t)take(d) << (8 * i);
	if (bytes == 1)
		return (int8_t)v;
	return bytes == 2 ? (int16_t)v : (int32_t)v;
}

/* ---- prefixes ---- */

static void set_rex(struct reader *d, uint8_t rex)
{
	d->has_rex = true;
	d->is_wide = rex & 8;
	d->rex_r = rex & 4 ? 8 : 0;
	d->rex_x = rex & 2 ? 8 : 0;
	d->rex_b = rex & 1 ? 8 : 0;
}

/* Returns the byte behind them. */
static uint8_t read_prefixes(struct reader *d)
{
	for (;;) {
		uint8_t c = take(d);

		switch (c) {
		case 0x66:
			d->has_66 = true;
			break;
		case 0x67:
			d->has_67 = true;
			break;
		case 0xf2:
		case 0xf3:
			d->has_rep = true;
			d->has_f3 = c == 0xf3;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
			break;
		case 0x40 ... 0x4f:
			set_rex(d, c);
			return take(d);
		default:
			return c;
		}
	}
}

/* The bits that REX has, inverted, in the first byte after such a prefix. */
static void set_inverted(struct reader *d, uint8_t bits)
{
	set_rex(d, (uint8_t)(~bits >> 5 & 7));
	d->is_vector = true;
}

static void read_vex(struct reader *d, bool is_long)
{
	uint8_t a = take(d), b = a;

	set_inverted(d, is_long ? a : (uint8_t)(a | 0x7f));
	d->map = 1;
	if (is_long) {
		b = take(d);
		d->map = a & 0x1f;
		d->is_wide = b & 0x80;
	}
	d->has_f3 = (b & 3) == 2;
	d->vex_register = (uint8_t)(~b >> 3 & 15);
	d->opcode = take(d);
	if (d->map == 1)
		d->what = vector(d->opcode, false);
	else if (d->map == 2)
		d->what = three_bytes(d->opcode, true);
	else
		d->what = d->map == 3 ? three_bytes_constant(d->opcode) : BAD;
}

static void read_evex(struct reader *d)
{
	uint8_t a = take(d), b = take(d);

	take(d);
	set_inverted(d, a);
	d->is_wide = b & 0x80;
	d->has_f3 = (b & 3) == 2;
	d->map = a & 7;
	d->opcode = take(d);
	if (a & 8)
		d->what = BAD;
	else if (d->map == 1 || d->map == 5)
		d->what = vector(d->opcode, true);
	else if (d->map == 2 || d->map == 6)
		d->what = M;
	else
		d->what = d->map == 3 ? three_bytes_constant(d->opcode) : BAD;
	if (d->map == 5)
		d->what &= (uint16_t)~I8;
}

static void read_xop(struct reader *d)
{
	uint8_t a = take(d), b = take(d);

	set_inverted(d, a);
	d->map = a & 0x1f;
	d->vex_register = (uint8_t)(~b >> 3 & 15);
	d->opcode = take(d);
	d->what = d->map == 8 ? M | I8 : d->map == 9 ? M | E | V : d->map == 10 ? M | I32 | G : BAD;
}

static void read_opcode(struct reader *d)
{
	uint8_t c = read_prefixes(d);

	if (c == 0xc4 || c == 0xc5) {
		read_vex(d, c == 0xc4);
	} else if (c == 0x62) {
		read_evex(d);
	} else if (c == 0x8f && d->p < d->end && (*d->p & 0x1f) >= 8) {
		read_xop(d);
	} else if (c != 0x0f) {
		d->opcode = c;
		d->what = one_byte[c];
	} else {
		d->opcode = take(d);
		d->map = d->opcode == 0x38 ? 2 : d->opcode == 0x3a ? 3 : 1;
		if (d->map > 1)
			d->opcode = take(d);
		d->what = d->map == 1   ? two_bytes[d->opcode]
			  : d->map == 2 ? three_bytes(d->opcode, false)
					: three_bytes_constant(d->opcode);
	}
}

/* ---- operands ---- */

static void read_address(struct reader *d)
{
	uint8_t rm = d->rm;
	unsigned bytes = d->mod == 1 ? 1 : d->mod == 2 ? 4 : 0;

	d->base = rm | d->rex_b;
	if (rm == 4) {
		uint8_t sib = take(d), index = (uint8_t)((sib >> 3 & 7) | d->rex_x);

		rm = sib & 7;
		d->base = index == X86_RSP ? rm | d->rex_b : X86_NO_REGISTER;
	}
	if (rm == 5 && d->mod == 0) {
		bytes = 4;
		d->base = d->rm == 4 ? X86_NO_REGISTER : X86_NEXT;
	}
	d->displacement = take_number(d, bytes);
	if (d->has_67)
		d->base = X86_NO_REGISTER;
}

static void read_operands(struct reader *d)
{
	d->base = X86_NO_REGISTER;
	d->mod = 3;
	if (d->what & M) {
		uint8_t modrm = take(d);

		d->mod = modrm >> 6;
		d->reg = (uint8_t)((modrm >> 3 & 7) | d->rex_r);
		d->rm = modrm & 7;
		if (d->map == 1 && d->opcode >= 0x20 && d->opcode <= 0x23)
			d->mod = 3; /* control registers have no other operand */
		if (d->mod != 3)
			read_address(d);
		else
			d->rm |= d->rex_b;
	}
	if (d->map == 0 && (d->opcode == 0xf6 || d->opcode == 0xf7) && (d->reg & 6) == 0)
		d->what |= d->opcode == 0xf6 ? I8 : IZ; /* test */
	if (d->what & I16)
		d->number = (uint16_t)take_number(d, 2);
	if (d->what & I8) {
		int32_t n = take_number(d, 1);

		d->number = d->what & I16 ? d->number : n;
	}
	if (d->what & IZ)
		d->number = take_number(d, d->has_66 && !d->is_wide ? 2 : 4);
	if (d->what & I32)
		d->number = take_number(d, 4);
}

/* Those constants that no flag describes. */
static void read_rest(struct reader *d)
{
	unsigned bytes = 0;

	if (d->map == 0 && d->opcode >= 0xb8 && d->opcode <= 0xbf)
		bytes = d->is_wide ? 8 : d->has_66 ? 2 : 4;
	else if (d->map == 0 && d->opcode >= 0xa0 && d->opcode <= 0xa3)
		bytes = d->has_67 ? 4 : 8;
	else if (d->map == 1 && d->opcode == 0x78 && !d->is_vector && (d->has_66 || d->has_rep))
		bytes = 2;
	while (bytes-- > 0)
		take(d);
}

/* ---- what it does ---- */

/* Without REX, bytes of the registers 4 to 7 are second bytes of the registers 0 to 3. */
static uint16_t bit_of(const struct reader *d, uint8_t reg)
{
	if ((d->what & B) && !d->has_rex)
		reg &= 3;
	return (uint16_t)(1u << reg);
}

static uint16_t writes_of(const struct reader *d)
{
	uint16_t writes = 0, what = d->what;

	if (d->map == 1 && d->opcode == 0x7e && d->has_f3)
		return 0; /* between vectors */
	if (what & G)
		writes |= bit_of(d, d->reg);
	if ((what & E) && d->mod == 3)
		writes |= bit_of(d, d->rm);
	if (what & V)
		writes |= (uint16_t)(1u << d->vex_register);
	if (what & (A | D))
		writes |= 1u << X86_RAX;
	if (what & D)
		writes |= 1u << X86_RDX;
	if (what & (C | S))
		writes |= 1u << X86_RCX;
	if (what & S)
		writes |= 1u << X86_RSI | 1u << X86_RDI;
	return writes;
}

/* Instructions whose operand is in the operation itself. */
static void decode_short(struct x86_instruction *i, const struct reader *d)
{
	uint8_t reg = (uint8_t)((d->opcode & 7) | d->rex_b);

	if (d->opcode >= 0x50 && d->opcode <= 0x57) {
		i->kind = d->has_66 ? X86_OTHER : X86_PUSH;
		i->from = reg;
		i->writes = d->has_66 ? 1u << X86_RSP : 0;
	} else if (d->opcode >= 0x58 && d->opcode <= 0x5f) {
		i->kind = d->has_66 ? X86_OTHER : X86_POP;
		i->to = reg;
		i->writes = (uint16_t)(1u << reg | (d->has_66 ? 1u << X86_RSP : 0));
	} else if (d->opcode == 0x90 && !d->rex_b) {
		i->kind = X86_PADDING;
		i->writes = 0;
	} else if (d->opcode >= 0x90 && d->opcode <= 0x97) {
		i->writes |= (uint16_t)(1u << reg);
	} else if (d->opcode >= 0xb0 && d->opcode <= 0xbf) {
		i->writes |= bit_of(d, reg);
	}
}

static void decode_group_ff(struct x86_instruction *i, const struct reader *d)
{
	i->base = d->base;
	i->number = d->displacement;
	switch (d->reg & 7) {
	case 0:
	case 1:
		i->writes = d->mod == 3 ? (uint16_t)(1u << d->rm) : 0;
		break;
	case 2:
	case 3:
		i->kind = X86_CALL_INDIRECT;
		break;
	case 4:
	case 5:
		i->kind = X86_JUMP_INDIRECT;
		break;
	case 6:
		i->kind = X86_PUSH_OTHER;
		if (d->mod == 3) {
			i->kind = X86_PUSH;
			i->from = d->rm;
		}
		break;
	default:
		i->len = 0;
	}
}

/* mov, and arithmetic on whole registers. */
static void decode_wide(struct x86_instruction *i, const struct reader *d)
{
	bool is_register = d->mod == 3;

	i->base = d->base;
	switch (d->opcode) {
	case 0x89:
		i->kind = is_register ? X86_MOVE : X86_STORE;
		i->from = d->reg;
		i->to = d->rm;
		i->number = d->displacement;
		break;
	case 0x8b:
		i->kind = is_register ? X86_MOVE : X86_LOAD;
		i->to = d->reg;
		i->from = d->rm;
		i->number = d->displacement;
		break;
	case 0x8d:
		if (is_register)
			break;
		i->kind = X86_ADDRESS;
		i->to = d->reg;
		i->number = d->displacement;
		break;
	case 0x81:
	case 0x83:
		i->to = d->rm;
		i->number = d->number;
		if (!is_register)
			break;
		if ((d->reg & 7) == 0 || ((d->reg & 7) == 5 && d->number != INT32_MIN)) {
			i->kind = X86_ADD;
			i->number = (d->reg & 7) == 5 ? -d->number : d->number;
		} else if ((d->reg & 7) == 4) {
			i->kind = X86_AND;
		}
		break;
	case 0x39:
	case 0x3b:
		if (!is_register)
			break;
		i->kind = X86_COMPARE;
		i->to = d->reg;
		i->from = d->rm;
		break;
	default:
		break;
	}
}

static void decode_one_byte(struct x86_instruction *i, const struct reader *d)
{
	uint8_t op = d->opcode;

	if ((op >= 0x80 && op <= 0x83 && (d->reg & 7) == 7) ||
	    ((op == 0xf6 || op == 0xf7) && (d->reg & 6) == 0))
		i->writes = 0; /* cmp, test */
	if ((op == 0x31 || op == 0x33) && d->mod == 3 && d->reg == d->rm && !d->has_66) {
		i->kind = X86_CLEAR;
		i->to = d->rm;
	} else if (op == 0xff) {
		decode_group_ff(i, d);
	} else if (op == 0x8f) {
		i->kind = X86_POP_OTHER;
		if (d->mod == 3) {
			i->kind = X86_POP;
			i->to = d->rm;
		}
	} else if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3)) {
		i->kind = X86_BRANCH;
		i->to = op < 0x80 ? op & 15 : X86_NO_REGISTER;
	} else if (d->is_wide && (d->what & M)) {
		decode_wide(i, d);
	} else {
		decode_short(i, d);
	}
}

static const uint8_t kinds[256] = {
	[0x68] = X86_PUSH_OTHER, [0x6a] = X86_PUSH_OTHER, [0x9c] = X86_PUSH_OTHER,
	[0x9d] = X86_POP_OTHER,  [0xc2] = X86_RETURN,     [0xc3] = X86_RETURN,
	[0xc8] = X86_ENTER,      [0xc9] = X86_LEAVE,      [0xca] = X86_TRAP,
	[0xcb] = X86_TRAP,       [0xcf] = X86_TRAP,       [0xe8] = X86_CALL,
	[0xe9] = X86_JUMP,       [0xeb] = X86_JUMP,
};

static void decode_two_bytes(struct x86_instruction *i, const struct reader *d)
{
	uint8_t op = d->opcode;

	if (op >= 0x80 && op <= 0x8f) {
		i->kind = X86_BRANCH;
		i->to = op & 15;
	} else if (op == 0x1f)
		i->kind = X86_PADDING;
	else if (op == 0xa0 || op == 0xa8)
		i->kind = X86_PUSH_OTHER;
	else if (op == 0xa1 || op == 0xa9)
		i->kind = X86_POP_OTHER;
	else if (op >= 0xc8 && op <= 0xcf)
		i->writes = (uint16_t)(1u << ((op & 7) | d->rex_b));
	else if (op == 0xa2)
		i->writes |= 1u << X86_RBX;
	else if (op == 0x01 && (d->reg & 7) != 4)
		i->writes = 1u << X86_RAX | 1u << X86_RCX | 1u << X86_RDX;
	else if (op == 0x05)
		i->writes |= 1u << 11;
}

size_t x86_decode(struct x86_instruction *ret, const uint8_t *code, size_t len)
{
	struct reader d = {.p = code};

	if (len >= 2 && code[0] == 0 && code[1] == 0)
		return 0;
	d.end = code + (len < X86_INSTRUCTION_MAX_BYTES ? len : X86_INSTRUCTION_MAX_BYTES);
	read_opcode(&d);
	if (d.is_short || d.what & BAD)
		return 0;
	read_operands(&d);
	read_rest(&d);
	if (d.is_short)
		return 0;
	*ret = (struct x86_instruction){
		.len = (uint8_t)(d.p - code),
		.kind = d.what & TRAP ? X86_TRAP : X86_OTHER,
		.base = X86_NO_REGISTER,
		.writes = writes_of(&d),
		.number = d.number,
	};
	if (d.map == 1 && !d.is_vector) {
		decode_two_bytes(ret, &d);
	} else if (d.map == 0) {
		ret->kind = kinds[d.opcode] != X86_OTHER ? kinds[d.opcode] : ret->kind;
		if (d.has_66 && (ret->kind == X86_PUSH_OTHER || ret->kind == X86_POP_OTHER)) {
			ret->kind = X86_OTHER; /* of two bytes */
			ret->writes |= 1u << X86_RSP;
		} else if (ret->kind == X86_OTHER)
			decode_one_byte(ret, &d);
	}
	return ret->len;
}
