/*
 * What an address of a Go program stands for, from its .gopclntab: the function, those that are
 * inlined there, and the source line of each. For the symbolizer.
 */
#ifndef NODE_AGENT_SYMBOL_GO_LOCATION_H
#define NODE_AGENT_SYMBOL_GO_LOCATION_H

#include "common/base.h"
#include "node-agent/gopclntab/gopclntab_line.h"
#include "node-agent/symbol/frame_cache.h"

/* What one address may cost in any case, and at most, as byte_source_with_budget() counts it. */
#define GO_LOCATION_USUAL_BYTES UINT64_C(32768)
#define GO_LOCATION_MAX_BYTES UINT64_C(524288)

/* A Go program's file; all borrowed. */
struct go_location_file {
	const struct gopclntab *table;
	const struct elf_layout *layout;
	const struct byte_source *src;
	uint64_t gofunc;       /* gopclntab_find_gofunc(); 0: unknown, or a release before 1.18 */
	const char *label;     /* the file of a function whose source file is unknown */
	uint64_t *extra_bytes; /* what addresses may cost beyond the usual; each takes its part */
};

/*
 * Finds the location of vaddr and stores it in the cache. Paths of source files get '_' for blanks.
 * Of more than SYMBOL_LOCATION_FRAMES_MAX frames the outermost are missing. line is scratch memory.
 * Returns 0, -ENOENT if there is no function, its record is broken or inlined calls are unknown
 * because gofunc is, -EFBIG if that costs too much, -ENOSPC if the cache is
 * full, -ENOMEM, or -EIO and others if the file cannot be read.
 */
int go_location_find(struct frame_cache *cache, const struct go_location_file *f, uint64_t vaddr,
		     struct gopclntab_line *line, const struct symbol_location **ret) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_GO_LOCATION_H */
