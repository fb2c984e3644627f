#include "common/elf/elf_plt.h"

#include <elf.h>
#include <errno.h>

/* All linkers make stubs of 16 bytes, aligned to their size. */
#define STUB_BYTES 16u
#define RELAS_AT_ONCE 128u
/* Programs import thousands of functions at most. */
#define RELAS_MAX 262144u

static int32_t s32_at(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* [endbr64] [bnd] jmp *slot(%rip) */
static bool decode_x86_64(const uint8_t *stub, uint64_t vaddr, uint64_t *ret_slot)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t i = memcmp(stub, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;

	i += stub[i] == 0xf2;
	if (stub[i] != 0xff || stub[i + 1] != 0x25)
		return false;
	*ret_slot = vaddr + i + 6 + (uint64_t)(int64_t)s32_at(stub + i + 2);
	return true;
}

/* adrp x16, page; ldr x17, [x16, #offset]; add; br x17 */
static bool decode_aarch64(const uint8_t *stub, uint64_t vaddr, uint64_t *ret_slot)
{
	uint32_t adrp = (uint32_t)s32_at(stub), ldr = (uint32_t)s32_at(stub + 4);
	uint64_t page;

	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
	if (page >> 20)
		page |= ~UINT64_C(0) << 21; /* the sign of 21 bits */
	*ret_slot = (vaddr & ~UINT64_C(0xfff)) + (page << 12) + ((ldr >> 10 & 0xfff) << 3);
	return true;
}

static int find_symbol_of_slot(const struct elf_layout *l, const struct byte_source *src,
			       uint64_t slot, uint32_t *ret_symbol)
{
	const struct elf_section *s = &l->sections[ELF_SECTION_RELA_PLT];
	uint64_t n = s->size_bytes / sizeof(Elf64_Rela);
	Elf64_Rela relas[RELAS_AT_ONCE];

	if (n > RELAS_MAX)
		n = RELAS_MAX;
	for (uint64_t i = 0; i < n; i += RELAS_AT_ONCE) {
		uint64_t count = n - i < RELAS_AT_ONCE ? n - i : RELAS_AT_ONCE;
		int r;

		r = byte_source_read(src, s->offset + i * sizeof(*relas), relas,
				     (size_t)count * sizeof(*relas));
		if (r < 0)
			return r;
		for (uint64_t j = 0; j < count; j++) {
			if (relas[j].r_offset == slot) {
				*ret_symbol = (uint32_t)ELF64_R_SYM(relas[j].r_info);
				return 0;
			}
		}
	}
	return -ENOENT;
}

/* Spares most addresses the reading of instructions: stubs are not in .text itself. */
static bool may_be_stub(const struct elf_layout *l, uint64_t vaddr)
{
	const struct elf_section *text = &l->sections[ELF_SECTION_TEXT];

	return l->sections[ELF_SECTION_RELA_PLT].size_bytes > 0 &&
	       vaddr - text->vaddr >= text->size_bytes;
}

int elf_plt_find(const struct elf_layout *layout, const struct byte_source *src, uint64_t vaddr,
		 char *name, size_t cap)
{
	const struct elf_section *symbols = &layout->sections[ELF_SECTION_DYNSYM];
	const struct elf_section *strings = &layout->sections[ELF_SECTION_DYNSYM_STRINGS];
	uint64_t start = vaddr & ~(uint64_t)(STUB_BYTES - 1), offset = 0, slot = 0;
	uint8_t stub[STUB_BYTES] = {0};
	bool is_stub;
	uint32_t index = 0;
	Elf64_Sym sym;
	int r;

	if (!may_be_stub(layout, vaddr))
		return -ENOENT;
	r = elf_layout_offset(layout, start, &offset);
	if (r == 0)
		r = byte_source_read(src, offset, stub, sizeof(stub));
	if (r < 0)
		return r;
	is_stub = layout->machine == EM_AARCH64 ? decode_aarch64(stub, start, &slot)
						: decode_x86_64(stub, start, &slot);
	if (!is_stub)
		return -ENOENT;
	r = find_symbol_of_slot(layout, src, slot, &index);
	if (r < 0)
		return r;
	if (index == 0 || (uint64_t)index * sizeof(sym) >= symbols->size_bytes)
		return -ENOENT;
	r = byte_source_read(src, symbols->offset + (uint64_t)index * sizeof(sym), &sym,
			     sizeof(sym));
	if (r == 0)
		r = byte_source_read_string(src, strings->offset + sym.st_name,
					    strings->offset + strings->size_bytes, name, cap);
	if (r < 0)
		return r == -ENAMETOOLONG ? -ENOENT : r;
	return r > 0 ? 0 : -ENOENT;
}
