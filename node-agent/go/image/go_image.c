/*
 * Two ways to the same bytes: constant data is in the file and in the memory of each process
 * that runs it. The file is preferred. It is the same for all processes, so results can be
 * shared, and a process cannot tamper with it by writing to its own memory. Only what differs
 * per process (variables, relocated pointers, packed programs) is read from memory.
 *
 * The module data is found by the file's .go.module section (since 1.26), by its symbol, or
 * else by a scan of writable segments for its shape (go_module_scan()).
 */
#include "node-agent/go/image/go_image.h"

#include <errno.h>

#include "common/elf/elf_symbols.h"

#define PAGE_BYTES UINT64_C(4096)

/* ---- the file by addresses ---- */

/* Extends the range to whole pages, as the kernel maps them, so that whole pages can be read. */
static void round_to_pages(const struct elf_segment *s, struct go_range *r)
{
	uint64_t end;

	if ((s->vaddr - s->offset) % PAGE_BYTES != 0)
		return;
	r->start &= ~(PAGE_BYTES - 1);
	if (!__builtin_add_overflow(r->end, PAGE_BYTES - 1, &end))
		r->end = end & ~(PAGE_BYTES - 1);
}

/* Returns an empty range if the program may write to the whole segment. */
static struct go_range constant_part(const struct elf_layout *l, const struct elf_segment *s)
{
	struct go_range r = {s->vaddr, s->vaddr + s->file_bytes};

	if (s->writable && l->relro_start > r.start)
		r.start = l->relro_start;
	if (s->writable && l->relro_end < r.end)
		r.end = l->relro_end;
	if (r.start < r.end)
		round_to_pages(s, &r);
	return r;
}

static int read_constant(void *ctx, uint64_t address, void *to, size_t len)
{
	const struct go_image *im = ctx;
	uint64_t vaddr = address - im->bias;

	for (uint32_t i = 0; i < im->layout->n_segments; i++) {
		const struct elf_segment *s = &im->layout->segments[i];
		const struct go_range part = constant_part(im->layout, s);

		if (go_range_has(&part, vaddr) && len <= part.end - vaddr)
			return byte_source_read(im->file, s->offset + (vaddr - s->vaddr), to, len);
	}
	return -ENODATA;
}

void byte_source_from_image(struct byte_source *src, struct go_image *im)
{
	byte_source_from_reader(src, read_constant, im, im->memory->size_bytes);
}

/* ---- modules ---- */

/* Finds the module by a section or symbol. */
static int find_named_module(const struct go_image *im, const struct byte_source *file,
			     struct go_module *ret)
{
	const struct elf_section *own = &im->layout->sections[ELF_SECTION_GO_MODULE];
	uint64_t vaddr = 0;
	int r = -ENOENT;

	if (own->size_bytes > 0)
		r = go_module_parse(ret, im->memory, file, own->vaddr + im->bias, im->minor);
	if (r == 0)
		return 0;
	r = elf_symbol_address(im->layout, im->file, "runtime.firstmoduledata", &vaddr);
	if (r == 0)
		r = go_module_parse(ret, im->memory, file, vaddr + im->bias, im->minor);
	return r;
}

int go_image_find_module(const struct go_image *im, const struct byte_source *file, uint64_t *ret)
{
	const struct elf_layout *layout = im->layout;
	struct go_module module;
	int r = find_named_module(im, file, &module);

	for (uint32_t i = 0; r < 0 && r != -ENOMEM && i < layout->n_segments; i++) {
		const struct elf_segment *s = &layout->segments[i];
		const struct go_range range = {
			.start = s->vaddr + im->bias,
			.end = s->vaddr + im->bias + s->file_bytes,
		};

		if (s->writable)
			r = go_module_scan(&module, im->memory, file, &range, im->minor);
	}
	if (r == 0)
		*ret = module.address;
	return r;
}

int go_image_modules(const struct go_image *image, const struct byte_source *file, uint64_t address,
		     struct go_module *modules, size_t max)
{
	size_t n = 0;

	while (address != 0 && n < max) {
		int r = go_module_parse(&modules[n], image->memory, n == 0 ? file : NULL, address,
					image->minor);

		if (r < 0)
			return n > 0 && r == -ENOENT ? (int)n : r;
		address = modules[n++].next;
	}
	return (int)n;
}
