/*
 * Stacks as lines of text, "root;…;leaf value", which flame graph tools read. Pure.
 *
 * With a comparison a line has two values, that of the base first, as those of difffolded.pl. Names
 * stand alone, without files and lines. What would break a line in a name is replaced, as is what a
 * terminal obeys; a name that a spreadsheet would take for a formula gets an apostrophe in front.
 */
#ifndef COMMON_FLAME_FOLDED_TEXT_H
#define COMMON_FLAME_FOLDED_TEXT_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/flame/flame_tree.h"

/* frames are leaf first. Appends a line to out. Returns 0, -ENOMEM or -EFBIG. */
int folded_text_add(struct buf *out, const struct flame_frame *frames, size_t n_frames,
		    struct stack_value value, bool has_base) MUST_CHECK;

#endif /* COMMON_FLAME_FOLDED_TEXT_H */
