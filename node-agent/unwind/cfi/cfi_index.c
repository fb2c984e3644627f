/*
 * Linkers write a sorted index of .eh_frame, .eh_frame_hdr, which is read from the file as needed.
 * Without it (.debug_frame never has one, static executables may lack it) all descriptions are
 * read once to make one: they are in the order of the linker's inputs, which is not that of code.
 *
 * .eh_frame is found by its section. A file without section headers has its address in
 * .eh_frame_hdr, which a program header finds; then it counts as reaching to the end of its
 * segment.
 */
#include "node-agent/unwind/cfi/cfi_index.h"

#include <errno.h>

#include "common/data/word_sort.h"
#include "node-agent/unwind/cfi/cfi_cursor.h"
#include "node-agent/unwind/cfi/debug_frame.h"

#define HDR_VERSION 1
#define HDR_HEAD_BYTES 4u
#define HDR_MAX_BYTES 32u /* all before the entries */
#define ENC_DATAREL_SDATA4 0x3b
#define ENC_DATAREL 0x30
#define ENC_OMITTED 0xff

struct hdr {
	uint64_t eh_frame;
	uint64_t n; /* 0: it has no table */
	uint64_t table_offset;
};

static uint64_t header_pointer(struct cfi_cursor *c, uint8_t encoding, uint64_t hdr, uint64_t vaddr)
{
	if ((encoding & ~CFI_POINTER_FORMAT) == ENC_DATAREL)
		return hdr + cfi_cursor_number(c, encoding);
	return cfi_cursor_pointer(c, encoding, vaddr);
}

static int read_hdr(struct hdr *ret, const struct elf_layout *l, struct file_windows *windows)
{
	uint64_t offset = 0, left = l->eh_frame_hdr_bytes;
	struct cfi_cursor c;
	const uint8_t *p;
	int r;

	*ret = (struct hdr){.n = 0};
	if (left < HDR_HEAD_BYTES || elf_layout_offset(l, l->eh_frame_hdr, &offset) < 0)
		return -ENOENT;
	if (left > HDR_MAX_BYTES)
		left = HDR_MAX_BYTES;
	r = file_windows_get(windows, offset, (size_t)left, &p);
	if (r < 0)
		return r == -ENODATA ? -ENOENT : r;
	c = (struct cfi_cursor){.p = p + HDR_HEAD_BYTES, .end = p + left};
	if (p[0] != HDR_VERSION)
		return -ENOENT;
	ret->eh_frame = header_pointer(&c, p[1], l->eh_frame_hdr, l->eh_frame_hdr + HDR_HEAD_BYTES);
	if (c.bad)
		return -ENOENT;
	if (p[2] == ENC_OMITTED || p[3] != ENC_DATAREL_SDATA4)
		return 0;
	ret->n = header_pointer(&c, p[2], l->eh_frame_hdr, l->eh_frame_hdr + (uint64_t)(c.p - p));
	ret->table_offset = offset + (uint64_t)(c.p - p);
	left = l->eh_frame_hdr_bytes - (uint64_t)(c.p - p);
	if (c.bad || ret->n > left / CFI_INDEX_ENTRY_BYTES)
		ret->n = 0;
	return 0;
}

static const struct elf_segment *segment_of(const struct elf_layout *l, uint64_t vaddr)
{
	for (uint32_t i = 0; i < l->n_segments; i++) {
		const struct elf_segment *s = &l->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->file_bytes)
			return s;
	}
	return NULL;
}

/* Returns false if the file has no .eh_frame. */
static bool find_eh_frame(struct cfi_section *ret, const struct elf_layout *l,
			  const struct hdr *hdr)
{
	const struct elf_section *s = &l->sections[ELF_SECTION_EH_FRAME];
	const struct elf_segment *segment = segment_of(l, hdr->eh_frame);

	if (s->size_bytes > 0) {
		ret->offset = s->offset;
		ret->vaddr = s->vaddr;
		ret->size_bytes = s->size_bytes;
		return true;
	}
	if (!segment || hdr->eh_frame == 0)
		return false;
	ret->vaddr = hdr->eh_frame;
	ret->offset = segment->offset + (hdr->eh_frame - segment->vaddr);
	ret->size_bytes = segment->file_bytes - (hdr->eh_frame - segment->vaddr);
	return true;
}

/* ---- without the linker's index ---- */

/*
 * Stores the functions from `at` on, unless it is NULL, and counts them. A file can have a gigabyte
 * of entries that are 4 bytes long and nothing on disk, so entries of all kinds are counted.
 */
