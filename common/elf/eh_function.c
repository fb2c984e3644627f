/*
 * Code of a stripped library has no names, but samples of one function should still be
 * together. Each address on its own would spread a hot function over hundreds of frames.
 * Exception tables say where functions begin and end, because unwinding needs that, and
 * stripping keeps them.
 *
 * The index alone is not enough: it has starts but no ends, so that an address in padding, or
 * in assembly without a description, would be attributed to the function before it. Therefore
 * the description (FDE) is read as well, and its common part (CIE), which says how the FDE's
 * addresses are encoded.
 *
 * Of the encodings that DWARF allows, only those are understood that linkers write: a binary
 * search table of 32-bit offsets, and addresses relative to their own place. Tables with
 * others count as absent.
 */
#include "common/elf/eh_function.h"

#include <errno.h>

/*
 * Pointer encodings: the low half is the format of a value, the high half what it is relative
 * to.
 */
#define ENC_UDATA4 0x03
#define ENC_UDATA8 0x04
#define ENC_SDATA4 0x0b
#define ENC_SDATA8 0x0c
#define ENC_FORMAT 0x0f
#define ENC_PCREL 0x10
#define ENC_DATAREL_SDATA4 0x3b

#define HDR_VERSION 1
#define CIE_BYTES 64u /* enough for its augmentation */

struct index_entry {
	int32_t function; /* both relative to the start of .eh_frame_hdr */
	int32_t description;
};

static int read_at(const struct elf_layout *l, const struct byte_source *src, uint64_t vaddr,
		   void *to, size_t len)
{
	uint64_t offset;
	int r = elf_layout_offset(l, vaddr, &offset);

	if (r == 0)
		r = byte_source_read(src, offset, to, len);
	return r == -ENODATA ? -ENOENT : r;
}

static size_t encoded_bytes(uint8_t enc)
{
	switch (enc & ENC_FORMAT) {
	case ENC_UDATA4:
	case ENC_SDATA4:
		return 4;
	case ENC_UDATA8:
	case ENC_SDATA8:
		return 8;
	default:
		return 0;
	}
}

/* Finds the sorted index: its address and its number of entries. */
static int find_index(const struct elf_layout *l, const struct byte_source *src,
		      uint64_t *ret_vaddr, uint32_t *ret_n)
{
	uint8_t hdr[4];
	uint32_t n;
	size_t skip;
	int r;

	if (l->eh_frame_hdr_bytes < sizeof(hdr))
		return -ENOENT;
	r = read_at(l, src, l->eh_frame_hdr, hdr, sizeof(hdr));
	if (r < 0)
		return r;
	skip = sizeof(hdr) + encoded_bytes(hdr[1]);
	if (hdr[0] != HDR_VERSION || skip == sizeof(hdr) || hdr[2] != ENC_UDATA4 ||
	    hdr[3] != ENC_DATAREL_SDATA4)
		return -ENOENT;
	r = read_at(l, src, l->eh_frame_hdr + skip, &n, sizeof(n));
	if (r < 0)
		return r;
	skip += sizeof(n);
	if (l->eh_frame_hdr_bytes < skip ||
	    n > (l->eh_frame_hdr_bytes - skip) / sizeof(struct index_entry))
		return -ENOENT;
	*ret_vaddr = l->eh_frame_hdr + skip;
	*ret_n = n;
	return n > 0 ? 0 : -ENOENT;
}

static uint64_t function_of(const struct elf_layout *l, const struct index_entry *e)
{
	return l->eh_frame_hdr + (uint64_t)(int64_t)e->function;
}

/* Finds the last entry whose function begins at or before vaddr. */
static int search_index(const struct elf_layout *l, const struct byte_source *src, uint64_t vaddr,
			struct index_entry *ret)
{
	uint64_t index;
	uint32_t lo = 0, hi, n;
	int r;

	r = find_index(l, src, &index, &n);
	if (r < 0)
		return r;
	for (hi = n; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;
		struct index_entry e;

		r = read_at(l, src, index + (uint64_t)mid * sizeof(e), &e, sizeof(e));
		if (r < 0)
			return r;
		if (function_of(l, &e) <= vaddr) {
			lo = mid + 1;
			*ret = e;
		} else {
			hi = mid;
		}
	}
	return lo > 0 ? 0 : -ENOENT;
}

/* Skips n LEB128 numbers. Returns false if they do not end before end. */
static bool skip_lebs(const uint8_t **p, const uint8_t *end, unsigned n)
{
	for (; n > 0 && *p < end; (*p)++)
		n -= !(**p & 0x80);
	return n == 0;
}

/* Returns the encoding of addresses in the FDEs of a CIE: the 'R' of its augmentation. */
static int pointer_encoding(const uint8_t *cie, size_t len)
{
	const uint8_t *end = cie + len, *augmentation = cie + 9, *p;
	uint8_t version = cie[8];

	p = memchr(augmentation, '\0', (size_t)(end - augmentation));
	if (!p || augmentation[0] != 'z')
		return -ENOENT;
	p++;
	/* code and data alignment, return register */
	if (!skip_lebs(&p, end, 2) || (version == 1 ? p++ >= end : !skip_lebs(&p, end, 1)))
		return -ENOENT;
	if (!skip_lebs(&p, end, 1)) /* length of what follows */
		return -ENOENT;
	for (const uint8_t *a = augmentation + 1; *a && p < end; a++) {
		switch (*a) {
		case 'R':
			return *p;
		case 'L':
			p++;
			break;
		case 'P':
			if (encoded_bytes(*p) == 0)
				return -ENOENT;
			p += 1 + encoded_bytes(*p);
			break;
		case 'S':
		case 'B':
			break;
		default:
			return -ENOENT;
		}
	}
	return -ENOENT;
}

