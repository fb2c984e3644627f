/*
 * The tables of a function are read from their start, once for each function that is inlined at the
 * address, so a hostile file could make one address cost seconds, and thousands of addresses hours.
 * Hence two limits: of one address, and of what all addresses of a file may need beyond the usual.
 */
#include "node-agent/symbol/go_location.h"

#include <errno.h>

#include "common/limits.h"
#include "node-agent/gopclntab/gopclntab_record.h"

_Static_assert(GOPCLNTAB_TEXT_BYTES <= LIMIT_SYMBOL_NAME_BYTES + 1, "a name is not too long");

#define EXTRA_MAX_BYTES (GO_LOCATION_MAX_BYTES - GO_LOCATION_USUAL_BYTES)

/* Reads by address, because inline trees contain addresses. */
struct address_reader {
	const struct elf_layout *layout;
	const struct byte_source *src;
};

static int read_at_address(void *ctx, uint64_t vaddr, void *to, size_t len)
{
	const struct address_reader *a = ctx;
	uint64_t offset;
	int r = elf_layout_offset(a->layout, vaddr, &offset);

	return r == 0 ? byte_source_read(a->src, offset, to, len) : r;
}

static int add_frame(struct frame_cache *cache, const struct go_location_file *f,
		     struct gopclntab_line *line, struct symbol_frame *ret)
{
	int r;

	gopclntab_line_clean(line);
	r = frame_cache_text(cache, line->name, &ret->function);
	if (r == 0)
		r = frame_cache_text(cache, line->file[0] ? line->file : f->label, &ret->file);
	ret->line = line->file[0] ? line->line : 0;
	ret->start_line = line->start_line;
	return r == -EFBIG ? -ENOSPC : r;
}

int go_location_find(struct frame_cache *cache, const struct go_location_file *f, uint64_t vaddr,
		     struct gopclntab_line *line, const struct symbol_location **ret)
{
	uint64_t max_bytes = *f->extra_bytes < EXTRA_MAX_BYTES
				     ? GO_LOCATION_USUAL_BYTES + *f->extra_bytes
				     : GO_LOCATION_MAX_BYTES;
	struct byte_budget budget = {.src = f->src, .left_bytes = max_bytes};
	struct symbol_frame frames[SYMBOL_LOCATION_FRAMES_MAX];
	struct byte_source limited, memory;
	struct address_reader reader = {f->layout, &limited};
	const struct gopclntab_trees trees = {.memory = &memory, .gofunc = f->gofunc};
	struct gopclntab_record record;
	size_t n = 0;
	int r;

	/* the line of an inlined function must not be shown as one of the function around it */
	if (f->table->version >= GOPCLNTAB_1_18 && f->gofunc == 0)
		return -ENOENT;
	byte_source_with_budget(&limited, &budget);
	byte_source_from_reader(&memory, read_at_address, &reader, UINT64_MAX);
	r = gopclntab_record_find(&record, f->table, &limited, vaddr);
	while (r == 0 && n < ARRAY_SIZE(frames) && vaddr != 0) {
		r = gopclntab_line_of_record(&record, &trees, vaddr, line);
		if (r == 0)
			r = add_frame(cache, f, line, &frames[n]);
		if (r < 0)
			break;
		n++;
		vaddr = line->caller;
	}
	if (max_bytes - budget.left_bytes > GO_LOCATION_USUAL_BYTES)
		*f->extra_bytes -= max_bytes - budget.left_bytes - GO_LOCATION_USUAL_BYTES;
	/* an inlined function alone would have the time of the whole */
	if (r < 0)
		return r;
	r = frame_cache_intern(cache, frames, n, ret);
	return r == -EFBIG ? -ENOSPC : r;
}
