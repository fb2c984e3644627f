/* Functions → the bytes of a symbol_file.h. Pure. */
#ifndef COMMON_SYMBOLS_SYMBOL_FILE_WRITER_H
#define COMMON_SYMBOLS_SYMBOL_FILE_WRITER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/symbols/symbol_file.h"

struct symbol_file_writer;

/*
 * base: no function begins before it. id has 1 to SYMBOL_BUILD_ID_MAX_BYTES bytes. Returns 0 or
 * -ENOMEM.
 */
int symbol_file_writer_new(struct symbol_file_writer **ret, uint64_t base, const uint8_t *id,
			   size_t id_bytes) MUST_CHECK;
void symbol_file_writer_free(struct symbol_file_writer *w);
DEFINE_CLEANUP(struct symbol_file_writer *, symbol_file_writer_free);

/* Where executable code lies in the file. Segments after the sixteenth are left out. */
void symbol_file_writer_add_segment(struct symbol_file_writer *w,
				    const struct symbol_file_segment *s);

/*
 * Adds the function at [start, end), which is behind those before it; file may be NULL or "".
 * Returns 0, -EFBIG if a limit of the format is reached, or -ENOMEM.
 */
int symbol_file_writer_add(struct symbol_file_writer *w, uint64_t start, uint64_t end,
			   const char *name, const char *file) MUST_CHECK;

uint32_t symbol_file_writer_count(const struct symbol_file_writer *w);

/* Appends the file to out. Returns 0, -EFBIG if it is more than out may have, or -ENOMEM. */
int symbol_file_writer_finish(struct symbol_file_writer *w, struct buf *out) MUST_CHECK;

#endif /* COMMON_SYMBOLS_SYMBOL_FILE_WRITER_H */
