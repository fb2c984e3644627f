/*
 * Addresses of symbols of an ELF file by exact name: of those that it exports (.dynsym), or of all.
 * Pure.
 *
 * No hash table of the file is used, as those of a hostile file may lead anywhere: the strings are
 * searched for the names, and then the symbols for those strings, each in one pass with a few
 * large reads. So the answer that a library does not export a name, which is most answers, costs
 * one read of its strings.
 */
#ifndef COMMON_ELF_ELF_EXPORTS_H
#define COMMON_ELF_ELF_EXPORTS_H

#include "common/base.h"
#include "common/elf/elf_layout.h"

#define ELF_EXPORTS_NAMES_MAX 32u
#define ELF_EXPORTS_NAME_MAX 127u                            /* bytes of a name */
#define ELF_EXPORTS_STRINGS_MAX ((uint64_t)64 * 1024 * 1024) /* browsers have some 10 MB */

/*
 * Sets vaddrs[i] to the address of names[i], or to 0. Returns how many were found, -EINVAL if there
 * are more names, or a longer one, than allowed; -EFBIG if the file has too many symbols or
 * strings; or an error of byte_source_read().
 */
int elf_exports_find(const struct elf_layout *layout, const struct byte_source *src,
		     const char *const *names, uint64_t *vaddrs, size_t n) MUST_CHECK;

/*
 * The same of all symbols (.symtab), also of local ones; a stripped file has none.
 */
int elf_names_find(const struct elf_layout *layout, const struct byte_source *src,
		   const char *const *names, uint64_t *vaddrs, size_t n) MUST_CHECK;

#endif /* COMMON_ELF_ELF_EXPORTS_H */
