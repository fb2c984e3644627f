/*
 * The function tests a variable of _PyRuntime (until 3.11 the one in front of the key, then the
 * first half of the key) and passes the key on. Compilers do that in a few ways: the address of the
 * key, or the number in it, relative to the instruction or to the address of _PyRuntime, which
 * libraries load from their global offset table.
 */
#include "node-agent/interpreter/python/python_thread_key.h"

#include <elf.h>
#include <errno.h>

#define CODE_BYTES 80u
#define RUNTIME_MAX (1u << 21) /* more than sizeof(_PyRuntime) */
#define NUMBER_IN_TSS 4u       /* Py_tss_t: {int is_initialized; unsigned key} */

struct search {
	const struct python_key_search *what;
	uint8_t code[CODE_BYTES];
	uint64_t regs[32];
	bool known[32];
	uint64_t address;    /* of the key, if an instruction has it */
	uint64_t numbers[2]; /* addresses of ints that are loaded */
};

static bool is_in_runtime(const struct search *s, uint64_t at)
{
	return at > s->what->runtime && at - s->what->runtime < RUNTIME_MAX;
}

static void on_address(struct search *s, uint64_t at)
{
	if (s->address == 0 && s->what->runtime != 0 && is_in_runtime(s, at))
		s->address = at;
}

static void on_int(struct search *s, uint64_t at)
{
	if (s->what->runtime != 0 && !is_in_runtime(s, at))
		return;
	if (s->numbers[0] == 0)
		s->numbers[0] = at;
	else if (s->numbers[1] == 0)
		s->numbers[1] = at;
}

/* Of two ints, one after the other, the first says whether the key has been made. */
static uint64_t result(const struct search *s)
{
	if (s->address != 0 || s->what->runtime == 0 || s->numbers[0] == 0)
		return s->address != 0 ? s->address : s->numbers[0];
	if (s->numbers[1] == s->numbers[0] + NUMBER_IN_TSS)
		return s->numbers[0];
	return s->numbers[0] - NUMBER_IN_TSS;
}

/* ---- x86-64 ---- */

#define REX_W 0x48
#define OP_LOAD 0x8b
#define OP_LEA 0x8d

/* A register is loaded from [rip + disp], or gets its address. Returns the length, 0: not so. */
static size_t x86_relative(struct search *s, const uint8_t *b, uint64_t at)
{
	bool wide = (b[0] & 0xf8) == REX_W;
	unsigned reg = b[wide + 1] >> 3 & 7;
	int32_t disp;
	uint64_t target;

	if ((b[wide] != OP_LOAD && b[wide] != OP_LEA) || (b[wide + 1] & 0xc7) != 0x05)
		return 0;
	memcpy(&disp, b + wide + 2, sizeof(disp));
	target = at + wide + 6 + (uint64_t)(int64_t)disp;
	if (wide) {
		if (b[wide] == OP_LEA)
			on_address(s, target);
		/* the address of _PyRuntime: the instruction's, or from the table */
		s->known[reg] =
			b[wide] == OP_LEA ? target == s->what->runtime : !is_in_runtime(s, target);
	} else if (b[wide] == OP_LOAD) {
		on_int(s, target);
	}
	return wide + 6u;
}

/* lea disp32(reg), other; mov disp32(reg), other */
static size_t x86_based(struct search *s, const uint8_t *b)
{
	bool wide = b[0] == REX_W;
	uint8_t modrm = b[wide + 1];
	int32_t disp;

	if ((b[wide] != OP_LEA && b[wide] != OP_LOAD) || modrm >> 6 != 2 || (modrm & 7) == 4 ||
	    !s->known[modrm & 7])
		return 0;
	memcpy(&disp, b + wide + 2, sizeof(disp));
	if (b[wide] == OP_LEA && wide)
		on_address(s, s->what->runtime + (uint64_t)(int64_t)disp);
	else if (b[wide] == OP_LOAD && !wide)
		on_int(s, s->what->runtime + (uint64_t)(int64_t)disp);
	return wide + 6u;
}

