/*
 * Decodes one x86-64 instruction: its length, and what it does to the registers and to the stack
 * that frames are made of. Pure.
 *
 * This is no disassembler: instructions that only compute have a length and a set of registers
 * that they write. A set may have too many registers, never too few.
 */
#ifndef COMMON_ELF_X86_DECODE_H
#define COMMON_ELF_X86_DECODE_H

#include "common/base.h"

#define X86_INSTRUCTION_MAX_BYTES 15u

/* Numbers of registers in instructions, which are not those of DWARF. */
enum {
	X86_RAX,
	X86_RCX,
	X86_RDX,
	X86_RBX,
	X86_RSP,
	X86_RBP,
	X86_RSI,
	X86_RDI,
	X86_REGISTERS = 16,
	X86_NEXT = 16, /* as a base: the address of the next instruction */
	X86_NO_REGISTER = 255,
	X86_NOT_EQUAL = 5,
};

enum x86_kind {
	X86_OTHER,
	X86_PADDING,       /* does nothing: nop, also of several bytes */
	X86_PUSH,          /* from */
	X86_PUSH_OTHER,    /* a constant, flags, or what is in memory */
	X86_POP,           /* to */
	X86_POP_OTHER,     /* flags, or into memory */
	X86_MOVE,          /* to = from; this and the following have 64 bits */
	X86_STORE,         /* the word at base + number = from */
	X86_LOAD,          /* to = the word at base + number */
	X86_ADDRESS,       /* to = base + number */
	X86_ADD,           /* to += number */
	X86_AND,           /* to &= number */
	X86_COMPARE,       /* to with from */
	X86_CLEAR,         /* to = 0, by xor with itself */
	X86_ENTER,         /* number: bytes of locals */
	X86_LEAVE,         /* */
	X86_CALL,          /* of the instruction `number` bytes after the end of this one */
	X86_CALL_INDIRECT, /* to what is at base + number */
	X86_JUMP,          /* likewise */
	X86_JUMP_INDIRECT, /* as above */
	X86_BRANCH,        /* a jump that is not always taken; to: its condition, X86_NOT_EQUAL */
	X86_RETURN,        /* */
	X86_TRAP,          /* nothing is executed after it: hlt, int3, ud2 */
};

struct x86_instruction {
	uint8_t len;
	uint8_t kind; /* enum x86_kind */
	uint8_t to, from;
	uint8_t base;    /* X86_NO_REGISTER: none, or another register is added */
	uint16_t writes; /* registers that do not have their value any more, as bits */
	int32_t number;
};

/*
 * Decodes the instruction at code. Returns its length, or 0 if there is none that 64-bit programs
 * may have, or if it is longer than the code. Two bytes of 0 count as none: that is what is
 * between code, not in it.
 */
size_t x86_decode(struct x86_instruction *ret, const uint8_t *code, size_t len);

#endif /* COMMON_ELF_X86_DECODE_H */