/* Reads the size of the function at start from its FDE; 0 if the FDE is another function's. */
static int read_range(const struct elf_layout *l, const struct byte_source *src, uint64_t fde,
		      uint64_t start, uint64_t *ret_bytes)
{
	uint8_t cie[CIE_BYTES] = {0};
	uint32_t head[2]; /* length, distance back to the CIE */
	uint64_t begin = 0, bytes = 0;
	size_t width;
	int r, enc;

	r = read_at(l, src, fde, head, sizeof(head));
	if (r < 0)
		return r;
	if (head[0] < 8 || head[0] == UINT32_MAX || head[1] == 0)
		return -ENOENT;
	r = read_at(l, src, fde + 4 - head[1], cie, sizeof(cie));
	if (r < 0)
		return r;
	/* a CIE has 0 where an FDE has the distance to its CIE */
	if (memcmp(cie + 4, (const uint8_t[4]){0}, 4) != 0)
		return -ENOENT;
	enc = pointer_encoding(cie, sizeof(cie));
	if (enc < 0)
		return enc;
	width = encoded_bytes((uint8_t)enc);
	if (width == 0 || (enc & ~ENC_FORMAT) != ENC_PCREL)
		return -ENOENT;
	r = read_at(l, src, fde + 8, &begin, width);
	if (r == 0)
		r = read_at(l, src, fde + 8 + width, &bytes, width);
	if (r < 0)
		return r;
	if (width == 4)
		begin = (uint64_t)(int64_t)(int32_t)begin;
	*ret_bytes = begin + fde + 8 == start ? bytes : 0;
	return 0;
}

int eh_function_before(const struct elf_layout *layout, const struct byte_source *src,
		       uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	struct index_entry e = {0};
	uint64_t start, bytes = 0;
	int r;

	r = search_index(layout, src, vaddr, &e);
	if (r < 0)
		return r;
	start = function_of(layout, &e);
	r = read_range(layout, src, layout->eh_frame_hdr + (uint64_t)(int64_t)e.description, start,
		       &bytes);
	if (r < 0)
		return r;
	*ret_start = start;
	if (__builtin_add_overflow(start, bytes, ret_end))
		*ret_end = UINT64_MAX;
	return 0;
}

int eh_function_start(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t vaddr, uint64_t *ret_vaddr)
{
	uint64_t start, end;
	int r = eh_function_before(layout, src, vaddr, &start, &end);

	if (r < 0)
		return r;
	if (vaddr >= end)
		return -ENOENT;
	*ret_vaddr = start;
	return 0;
}

/* ---- gaps ---- */

#define GAP_ENTRIES 256u           /* read at once */
#define GAP_ENTRIES_MAX (4u << 20) /* of larger files, only the first are looked at */

struct gap {
	struct index_entry before; /* the function in front of it */
	uint64_t next;             /* where that behind it begins */
	uint64_t bytes;            /* between where both begin */
};

/* Keeps the longest one of those between entries that follow each other. */
static int search_gap(const struct elf_layout *l, const struct byte_source *src, uint64_t index,
		      uint32_t n, struct gap *ret)
{
	const struct elf_section *text = &l->sections[ELF_SECTION_TEXT];
	struct index_entry entries[GAP_ENTRIES], last = {0};

	for (uint32_t i = 0; i < n; i += GAP_ENTRIES) {
		uint32_t n_read = n - i < GAP_ENTRIES ? n - i : GAP_ENTRIES;
		int r = read_at(l, src, index + (uint64_t)i * sizeof(last), entries,
				n_read * sizeof(last));

		if (r < 0)
			return r;
		for (uint32_t k = 0; k < n_read; last = entries[k++]) {
			uint64_t from = function_of(l, &last), to = function_of(l, &entries[k]);

			if (i + k == 0 || from < text->vaddr || to <= from ||
			    to - text->vaddr >= text->size_bytes || to - from <= ret->bytes)
				continue;
			*ret = (struct gap){.before = last, .next = to, .bytes = to - from};
		}
	}
	return 0;
}

int eh_function_gap(const struct elf_layout *layout, const struct byte_source *src,
		    uint64_t *ret_start, uint64_t *ret_end)
{
	struct gap gap = {0};
	uint64_t index, start, bytes = 0;
	uint32_t n;
	int r = find_index(layout, src, &index, &n);

	if (r == 0)
		r = search_gap(layout, src, index, n < GAP_ENTRIES_MAX ? n : GAP_ENTRIES_MAX, &gap);
	if (r < 0 || gap.bytes == 0)
		return r < 0 ? r : -ENOENT;
	start = function_of(layout, &gap.before);
	r = read_range(layout, src,
		       layout->eh_frame_hdr + (uint64_t)(int64_t)gap.before.description, start,
		       &bytes);
	if (r < 0 || bytes >= gap.bytes)
		return r < 0 ? r : -ENOENT;
	*ret_start = start + bytes;
	*ret_end = gap.next;
	return 0;
}
