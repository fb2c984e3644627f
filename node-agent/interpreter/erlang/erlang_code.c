#include "node-agent/interpreter/erlang/erlang_code.h"

#include <errno.h>

#define FUNCTION_BYTES 96u
#define TEXT_MAX (UINT64_C(64) << 20)
#define PIECE_BYTES 65536u
#define CALL_BYTES 5u

struct code {
	uint64_t vaddr;
	size_t n;
	uint8_t bytes[FUNCTION_BYTES];
};

static int read_code(const struct elf_layout *layout, const struct byte_source *src, uint64_t vaddr,
		     struct code *ret)
{
	uint64_t offset;
	int r = elf_layout_offset(layout, vaddr, &offset);

	*ret = (struct code){.vaddr = vaddr, .n = sizeof(ret->bytes)};
	if (r == 0)
		r = byte_source_read(src, offset, ret->bytes, ret->n);
	return r == -ENOENT ? -ENOTSUP : r;
}

/* The address that 32 bits at `at` are relative to the end of, which is the instruction's. */
static uint64_t relative(const uint8_t *bytes, size_t at, uint64_t vaddr)
{
	int32_t n;

	memcpy(&n, bytes + at, sizeof(n));
	return vaddr + at + sizeof(n) + (uint64_t)(int64_t)n;
}

#define LOAD 0x8b    /* mov */
#define ADDRESS 0x8d /* lea */
#define CALL 0xe8
#define IS_RELATIVE(modrm) (((modrm)&0xc7) == 0x05)

/* Whether there is an instruction with this code and a relative operand. */
static bool is_relative(const struct code *c, size_t i, uint8_t code)
{
	return i + 6 <= c->n && c->bytes[i] == code && IS_RELATIVE(c->bytes[i + 1]);
}

int erlang_first_load(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t function, uint64_t *ret)
{
	struct code c;
	int r = read_code(layout, src, function, &c);

	for (size_t i = 0; r == 0 && i < 16; i++) {
		if (!is_relative(&c, i, LOAD))
			continue;
		*ret = relative(c.bytes, i + 2, function);
		return 0;
	}
	return r < 0 ? r : -ENOTSUP;
}

static bool find_table(const struct code *c, uint64_t index, uint64_t *ret)
{
	bool has_index = false, has_table = false;

	for (size_t i = 0; i + 6 <= c->n; i++) {
		if (is_relative(c, i, LOAD) && relative(c->bytes, i + 2, c->vaddr) == index)
			has_index = true;
		if (!has_table && is_relative(c, i, ADDRESS)) {
			*ret = relative(c->bytes, i + 2, c->vaddr);
			has_table = true;
		}
	}
	return has_index && has_table;
}

int erlang_table_beside(const struct elf_layout *layout, const struct byte_source *src,
			uint64_t function, uint64_t index, uint64_t *ret)
{
	struct code c, called;
	int r = read_code(layout, src, function, &c);

	if (r < 0)
		return r;
	if (find_table(&c, index, ret))
		return 0;
	for (size_t i = 0; i + CALL_BYTES <= c.n; i++) {
		uint64_t to = c.bytes[i] == CALL ? relative(c.bytes, i + 1, function) : 0;

		if (to == 0 || !elf_layout_is_text(layout, to))
			continue;
		r = read_code(layout, src, to, &called);
		return r < 0 ? r : find_table(&called, index, ret) ? 0 : -ENOTSUP;
	}
	return -ENOTSUP;
}

/* Pieces overlap, as a call may lie across the end of one. */
int erlang_return_of_call(const struct elf_layout *layout, const struct byte_source *src,
			  uint64_t function, uint64_t *ret)
{
	const struct elf_section *text = &layout->sections[ELF_SECTION_TEXT];
	AUTO_FREE uint8_t *bytes = malloc(PIECE_BYTES);

	if (!bytes)
		return -ENOMEM;
	if (text->size_bytes > TEXT_MAX)
		return -ENOTSUP;
	for (uint64_t at = 0; at + CALL_BYTES <= text->size_bytes;
	     at += PIECE_BYTES - CALL_BYTES + 1) {
		uint64_t left = text->size_bytes - at;
		size_t n = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
		int r = byte_source_read(src, text->offset + at, bytes, n);

		if (r < 0)
			return r;
		for (size_t i = 0; i + CALL_BYTES <= n; i++) {
			if (bytes[i] != CALL ||
			    relative(bytes, i + 1, text->vaddr + at) != function)
				continue;
			*ret = text->vaddr + at + i + CALL_BYTES;
			return 0;
		}
	}
	return -ENOTSUP;
}
