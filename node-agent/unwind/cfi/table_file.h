/*
 * A table as a file: what cfi_table_build() produced, to be read instead of parsing the ELF file
 * again. Pure.
 *
 * The format is the machine's own; a file of another version or machine counts as damaged. So does
 * one that is truncated or whose checksum is wrong, before any of it is used.
 */
#ifndef NODE_AGENT_UNWIND_CFI_TABLE_FILE_H
#define NODE_AGENT_UNWIND_CFI_TABLE_FILE_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "node-agent/unwind/cfi/cfi_table.h"

/* To be raised when the format, or what tables say, changes. */
#define TABLE_FILE_VERSION 7u
/* Twice the largest table in memory, where pages with the same rows share them. */
#define TABLE_FILE_MAX_BYTES (UINT64_C(64) << 20)

/* What a table is of. The caller decides; it must differ between files of different content. */
struct table_file_key {
	uint64_t words[6];
};

/* Writes all bytes at the end of the file, or, for the header at last, at its start. */
typedef int table_file_write_fn(void *ctx, bool at_start, const void *data, size_t len);

struct table_file_writer;

/* The functions of the writer return 0, -ENOMEM, -EFBIG, or what write returned. */
int table_file_writer_new(struct table_file_writer **ret, table_file_write_fn *write,
			  void *ctx) MUST_CHECK;
void table_file_writer_free(struct table_file_writer *w);
DEFINE_CLEANUP(struct table_file_writer *, table_file_writer_free);
/* Once per page, as cfi_page_fn is called. */
int table_file_writer_page(struct table_file_writer *w, const struct unwind_row *rows,
			   uint32_t n) MUST_CHECK;
/* Completes the file. Before, it is damaged. */
int table_file_writer_finish(struct table_file_writer *w, const struct table_file_key *key,
			     const struct cfi_table *table) MUST_CHECK;

/*
 * Reads a table that has this key: fills *ret and calls on_page as cfi_table_build() does. Returns
 * 0; -EBADMSG if the file is damaged or has another key; -ENOMEM; an error of byte_source_read();
 * or the result of on_page. *ret is written on success only.
 */
int table_file_read(struct cfi_table *ret, const struct byte_source *src,
		    const struct table_file_key *key, cfi_page_fn *on_page, void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_CFI_TABLE_FILE_H */
