/*
 * The symbols of an ELF file, or of its separate debug file → a symbol_file.h, with the names that
 * the symbolizer would show. The file is untrusted, as everywhere in this folder.
 */
#ifndef COMMON_SYMBOLS_SYMBOL_EXPORT_H
#define COMMON_SYMBOLS_SYMBOL_EXPORT_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/elf/byte_source.h"
#include "common/err.h"
#include "common/symbols/symbol_file.h"

struct symbol_export {
	uint32_t n_functions;
	char build_id[2 * SYMBOL_BUILD_ID_MAX_BYTES + 1];
};

/*
 * Appends the symbol file to out. Returns 0; with a sentence in err -ENOEXEC if it is no ELF file
 * that we understand, -ENODATA if it has no build id or no symbols, -EFBIG if it has too many, or
 * -EBADMSG; -ENOMEM; or an error of reading it.
 */
int symbol_export(const struct byte_source *src, struct buf *out, struct symbol_export *ret,
		  struct err *err) MUST_CHECK;

/*
 * The same with the program that src is the debug file of: where its code lies in the file is then
 * known. One of another build is passed over. program may be NULL.
 */
int symbol_export_with(const struct byte_source *src, const struct byte_source *program,
		       struct buf *out, struct symbol_export *ret, struct err *err) MUST_CHECK;

#endif /* COMMON_SYMBOLS_SYMBOL_EXPORT_H */
