/*
 * Any bytes as an ELF file of Go: the table is found and searched within its bounds, and so are its
 * assembly, and the lines and inlined calls of addresses.
 */
#include <assert.h>

#include "node-agent/gopclntab/gopclntab_assembly.h"
#include "node-agent/gopclntab/gopclntab_module.h"
#include "node-agent/symbol/go_location.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_assembly(const struct gopclntab *go, const struct elf_layout *l,
			  const struct byte_source *src)
{
	static struct gopclntab_assembly ranges[64];
	int n = gopclntab_assembly(go, l, src, ranges, ARRAY_SIZE(ranges));

	for (int i = 0; i < n; i++) {
		assert(ranges[i].start < ranges[i].end);
		assert(i == 0 || ranges[i].start >= ranges[i - 1].end);
		assert(ranges[i].frame_bytes <= GOPCLNTAB_ASSEMBLY_FRAME_MAX);
	}
}

/* Texts are clean, and a location has at least one frame. */
static void find_lines(const struct gopclntab *go, const struct elf_layout *l,
		       const struct byte_source *src)
{
	static struct gopclntab_line line;
	uint64_t extra_bytes = GO_LOCATION_MAX_BYTES;
	struct go_location_file f = {
		.table = go,
		.layout = l,
		.src = src,
		.label = "[x]",
		.extra_bytes = &extra_bytes,
	};
	struct frame_cache *cache;

	if (frame_cache_new(&cache, 1 << 16, 64) < 0)
		return;
	if (gopclntab_find_gofunc(go, l, src, &f.gofunc) < 0)
		f.gofunc = 0;
	for (uint64_t i = 0; i < 32; i++) {
		const struct symbol_location *found;

		if (go_location_find(cache, &f, go->first + (go->end - go->first) / 32 * i, &line,
				     &found) < 0)
			continue;
		assert(found->n >= 1 && found->n <= SYMBOL_LOCATION_FRAMES_MAX);
		for (size_t k = 0; k < found->n; k++) {
			assert(found->frames[k].function[0] && found->frames[k].file[0]);
			assert(!strchr(found->frames[k].file, ' '));
		}
	}
	frame_cache_free(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_source src;
	struct elf_layout l;
	struct gopclntab go;
	char name[256];

	byte_source_from_memory(&src, data, size);
	if (elf_layout_parse(&l, &src) < 0 || gopclntab_open(&go, &l, &src) < 0)
		return 0;
	assert(go.offset + go.size_bytes <= size);
	assert(go.first < go.end && elf_layout_is_text(&l, go.first));
	for (uint64_t i = 0; i < 32; i++) {
		uint64_t vaddr = go.first + (go.end - go.first) / 32 * i;

		if (gopclntab_find(&go, &src, vaddr, name, sizeof(name)) == 0)
			assert(strlen(name) > 0 && strlen(name) < sizeof(name));
	}
	find_assembly(&go, &l, &src);
	find_lines(&go, &l, &src);
	return 0;
}
