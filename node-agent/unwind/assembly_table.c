#include "node-agent/unwind/assembly_table.h"

#define END UINT32_MAX

struct filler {
	struct go_frame_table *table;
	size_t n;
	uint64_t first;
	uint64_t end; /* of the last range; what is behind it is unknown */
};

static void add(struct filler *f, uint64_t start, uint16_t words)
{
	f->table->start[f->n] = (uint32_t)(start - f->first);
	f->table->words[f->n++] = words;
}

/* A range takes two elements: the unknown code in front of it, if there is any, and itself. */
static bool add_range(struct filler *f, const struct gopclntab_assembly *r)
{
	bool has_gap = r->start > f->end;

	/* one more is for the end */
	if (f->n + has_gap + 1 >= GO_ASSEMBLY_RANGES)
		return false;
	if (has_gap)
		add(f, f->end, GO_ASSEMBLY_UNKNOWN);
	add(f, r->start, (uint16_t)(r->frame_bytes / 8));
	f->end = r->end;
	return true;
}

static bool is_usable(const struct filler *f, const struct gopclntab_assembly *r)
{
	return r->start >= f->end && r->end > r->start && r->end - f->first < END &&
	       r->end - r->start >= ASSEMBLY_TABLE_RANGE_MIN_BYTES && r->frame_bytes % 8 == 0 &&
	       r->frame_bytes / 8 < GO_ASSEMBLY_UNKNOWN;
}

size_t assembly_table_fill(struct go_frame_table *ret, const struct gopclntab_assembly *ranges,
			   size_t n, uint64_t first)
{
	struct filler f = {.table = ret, .first = first, .end = first};
	size_t n_dropped = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_usable(&f, &ranges[i]))
			n_dropped += !add_range(&f, &ranges[i]);
	}
	add(&f, f.end, GO_ASSEMBLY_UNKNOWN);
	for (; f.n < GO_ASSEMBLY_RANGES; f.n++) {
		ret->start[f.n] = END;
		ret->words[f.n] = GO_ASSEMBLY_UNKNOWN;
	}
	return n_dropped;
}
