/*
 * Reads a file at offsets that mostly ascend, in large pieces of which some are kept. Pure.
 *
 * Call frame information is read in the order of the code, in which it mostly lies, save for a few
 * streams (hot, cold and start-up code) that begin elsewhere. For one thread.
 */
#ifndef COMMON_ELF_FILE_WINDOWS_H
#define COMMON_ELF_FILE_WINDOWS_H

#include "common/base.h"
#include "common/elf/byte_source.h"

/* Longer pieces cannot be read. */
#define FILE_WINDOWS_LENGTH_MAX 65536u

struct file_windows;

/* src is borrowed. Takes up to 1 MiB as the file is read. Returns 0 or -ENOMEM. */
int file_windows_new(struct file_windows **ret, const struct byte_source *src) MUST_CHECK;
void file_windows_free(struct file_windows *w);
DEFINE_CLEANUP(struct file_windows *, file_windows_free);

/*
 * Points *ret at len bytes at the offset, valid until the next call. Returns 0; -ENODATA if they
 * are not within the file; -EMSGSIZE if they are more than FILE_WINDOWS_LENGTH_MAX; or another
 * error of byte_source_read().
 */
int file_windows_get(struct file_windows *w, uint64_t offset, size_t len,
		     const uint8_t **ret) MUST_CHECK;

#endif /* COMMON_ELF_FILE_WINDOWS_H */