/*
 * add $imm32, reg: in code that is not optimized, which keeps the address of _PyRuntime in memory
 * in between.
 */
static size_t x86_add(struct search *s, const uint8_t *b)
{
	bool is_rax = b[1] == 0x05, any = false;
	size_t len = is_rax ? 6 : 7;
	uint32_t imm;

	if (b[0] != REX_W || (!is_rax && (b[1] != 0x81 || (b[2] & 0xf8) != 0xc0)))
		return 0;
	for (unsigned i = 0; i < 8; i++)
		any |= s->known[i];
	memcpy(&imm, b + len - 4, sizeof(imm));
	if (any && imm < RUNTIME_MAX)
		on_address(s, s->what->runtime + imm);
	return len;
}

/* mov $imm32, reg: in executables at a fixed address */
static size_t x86_immediate(struct search *s, const uint8_t *b)
{
	uint32_t imm;

	if (b[0] < 0xb8 || b[0] > 0xbf)
		return 0;
	memcpy(&imm, b + 1, sizeof(imm));
	if (!is_in_runtime(s, imm))
		return 0;
	on_address(s, imm);
	return 5;
}

static void search_x86(struct search *s)
{
	for (size_t i = 0; i + 8 <= CODE_BYTES && s->address == 0;) {
		const uint8_t *b = s->code + i;
		size_t n = x86_relative(s, b, s->what->function + i);

		if (n == 0)
			n = x86_based(s, b);
		if (n == 0)
			n = x86_add(s, b);
		if (n == 0)
			n = x86_immediate(s, b);
		i += n > 0 ? n : 1;
	}
}

/* ---- arm64 ---- */

static void arm64_step(struct search *s, uint32_t w, uint64_t at)
{
	unsigned rd = w & 31, rn = w >> 5 & 31;
	uint64_t imm = w >> 10 & 0xfff;

	if ((w & 0x9f000000) == 0x90000000) { /* adrp */
		uint64_t pages = (w >> 29 & 3) | (w >> 5 & 0x7ffff) << 2;

		s->regs[rd] = (at & ~0xfffULL) + (uint64_t)((int64_t)(pages << 43) >> 43) * 4096;
		s->known[rd] = true;
	} else if ((w & 0xff800000) == 0x91000000 && s->known[rn]) { /* add */
		s->regs[rd] = s->regs[rn] + (w & 1u << 22 ? imm << 12 : imm);
		s->known[rd] = true;
		/* that of _PyRuntime itself may come first */
		if (s->regs[rd] % 4096 != 0)
			on_address(s, s->regs[rd]);
	} else if ((w & 0xffc00000) == 0xf9400000 && s->known[rn]) { /* ldr, 64 bits */
		s->known[rd] = s->what->runtime != 0 && !is_in_runtime(s, s->regs[rn] + imm * 8);
		s->regs[rd] = s->what->runtime;
	} else if ((w & 0xffc00000) == 0xb9400000 && s->known[rn]) { /* ldr, 32 bits */
		on_int(s, s->regs[rn] + imm * 4);
	}
}

static void search_arm64(struct search *s)
{
	for (size_t i = 0; i + 4 <= CODE_BYTES && s->address == 0; i += 4) {
		uint32_t w;

		memcpy(&w, s->code + i, sizeof(w));
		arm64_step(s, w, s->what->function + i);
	}
}

int python_thread_key_find(const struct elf_layout *layout, const struct byte_source *src,
			   const struct python_key_search *search, uint64_t *ret_vaddr)
{
	struct search s = {.what = search};
	uint64_t offset;
	int r = elf_layout_offset(layout, search->function, &offset);

	if (r == 0)
		r = byte_source_read(src, offset, s.code, sizeof(s.code));
	if (r < 0)
		return r == -ENODATA ? -ENOENT : r;
	if (layout->machine == EM_AARCH64)
		search_arm64(&s);
	else
		search_x86(&s);
	if (result(&s) == 0 || result(&s) % sizeof(uint32_t) != 0)
		return -ENOENT;
	*ret_vaddr = result(&s);
	return 0;
}
