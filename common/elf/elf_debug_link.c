#include "common/elf/elf_debug_link.h"

#include <errno.h>

int elf_debug_link_read(const struct elf_layout *layout, const struct byte_source *src,
			struct elf_debug_link *ret)
{
	const struct elf_section *s = &layout->sections[ELF_SECTION_DEBUG_LINK];
	struct elf_debug_link link = {.crc = 0};
	uint64_t crc_at;
	int len, r;

	if (s->size_bytes == 0)
		return -ENOENT;
	len = byte_source_read_string(src, s->offset, s->offset + s->size_bytes, link.name,
				      sizeof(link.name));
	if (len < 0)
		return len == -ENAMETOOLONG ? -ENOENT : len;
	if (len == 0 || strchr(link.name, '/') || strcmp(link.name, ".") == 0 ||
	    strcmp(link.name, "..") == 0)
		return -ENOENT;
	/* the checksum begins at a multiple of four */
	crc_at = ((uint64_t)len + 1 + 3) & ~UINT64_C(3);
	if (crc_at + sizeof(link.crc) > s->size_bytes)
		return -ENOENT;
	r = byte_source_read(src, s->offset + crc_at, &link.crc, sizeof(link.crc));
	if (r < 0)
		return r;
	*ret = link;
	return 0;
}