static int scan(struct cfi_index *x, uint64_t *at, uint64_t max, uint64_t *ret_n)
{
	uint64_t n = 0, position = 0;

	for (uint32_t i = 0;
	     i < CFI_INDEX_SCANNED_MAX && position < x->section.size_bytes && n < max; i++) {
		struct cfi_function f;
		const struct cfi_cie *cie;
		struct cfi_entry e;
		int r = cfi_entry_read(&e, &x->section, position);

		if (r < 0 && r != -EBADMSG)
			return r;
		if (e.next <= position)
			break; /* the rest cannot be found */
		position = e.next;
		if (r < 0 || e.is_terminator || e.is_cie)
			continue;
		if (at) {
			r = cfi_entry_function(&f, &cie, &x->section, &x->cies, e.position);
			if (r < 0 && r != -EBADMSG)
				return r;
			if (r < 0)
				continue;
			at[2 * n] = f.start;
			at[2 * n + 1] = e.position;
		}
		n++;
	}
	*ret_n = n;
	return 0;
}

static int make_index(struct cfi_index *x)
{
	int r = scan(x, NULL, CFI_INDEX_SORTED_MAX, &x->n);

	if (r < 0)
		return r;
	if (x->n == 0)
		return -ENOENT;
	x->functions = calloc(x->n, 2 * sizeof(*x->functions));
	if (!x->functions)
		return -ENOMEM;
	r = scan(x, x->functions, x->n, &x->n);
	if (r == 0)
		word_sort(x->functions, x->n, 2 * sizeof(*x->functions));
	return r;
}

/* ---- open and close ---- */

int cfi_index_open(struct cfi_index *ret, const struct elf_layout *layout,
		   struct file_windows *windows)
{
	struct hdr hdr;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->section.windows = windows;
	if (!cfi_registers_of(layout->machine, &ret->section.registers))
		return -ENOENT;
	r = read_hdr(&hdr, layout, windows);
	if (r < 0 && r != -ENOENT)
		return r;
	if (!find_eh_frame(&ret->section, layout, &hdr))
		return -ENOENT;
	if (hdr.n == 0) {
		r = make_index(ret);
		if (r < 0)
			cfi_index_fini(ret);
		return r;
	}
	ret->n = hdr.n < CFI_INDEX_MAX ? hdr.n : CFI_INDEX_MAX;
	ret->table_offset = hdr.table_offset;
	ret->table_vaddr = layout->eh_frame_hdr;
	return 0;
}

static int inflate_section(struct cfi_index *x, const struct elf_section *s,
			   const struct byte_source *src)
{
	int r = debug_frame_inflate(s, src, &x->inflated, &x->section.size_bytes);

	if (r < 0)
		return r;
	byte_source_from_memory(&x->inflated_src, x->inflated, x->section.size_bytes);
	r = file_windows_new(&x->inflated_windows, &x->inflated_src);
	x->section.windows = x->inflated_windows;
	x->section.offset = 0;
	return r;
}

int cfi_index_open_debug(struct cfi_index *ret, const struct elf_layout *layout,
			 const struct byte_source *src, struct file_windows *windows)
{
	const struct elf_section *s = &layout->sections[ELF_SECTION_DEBUG_FRAME];
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	if (s->size_bytes == 0 || !cfi_registers_of(layout->machine, &ret->section.registers))
		return -ENOENT;
	ret->section.windows = windows;
	ret->section.offset = s->offset;
	ret->section.size_bytes = s->size_bytes;
	ret->section.is_debug_frame = true;
	if (s->compressed)
		r = inflate_section(ret, s, src);
	if (r == 0)
		r = make_index(ret);
	if (r < 0)
		cfi_index_fini(ret);
	return r;
}

void cfi_index_fini(struct cfi_index *x)
{
	if (!x)
		return;
	file_windows_free(x->inflated_windows);
	free(x->inflated);
	free(x->functions);
	x->functions = NULL;
	x->inflated = NULL;
	x->inflated_windows = NULL;
}

struct entry {
	uint64_t start;
	uint64_t position;
};

static int read_entry(const struct cfi_index *x, uint64_t i, struct entry *ret)
{
	const uint8_t *p;
	int32_t pair[2];
	int r;

	if (x->functions) {
		*ret = (struct entry){x->functions[2 * i], x->functions[2 * i + 1]};
		return 0;
	}
	r = file_windows_get(x->section.windows, x->table_offset + i * sizeof(pair), sizeof(pair),
			     &p);
	if (r < 0)
		return r;
	memcpy(pair, p, sizeof(pair));
	ret->start = x->table_vaddr + (uint64_t)(int64_t)pair[0];
	ret->position = x->table_vaddr + (uint64_t)(int64_t)pair[1] - x->section.vaddr;
	return 0;
}

int cfi_index_start(const struct cfi_index *x, uint64_t i, uint64_t *ret)
{
	struct entry e;
	int r = read_entry(x, i, &e);

	if (r == 0)
		*ret = e.start;
	return r;
}

int cfi_index_function(struct cfi_index *x, uint64_t i, struct cfi_function *ret,
		       const struct cfi_cie **ret_cie)
{
	struct entry e;
	int r = read_entry(x, i, &e);

	return r == 0 ? cfi_entry_function(ret, ret_cie, &x->section, &x->cies, e.position) : r;
}
