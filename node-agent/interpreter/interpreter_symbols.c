#include "node-agent/interpreter/interpreter_symbols.h"

#include "common/elf/elf_exports.h"

/* Of symbols that are not exported. Larger programs were not made to be searched like this. */
#define LOCAL_STRINGS_MAX (32u << 20)

int interpreter_symbols_find(const struct elf_layout *layout, const struct byte_source *src,
			     const char *const *names, uint64_t *vaddrs, size_t n)
{
	int r = elf_exports_find(layout, src, names, vaddrs, n);

	if (r != 0 || layout->is_go ||
	    layout->sections[ELF_SECTION_SYMTAB_STRINGS].size_bytes > LOCAL_STRINGS_MAX)
		return r;
	return elf_names_find(layout, src, names, vaddrs, n);
}
