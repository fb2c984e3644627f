#include "node-agent/interpreter/thread_variable.h"

#include <elf.h>
#include <errno.h>

#define CODE_BYTES 96u

struct code {
	const struct elf_layout *layout;
	const struct byte_source *src;
	uint64_t vaddr;
	size_t n;
	uint8_t bytes[CODE_BYTES];
};

static int read_at(const struct code *c, uint64_t vaddr, void *to, size_t n)
{
	uint64_t offset;
	int r = elf_layout_offset(c->layout, vaddr, &offset);

	return r == 0 ? byte_source_read(c->src, offset, to, n) : r;
}

#define RELOCATIONS_MAX 262144u
#define RELOCATIONS_AT_ONCE 512u

/* The variable that the dynamic linker is to store the offset of. */
static bool find_relocation(const struct code *c, uint64_t vaddr, Elf64_Rela *ret)
{
	const struct elf_section *s = &c->layout->sections[ELF_SECTION_RELA_DYN];
	uint64_t n = s->size_bytes / sizeof(*ret);
	AUTO_FREE Elf64_Rela *some = malloc(RELOCATIONS_AT_ONCE * sizeof(*some));

	for (uint64_t i = 0; some && i < n && i < RELOCATIONS_MAX; i += RELOCATIONS_AT_ONCE) {
		size_t count = n - i < RELOCATIONS_AT_ONCE ? (size_t)(n - i) : RELOCATIONS_AT_ONCE;

		if (byte_source_read(c->src, s->offset + i * sizeof(*some), some,
				     count * sizeof(*some)) < 0)
			return false;
		for (size_t j = 0; j < count; j++) {
			if (some[j].r_offset != vaddr)
				continue;
			*ret = some[j];
			return ELF64_R_TYPE(ret->r_info) == R_X86_64_DTPOFF64;
		}
	}
	return false;
}

/*
 * The offset of a variable in its module's stands behind the module's number. The linker stores it
 * there, or if the file exports the variable, the dynamic linker does.
 */
static int64_t offset_in_module(const struct code *c, uint64_t vaddr)
{
	const struct elf_section *symbols = &c->layout->sections[ELF_SECTION_DYNSYM];
	int64_t offset;
	Elf64_Rela rela;
	Elf64_Sym sym;

	if (read_at(c, vaddr + 8, &offset, sizeof(offset)) < 0)
		return 0;
	if (offset != 0 || !find_relocation(c, vaddr + 8, &rela) ||
	    ELF64_R_SYM(rela.r_info) >= symbols->size_bytes / sizeof(sym) ||
	    byte_source_read(c->src, symbols->offset + ELF64_R_SYM(rela.r_info) * sizeof(sym), &sym,
			     sizeof(sym)) < 0)
		return offset;
	return (int64_t)sym.st_value + rela.r_addend;
}

/* ---- x86-64 ---- */

static bool has(const struct code *c, size_t at, const char *pattern, size_t n)
{
	return at + n <= c->n && memcmp(c->bytes + at, pattern, n) == 0;
}
#define HAS(c, at, pattern) has(c, at, pattern, sizeof(pattern) - 1)

static int32_t number_at(const struct code *c, size_t at)
{
	int32_t n = 0;

	if (at + sizeof(n) <= c->n)
		memcpy(&n, c->bytes + at, sizeof(n));
	return n;
}

/* The address of an operand that is relative to the next instruction. */
static uint64_t relative(const struct code *c, size_t at)
{
	return c->vaddr + at + 4 + (uint64_t)(int64_t)number_at(c, at);
}

/* The displacement of the next load through rax, which may be of any of its forms; 0: none. */
static int32_t load_displacement(const struct code *c, size_t at)
{
	for (; at + 3 <= c->n; at++) {
		if (HAS(c, at, "\xc3"))
			break;
		if (HAS(c, at, "\x48\x8b\x00"))
			return 0;
		if (HAS(c, at, "\x48\x8b\x40") && at + 4 <= c->n)
			return (int8_t)c->bytes[at + 3];
		if (HAS(c, at, "\x48\x8b\x80"))
			return number_at(c, at + 3);
	}
	return 0;
}

