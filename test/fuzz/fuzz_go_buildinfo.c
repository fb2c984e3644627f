/*
 * Any bytes as an ELF file, and as the memory it is loaded to: the release, the module and
 * the names of its code are read within bounds.
 */
#include <assert.h>

#include "node-agent/go/image/go_buildinfo.h"
#include "node-agent/go/image/go_image.h"
#include "node-agent/gopclntab/gopclntab_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_image(const struct elf_layout *l, const struct byte_source *src, unsigned minor)
{
	struct go_image image = {.layout = l, .file = src, .memory = src, .minor = minor};
	static struct gopclntab_line line;
	struct gopclntab_trees trees;
	struct byte_source file;
	struct go_module m;
	uint64_t address;

	byte_source_from_image(&file, &image);
	if (go_image_find_module(&image, &file, &address) < 0 ||
	    go_image_modules(&image, &file, address, &m, 1) != 1)
		return;
	assert(m.source == (m.in_file ? &file : src));
	trees = (struct gopclntab_trees){.memory = m.source, .gofunc = m.gofunc};
	for (uint64_t i = 0; i < 16; i++) {
		uint64_t at = m.table.first + (m.table.end - m.table.first) / 16 * i;

		if (gopclntab_find_line(&m.table, m.source, &trees, at, &line) == 0)
			assert(line.name[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source src;
	struct go_buildinfo b;
	struct elf_layout l;
	unsigned minor;

	if (go_version_parse((const char *)data, size, &minor) == 0)
		assert(minor < 1000);
	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&l, &src) < 0 || go_buildinfo_find(&b, &l, &src) < 0)
		return 0;
	assert(b.offset < size);
	if (go_buildinfo_minor(&b, &l, &src, &src, 0, &minor) < 0)
		return 0;
	assert(minor < 1000);
	read_image(&l, &src, minor);
	return 0;
}
