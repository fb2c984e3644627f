/*
 * A flame graph as JSON that the page reads (web/src/model/tree.ts): columns, not objects. Pure.
 */
#ifndef COMMON_FLAME_FLAME_COLUMNS_H
#define COMMON_FLAME_FLAME_COLUMNS_H

#include "common/base.h"
#include "common/flame/column_block.h"
#include "common/flame/flame_tree.h"
#include "common/text/json_writer.h"

/*
 * Writes the columns of a tree, "names", "files", "nodes" and "other", into the object that is
 * open; with_base: those of the base, too. block: where the numbers go instead, whose nodes have
 * the index of a pair of name and file ("pairs"); NULL: they are arrays.
 */
void flame_columns_put(struct json_writer *w, struct column_block *block,
		       const struct flame_view *v, bool with_base);

/* Writes "functions" and "functionsCut" likewise. */
void flame_columns_put_functions(struct json_writer *w, struct column_block *block,
				 const struct flame_view *v, bool with_base);

#endif /* COMMON_FLAME_FLAME_COLUMNS_H */