/* mov %fs:n,%rax: the variable, or for 0 the thread pointer, to which something is added. */
static void decode_fs(const struct code *c, size_t at, struct thread_variable *ret)
{
	int32_t n = number_at(c, at);

	*ret = (struct thread_variable){.kind = THREAD_VARIABLE_OFFSET, .offset = n};
	if (n != 0)
		return;
	for (size_t i = at + 4; i + 7 <= c->n && i < at + 16; i++) {
		if (HAS(c, i, "\x48\x03\x05")) {
			ret->kind = THREAD_VARIABLE_LINKED;
			ret->vaddr = relative(c, i + 3);
			return;
		}
	}
	ret->offset = load_displacement(c, at + 4);
}

/* mov key(%rip),%edi, and then a call, or a jump that may come after an add to %rsp. */
static bool passes_key(const struct code *c, size_t at)
{
	size_t next = at + 6;

	if (!HAS(c, at, "\x8b\x3d"))
		return false;
	if (HAS(c, next, "\x48\x83\xc4"))
		next += 4;
	return HAS(c, next, "\xe8") || HAS(c, next, "\xe9") || HAS(c, next, "\xff\x15") ||
	       HAS(c, next, "\xff\x25");
}

static int decode_x86(const struct code *c, struct thread_variable *ret)
{
	for (size_t i = 0; i + 8 <= c->n; i++) {
		if (passes_key(c, i)) {
			*ret = (struct thread_variable){.kind = THREAD_VARIABLE_KEY,
							.vaddr = relative(c, i + 2)};
			return 0;
		}
		if (HAS(c, i, "\x64\x48\x8b\x04\x25")) {
			decode_fs(c, i + 5, ret);
			return 0;
		}
		/* mov offset(%rip),%rax; mov %fs:(%rax),%rax */
		if (HAS(c, i, "\x48\x8b\x05") && HAS(c, i + 7, "\x64\x48\x8b\x00")) {
			*ret = (struct thread_variable){.kind = THREAD_VARIABLE_LINKED,
							.vaddr = relative(c, i + 3)};
			return 0;
		}
		/* mov $offset,%rax; mov %fs:(%rax),%rax */
		if (HAS(c, i, "\x48\xc7\xc0") && HAS(c, i + 7, "\x64\x48\x8b\x00")) {
			*ret = (struct thread_variable){.kind = THREAD_VARIABLE_OFFSET,
							.offset = number_at(c, i + 3)};
			return 0;
		}
		/* lea descriptor(%rip),%rax; call *(%rax) */
		if (HAS(c, i, "\x48\x8d\x05") && HAS(c, i + 7, "\xff\x10")) {
			*ret = (struct thread_variable){.kind = THREAD_VARIABLE_LINKED,
							.vaddr = relative(c, i + 3) + 8};
			return 0;
		}
		/* lea module(%rip),%rdi; call __tls_get_addr, with prefixes or not */
		if (HAS(c, i, "\x48\x8d\x3d")) {
			uint64_t vaddr = relative(c, i + 3);
			int64_t offset = offset_in_module(c, vaddr);

			*ret = (struct thread_variable){
				.kind = THREAD_VARIABLE_MODULE,
				.vaddr = vaddr,
				.offset =
					offset +
					load_displacement(c, i + (HAS(c, i + 7, "\x66") ? 15 : 12)),
			};
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- arm64 ---- */

/* What registers hold, as far as it is known. */
enum holds {
	NOTHING,
	THREAD_POINTER, /* + value */
	ADDRESS,        /* value */
	LOADED,         /* the word at value */
	LINKED,         /* THREAD_POINTER + the word at value */
};

struct registers {
	enum holds holds[32];
	int64_t values[32];
};

static int64_t signed_bits(uint64_t value, unsigned bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static void set(struct registers *s, uint32_t number, enum holds holds, int64_t value)
{
	s->holds[number] = holds;
	s->values[number] = value;
}

static void add(struct registers *s, uint32_t to, uint32_t a, uint32_t b)
{
	if (s->holds[a] == LOADED) {
		uint32_t other = a;

		a = b;
		b = other;
	}
	if (s->holds[a] == THREAD_POINTER && s->holds[b] == LOADED && s->values[a] == 0)
		set(s, to, LINKED, s->values[b]);
	else
		set(s, to, NOTHING, 0);
}

/* A load by which the function returns. Returns whether it is of the variable. */
static bool decode_load(const struct registers *s, uint32_t base, int64_t offset,
			struct thread_variable *ret)
{
	if (s->holds[base] == THREAD_POINTER)
		*ret = (struct thread_variable){.kind = THREAD_VARIABLE_OFFSET,
						.offset = s->values[base] + offset};
	else if (s->holds[base] == LINKED)
		*ret = (struct thread_variable){.kind = THREAD_VARIABLE_LINKED,
						.vaddr = (uint64_t)s->values[base],
						.offset = offset};
	else
		return false;
	return true;
}

/* One instruction. Returns 1 if the variable is found. */
static int step(struct registers *s, uint64_t pc, uint32_t word, struct thread_variable *ret)
{
	uint32_t d = word & 31, n = word >> 5 & 31, m = word >> 16 & 31;

	if ((word & 0xffffffe0) == 0xd53bd040) { /* mrs */
		set(s, d, THREAD_POINTER, 0);
	} else if ((word & 0x9f000000) == 0x90000000) { /* adrp */
		uint64_t page = ((uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3)) << 12;

		set(s, d, ADDRESS, (int64_t)(pc & ~UINT64_C(4095)) + signed_bits(page, 33));
	} else if ((word & 0xff800000) == 0x91000000) { /* add immediate */
		uint32_t imm = (word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);

		set(s, d, s->holds[n], s->values[n] + imm);
	} else if ((word & 0xffe0fc00) == 0x8b000000) { /* add registers */
		add(s, d, n, m);
	} else if ((word & 0xffc00000) == 0xf9400000) { /* ldr, unsigned offset */
		int64_t offset = (int64_t)(word >> 10 & 0xfff) * 8;

		if (decode_load(s, n, offset, ret))
			return 1;
		set(s, d, s->holds[n] == ADDRESS ? LOADED : NOTHING, s->values[n] + offset);
	} else if ((word & 0xffe00c00) == 0xf8600800) { /* ldr, register offset */
		add(s, 31, n, m);
		if (decode_load(s, 31, 0, ret))
			return 1;
	} else if ((word & 0xfffffc1f) == 0xd63f0000) { /* blr: of a descriptor, in x0 */
		set(s, 0, s->holds[0] == ADDRESS ? LOADED : NOTHING, s->values[0] + 8);
	}
	return 0;
}

static int decode_arm64(const struct code *c, struct thread_variable *ret)
{
	struct registers s = {0};

	for (size_t i = 0; i + 4 <= c->n; i += 4) {
		uint32_t word;

		memcpy(&word, c->bytes + i, sizeof(word));
		if (step(&s, c->vaddr + i, word, ret))
			return 0;
		if (word == 0xd65f03c0) /* ret */
			break;
	}
	return -ENOENT;
}

int thread_variable_of_getter(const struct elf_layout *layout, const struct byte_source *src,
			      uint64_t vaddr, struct thread_variable *ret)
{
	struct code c = {.layout = layout, .src = src, .vaddr = vaddr, .n = CODE_BYTES};
	int r = read_at(&c, vaddr, c.bytes, c.n);

	*ret = (struct thread_variable){0};
	if (r < 0)
		return r;
	return layout->machine == EM_X86_64 ? decode_x86(&c, ret) : decode_arm64(&c, ret);
}
