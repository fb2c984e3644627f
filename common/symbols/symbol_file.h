/*
 * The names of the functions of one build of an ELF file, as a file of their own: a fraction of the
 * debug symbols, and read by address without a copy in memory. It is made where the symbols are
 * (symbol_file_writer.h) and read where names are asked for.
 *
 * Numbers are little-endian, and addresses are ELF virtual addresses:
 *
 *	header		struct symbol_file_header
 *	segments	struct symbol_file_segment: where the executable code lies in the file
 *	functions	struct symbol_file_function, by address; no two overlap
 *	text		names and source files, each with a NUL behind it; begins with a NUL
 *
 * Whoever sends such a file may write anything into it, so all of it is checked before it is used,
 * and what it says is made printable. Pure.
 */
#ifndef COMMON_SYMBOLS_SYMBOL_FILE_H
#define COMMON_SYMBOLS_SYMBOL_FILE_H

#include "common/base.h"
#include "common/err.h"
#include "common/limits.h"

#define SYMBOL_FILE_MAGIC "CSYMBOL1"
#define SYMBOL_BUILD_ID_MAX_BYTES 32u
#define SYMBOL_FILE_SEGMENTS_MAX 16u
#define SYMBOL_FILE_FUNCTIONS_MAX 8000000u
/* As of all uploads: the receiver inflates it in memory. */
#define SYMBOL_FILE_MAX_BYTES LIMIT_UPLOAD_INFLATED_BYTES

struct symbol_file_header {
	char magic[8];
	uint64_t base;     /* starts of functions are relative to it */
	uint64_t checksum; /* XXH3 of all that follows the header */
	uint32_t n_segments;
	uint32_t n_functions;
	uint32_t text_bytes;
	uint32_t build_id_bytes;
	uint8_t build_id[SYMBOL_BUILD_ID_MAX_BYTES];
};

struct symbol_file_segment {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t n_bytes;
};

struct symbol_file_function {
	uint32_t start;
	uint32_t n_bytes; /* not 0 */
	uint32_t name;    /* where it begins in the text; not 0 */
	uint32_t file;    /* likewise; 0: unknown */
};

/* Where the bytes are; borrowed. */
struct symbol_file_source {
	const void *data; /* NULL: read from fd */
	int fd;           /* of a file that nobody writes any more */
	uint64_t n_bytes;
};

struct symbol_file; /* immutable: any thread may ask it */

/*
 * Reads and checks all that is needed to find names, but not the checksum. Returns 0, -EBADMSG with
 * what is wrong in err, -ENOMEM, or an error of pread(2).
 */
int symbol_file_open(struct symbol_file **ret, const struct symbol_file_source *src,
		     struct err *err) MUST_CHECK;
void symbol_file_free(struct symbol_file *f);
DEFINE_CLEANUP(struct symbol_file *, symbol_file_free);

/* Compares all bytes with the checksum. Results as above. */
int symbol_file_check(const struct symbol_file *f, struct err *err) MUST_CHECK;

const struct symbol_file_header *symbol_file_header(const struct symbol_file *f);

/* Texts are printable; a file has no blanks. */
struct symbol_name {
	char name[LIMIT_SYMBOL_NAME_BYTES + 1];
	char file[LIMIT_SYMBOL_NAME_BYTES + 1]; /* "": unknown */
};

/*
 * Finds the function that contains an address. Returns 0, -ENOENT if there is none, or an error of
 * pread(2).
 */
int symbol_file_find(const struct symbol_file *f, uint64_t vaddr,
		     struct symbol_name *ret) MUST_CHECK;

/*
 * The address of the byte at this offset in the file. Returns 0, or -ENOENT if no code is there, or
 * if it is not known where code is.
 */
int symbol_file_address(const struct symbol_file *f, uint64_t offset,
			uint64_t *ret_vaddr) MUST_CHECK;

/* Hexadecimal digits, as they are in frames, → bytes. Returns their number; 0: it is none. */
size_t symbol_build_id_parse(const char *text, size_t len,
			     uint8_t ret[static SYMBOL_BUILD_ID_MAX_BYTES]);
void symbol_build_id_text(const uint8_t *id, size_t n_bytes,
			  char ret[static 2 * SYMBOL_BUILD_ID_MAX_BYTES + 1]);

#endif /* COMMON_SYMBOLS_SYMBOL_FILE_H */
