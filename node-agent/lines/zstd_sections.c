/*
 * libdw takes a section from libelf by elf_getdata(), after it has had libelf decompress it if the
 * header says that it is compressed. So the header must not say so any more, and the data be what
 * was compressed. Both belong to libelf and are ours to change as long as the file is not mapped:
 * elf_update(3), which would write them, is never called.
 */
#include "node-agent/lines/zstd_sections.h"

#include <gelf.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD /* glibc before 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif
#define DEBUG_PREFIX ".debug_"

struct zstd_section {
	struct zstd_section *next;
	uint8_t data[];
};

static bool is_packed(Elf *elf, size_t names, Elf_Scn *scn, GElf_Shdr *ret, GElf_Chdr *ret_packed)
{
	const char *name;

	if (!gelf_getshdr(scn, ret) || !(ret->sh_flags & SHF_COMPRESSED))
		return false;
	name = elf_strptr(elf, names, ret->sh_name);
	return name && strncmp(name, DEBUG_PREFIX, strlen(DEBUG_PREFIX)) == 0 &&
	       gelf_getchdr(scn, ret_packed) && ret_packed->ch_type == ELFCOMPRESS_ZSTD;
}

bool zstd_sections_has(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr head;
	GElf_Chdr packed;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		if (is_packed(elf, names, scn, &head, &packed))
			return true;
	}
	return false;
}

static void unpack(struct zstd_sections *z, Elf_Scn *scn, GElf_Shdr *head, const GElf_Chdr *packed)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	AUTO_FREE struct zstd_section *s = NULL;
	const size_t skip = sizeof(Elf64_Chdr);

	if (!data || !data->d_buf || data->d_size <= skip || packed->ch_size == 0 ||
	    packed->ch_size > ZSTD_SECTIONS_MAX_BYTES - z->bytes)
		return;
	s = malloc(sizeof(*s) + packed->ch_size);
	if (!s || ZSTD_decompress(s->data, packed->ch_size, (const char *)data->d_buf + skip,
				  data->d_size - skip) != packed->ch_size)
		return;
	head->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	head->sh_size = packed->ch_size;
	if (!gelf_update_shdr(scn, head))
		return;
	data->d_buf = s->data;
	data->d_size = packed->ch_size;
	z->bytes += packed->ch_size;
	s->next = z->first;
	z->first = TAKE_PTR(s);
}

void zstd_sections_unpack(struct zstd_sections *z, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr head;
	GElf_Chdr packed;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		if (is_packed(elf, names, scn, &head, &packed))
			unpack(z, scn, &head, &packed);
	}
}

void zstd_sections_fini(struct zstd_sections *z)
{
	while (z->first) {
		struct zstd_section *s = z->first;

		z->first = s->next;
		free(s);
	}
	z->bytes = 0;
}
