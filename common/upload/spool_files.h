/*
 * The files of the spool: profiles that wait on disk for their receiver. Blocks for the disk; for
 * the thread that upload_spool.c runs, or one test.
 *
 * Profiles are records in append-only segments, numbered in the order in which they were begun. A
 * finished profile leaves a mark in its segment, and a segment of which all are finished is
 * removed. Above max_bytes, and when the disk is full, the oldest segment is dropped. Nothing is
 * synced: what was written survives the end of the process, not a power cut.
 *
 * Damage costs the records that it hit. They are counted. Files that a later version has written,
 * or that the disk does not give back, stay where they are for a later start; they do not count in
 * max_bytes.
 */
#ifndef COMMON_UPLOAD_SPOOL_FILES_H
#define COMMON_UPLOAD_SPOOL_FILES_H

#include "common/base.h"
#include "common/err.h"
#include "common/upload/upload_item.h"

/*
 * A small text in the spool's directory for each endpoint: what must be known about the receiver
 * before it answers. Blocks for the disk.
 */

#define SPOOL_NOTE_MAX_BYTES 1024u

/* Names are as long as "receiver-0123456789abcdef.json". */
#define SPOOL_NOTE_NAME_BYTES 32u
/* The name has a hash of the endpoint, which may hold a password. */
void spool_note_name(const char *endpoint, char ret[static SPOOL_NOTE_NAME_BYTES]);

/* Returns 0, -ENOENT if there is none, -EFBIG, -ENOMEM, or another -errno. */
int spool_note_read(int dir_fd, const char *name, char ret[static SPOOL_NOTE_MAX_BYTES]) MUST_CHECK;
/* A crash leaves the old text or the new one. Returns 0, -EFBIG, or another -errno. */
int spool_note_write(int dir_fd, const char *name, const char *text) MUST_CHECK;

struct spool_files;

struct spool_files_config {
	/*
	 * Ours or root's, and made if it is absent, but not its parents. The files are in a
	 * directory "profiles" in it, which must be ours and is made private.
	 */
	const char *dir;
	uint64_t max_bytes;
	uint64_t segment_bytes; /* 0: a sixteenth of max_bytes, 64 KiB to 4 MiB */
};

/* Names a profile until it is released or finished. */
struct spool_place {
	uint64_t segment; /* its number */
	uint64_t offset;  /* of its record */
	bool is_in_doubt; /* for a release: upload_item.h; not part of the place */
};

struct spool_state {
	bool is_usable;
	bool is_full; /* another segment has no room: the oldest profiles are dropped */
	uint64_t n_bytes;
	uint64_t n_profiles;
	uint64_t n_idle;            /* of these, not taken out */
	uint64_t oldest_created_ns; /* since the Unix epoch; 0: there is none */
	uint64_t n_left_alone;      /* files that could not be read at the start and stay */
	/* ever */
	uint64_t n_dropped_full;    /* profiles */
	uint64_t n_dropped_damaged; /* places of damage: at least a profile each */
	uint64_t n_errors;          /* of the file system */
};

/*
 * Reads what an earlier process left. Returns 0, or with a sentence in err: -EBUSY if another
 * process has the directory, -EPERM if it is not ours alone, -ENOMEM, or another -errno.
 */
int spool_files_open(struct spool_files **ret, const struct spool_files_config *cfg,
		     struct err *err) MUST_CHECK;
/* Profiles stay. NULL is allowed. */
void spool_files_close(struct spool_files *f);
DEFINE_CLEANUP(struct spool_files *, spool_files_close);

/*
 * Writes a profile, which is then taken out, as by spool_files_take(). Returns 0, -EFBIG if it is
 * larger than the spool, -ENOSPC, -ENOMEM or another -errno.
 */
int spool_files_put(struct spool_files *f, const struct upload_item *item,
		    struct spool_place *ret) MUST_CHECK;

/*
 * Takes out the next profile that is not taken out, oldest first; after the newest it begins again
 * with the oldest. Returns 0, -ENODATA if there is none, -ENOMEM, or another -errno if it cannot be
 * read at the moment.
 */
int spool_files_take(struct spool_files *f, struct upload_item **ret,
		     struct spool_place *ret_place) MUST_CHECK;

/* Both ignore the place of a profile that was dropped; a release then counts it. */
void spool_files_release(struct spool_files *f, const struct spool_place *p);
void spool_files_finish(struct spool_files *f, const struct spool_place *p);

/*
 * The note for an endpoint. Reading it returns 0, or -errno: -ENOENT if there is none. A note that
 * is the same is not written again.
 */
int spool_files_read_note(struct spool_files *f, const char *endpoint,
			  char ret[static SPOOL_NOTE_MAX_BYTES]) MUST_CHECK;
int spool_files_write_note(struct spool_files *f, const char *endpoint,
			   const char *text) MUST_CHECK;

void spool_files_state(const struct spool_files *f, struct spool_state *ret);

#endif /* COMMON_UPLOAD_SPOOL_FILES_H */
