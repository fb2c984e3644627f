/*
 * A directory of record files: each has a number and a kind, which its name says, as
 * "00000000000000a7.segment". Files with other names are left alone.
 */
#ifndef COMMON_SYSTEM_RECORD_DIR_H
#define COMMON_SYSTEM_RECORD_DIR_H

#include "common/base.h"
#include "common/data/record_format.h"
#include "common/system/record_file.h"

struct record_kind {
	const char *suffix; /* of names */
	uint32_t type;      /* of the file */
	uint32_t version;   /* that is written; later ones are not read */
};

/* Borrowed by what works in it. */
struct record_dir {
	int fd;
	const struct record_kind *kinds;
	unsigned n_kinds;
};

struct record_dir_file {
	uint64_t number;
	unsigned
		kind; /* index of its record_kind; n_kinds: it has a name of ours, but is no file */
	uint64_t n_bytes;
};

#define RECORD_NAME_BYTES 32u
void record_dir_name(const struct record_dir *d, uint64_t number, unsigned kind,
		     char ret[static RECORD_NAME_BYTES]);

/* Lists the files, by ascending number; the caller frees *ret. Returns 0 or -errno. */
int record_dir_list(const struct record_dir *d, struct record_dir_file **ret,
		    size_t *ret_n) MUST_CHECK;
/* Removes a file; 0 also if there is none. */
int record_dir_remove(const struct record_dir *d, uint64_t number, unsigned kind) MUST_CHECK;
/* Makes it a file of another kind with the same number; 0 also if there is none. */
int record_dir_rename(const struct record_dir *d, uint64_t number, unsigned kind,
		      unsigned to) MUST_CHECK;
/* As record_file_create() and record_file_open(). */
int record_dir_create(struct record_file *ret, const struct record_dir *d, uint64_t number,
		      unsigned kind) MUST_CHECK;
int record_dir_open(struct record_file *ret, const struct record_dir *d, uint64_t number,
		    unsigned kind) MUST_CHECK;

/*
 * Reads a whole file, but max bytes at most, into *ret, which the caller frees; c is at its first
 * record. Returns 0, -ENODATA if it has no header because the process ended before it was written,
 * otherwise what record_cursor_open() does, -ENOMEM, or another -errno.
 */
int record_dir_load(const struct record_dir *d, uint64_t number, unsigned kind, size_t max,
		    char **ret, struct record_cursor *c) MUST_CHECK;

#endif /* COMMON_SYSTEM_RECORD_DIR_H */
