#include "node-agent/go/go_image.h"

#include <errno.h>

#include "node-agent/symbol/elf_symbols.h"

/* Where a section or a symbol says that it is. */
static int find_named_module(const struct go_image *im, struct go_module *ret)
{
	const struct elf_section *own = &im->layout->sections[ELF_SECTION_GO_MODULE];
	uint64_t vaddr = 0;
	int r = -ENOENT;

	if (own->size_bytes > 0)
		r = go_module_parse(ret, im->memory, own->vaddr + im->bias, im->minor);
	if (r == 0)
		return 0;
	r = elf_symbol_address(im->layout, im->file, "runtime.firstmoduledata", &vaddr);
	if (r == 0)
		r = go_module_parse(ret, im->memory, vaddr + im->bias, im->minor);
	return r;
}

int go_image_find_module(const struct go_image *im, struct go_module *ret)
{
	const struct elf_layout *layout = im->layout;
	int r = find_named_module(im, ret);

	for (uint32_t i = 0; r < 0 && r != -ENOMEM && i < layout->n_segments; i++) {
		const struct elf_segment *s = &layout->segments[i];
		const struct go_range range = {
			.start = s->vaddr + im->bias,
			.end = s->vaddr + im->bias + s->file_bytes,
		};

		if (s->writable)
			r = go_module_scan(ret, im->memory, &range, im->minor);
	}
	return r;
}

int go_image_modules(const struct go_image *image, uint64_t address, struct go_module *modules,
		     size_t max)
{
	size_t n = 0;

	while (address != 0 && n < max) {
		int r = go_module_parse(&modules[n], image->memory, address, image->minor);

		if (r < 0)
			return n > 0 && r == -ENOENT ? (int)n : r;
		address = modules[n++].next;
	}
	return (int)n;
}
