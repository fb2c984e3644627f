/* Functions of a built ELF file: where each begins and ends, and jumps and calls between them. */
#ifndef TEST_LIB_ELF_FUNCTIONS_H
#define TEST_LIB_ELF_FUNCTIONS_H

#include "test/lib/elf_builder.h"

#define ELF_FUNCTIONS_MAX 16u

struct elf_function {
	uint64_t start; /* address, which is the offset in the file */
	uint64_t bytes;
};

/* A jump from one address to another, or a call. */
static inline void elf_functions_link(struct elf_builder *b, uint64_t from, uint64_t to, bool call)
{
	const Elf64_Ehdr *eh = elf_builder_header(b);
	uint8_t *at = b->data + from;

	if (eh->e_machine == EM_AARCH64) {
		uint32_t w = (call ? 0x94000000 : 0x14000000) |
			     ((uint32_t)((int64_t)(to - from) / 4) & 0x3ffffff);

		memcpy(at, &w, sizeof(w));
	} else {
		int32_t distance = (int32_t)(to - from - 5);

		at[0] = call ? 0xe8 : 0xe9;
		memcpy(at + 1, &distance, sizeof(distance));
	}
}

static inline void elf_functions_u32(uint8_t *to, uint64_t v)
{
	uint32_t w = (uint32_t)v;

	memcpy(to, &w, sizeof(w));
}

/* .eh_frame with a description of each function, and its index in front of that. */
static inline void elf_functions_unwind(struct elf_builder *b, const struct elf_function *functions,
					unsigned n)
{
	static const uint8_t cie[] = {16,  0, 0, 0,    0,  0, 0,    0, 1, 'z',
				      'R', 0, 1, 0x78, 16, 1, 0x1b, 0, 0, 0};
	enum { FDE_BYTES = 24 };
	uint8_t zeros[12 + sizeof(cie) + ELF_FUNCTIONS_MAX * (8 + FDE_BYTES)] = {1, 0x1b, 3, 0x3b};
	const size_t index = 12 + n * 8, size = index + sizeof(cie) + n * FDE_BYTES;
	uint64_t at;
	uint8_t *hdr;

	assert(n <= ELF_FUNCTIONS_MAX);
	at = elf_builder_section(b, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, 0, zeros, size)
		     ->sh_offset;
	hdr = b->data + at;
	elf_functions_u32(hdr + 4, index - 4);
	elf_functions_u32(hdr + 8, n);
	memcpy(hdr + index, cie, sizeof(cie));
	for (unsigned i = 0; i < n; i++) {
		uint64_t fde = at + index + sizeof(cie) + (uint64_t)i * FDE_BYTES;

		elf_functions_u32(hdr + 12 + (size_t)i * 8, functions[i].start - at);
		elf_functions_u32(hdr + 16 + (size_t)i * 8, fde - at);
		elf_functions_u32(b->data + fde, FDE_BYTES - 4);
		elf_functions_u32(b->data + fde + 4, fde + 4 - (at + index));
		elf_functions_u32(b->data + fde + 8, functions[i].start - (fde + 8));
		elf_functions_u32(b->data + fde + 12, functions[i].bytes);
	}
	elf_builder_segment(b, PT_GNU_EH_FRAME, PF_R, at, at, size);
}

#endif /* TEST_LIB_ELF_FUNCTIONS_H */
