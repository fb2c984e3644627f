#include "node-agent/dotnet/native_reader.h"

#include <errno.h>

#include "common/elf/file_windows.h"

#define BLOCK_ELEMENTS 16u

uint32_t native_read_number(struct native_reader *r, uint32_t rva, uint32_t bytes)
{
	uint8_t raw[4];
	const uint8_t *p = raw;
	uint64_t offset;
	uint32_t n = 0;

	if (r->error < 0)
		return 0;
	r->error = pe_image_offset(r->pe, rva, bytes, &offset);
	if (r->error == 0 && r->windows)
		r->error = file_windows_get(r->windows, offset, bytes, &p);
	else if (r->error == 0)
		r->error = byte_source_read(r->src, offset, raw, bytes);
	for (uint32_t i = 0; r->error == 0 && i < bytes; i++)
		n |= (uint32_t)p[i] << (8 * i);
	return n;
}

uint32_t native_read_unsigned(struct native_reader *r, uint32_t rva, uint32_t *ret)
{
	uint32_t first = native_read_number(r, rva, 1), n = 1;

	/* the lowest bits that are set say how many bytes follow */
	while (n < 5 && first & 1U << (n - 1))
		n++;
	*ret = first >> n;
	if (n == 5)
		*ret = native_read_number(r, rva + 1, 4);
	for (uint32_t i = 1; n < 5 && i < n; i++)
		*ret |= native_read_number(r, rva + i, 1) << (8 * i - n);
	return rva + n;
}

uint32_t native_read_signed(struct native_reader *r, uint32_t rva, int32_t *ret)
{
	uint32_t n, next = native_read_unsigned(r, rva, &n), bytes = next - rva;
	uint32_t bits = bytes == 5 ? 32 : 7 * bytes;

	if (bits < 32 && n & 1U << (bits - 1))
		n |= ~0U << bits;
	*ret = (int32_t)n;
	return next;
}

void native_array_open(struct native_array *ret, struct native_reader *r, uint32_t rva)
{
	uint32_t head;

	ret->base = native_read_unsigned(r, rva, &head);
	ret->n = r->error < 0 ? 0 : head >> 2;
	ret->width = UINT32_C(1) << (head & 3);
	if (ret->width > 4)
		ret->width = 4;
}

uint32_t native_array_find(const struct native_array *a, struct native_reader *r, uint32_t index)
{
	uint32_t at = a->base + native_read_number(r, a->base + a->width * (index / BLOCK_ELEMENTS),
						   a->width);

	if (index >= a->n)
		return 0;
	for (uint32_t bit = BLOCK_ELEMENTS / 2; bit > 0; bit /= 2) {
		uint32_t node, next = native_read_unsigned(r, at, &node);

		if (r->error < 0)
			return 0;
		if (index & bit && node & 2)
			at += node >> 2;
		else if (!(index & bit) && node & 1)
			at = next;
		else if ((node & 3) == 0 && node >> 2 == (index & (BLOCK_ELEMENTS - 1)))
			return next;
		else
			return 0;
	}
	return at;
}
