/*
 * One file of the spool, and what it holds by place. Blocks for the disk. For spool_files.c, whose
 * thread owns it.
 */
#ifndef COMMON_UPLOAD_SPOOL_SEGMENT_H
#define COMMON_UPLOAD_SPOOL_SEGMENT_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/system/record_dir.h"
#include "common/upload/upload_item.h"

enum spool_entry_state {
	SPOOL_ENTRY_IDLE,
	SPOOL_ENTRY_OUT, /* somebody sends it */
	SPOOL_ENTRY_DONE,
};

struct spool_entry {
	uint64_t offset; /* of its record */
	uint64_t created_ns;
	enum spool_entry_state state;
	bool is_in_doubt; /* upload_item.h; of an earlier process it is not known, so true */
};

struct spool_segment {
	struct spool_segment *prev, *next; /* of the owner */
	uint64_t number;
	uint64_t n_bytes;
	struct record_file file;     /* fd is -1 while it is closed */
	struct spool_entry *entries; /* by offset */
	size_t n_entries, max_entries;
	size_t n_idle, n_out;
	uint64_t n_damaged; /* places of damage that were found */
};

/* The only kind of record files in the spool's directory. */
#define SPOOL_FILE 0u

/* Returns 0, -ENOMEM or -errno. */
int spool_segment_create(struct spool_segment **ret, const struct record_dir *dir,
			 uint64_t number) MUST_CHECK;
/*
 * Reads the file that an earlier process left and cuts off what is torn. Returns 0, -ENODATA if
 * nothing was written, -EBADMSG if nothing of it can be read, -EPROTONOSUPPORT if a later version
 * has written it, -ENOMEM, or -errno.
 */
int spool_segment_load(struct spool_segment **ret, const struct record_dir *dir,
		       uint64_t number) MUST_CHECK;
/* The file stays. NULL is allowed. */
void spool_segment_free(struct spool_segment *s);
DEFINE_CLEANUP(struct spool_segment *, spool_segment_free);

/* Closes the descriptor; it is opened again when it is needed. */
void spool_segment_close(struct spool_segment *s);

/*
 * Appends an encoded profile, whose entry is then the last one, and out. Returns 0, -ENOMEM or
 * -errno; the segment is then as before.
 */
int spool_segment_append(struct spool_segment *s, const struct record_dir *dir, uint64_t created_ns,
			 const struct buf *payload) MUST_CHECK;

/* NULL: there is no such entry. */
struct spool_entry *spool_segment_find(const struct spool_segment *s, uint64_t offset);
/* The first entry with at least this offset that is idle; NULL: there is none. */
struct spool_entry *spool_segment_next_idle(const struct spool_segment *s, uint64_t offset);
void spool_segment_set_state(struct spool_segment *s, struct spool_entry *e,
			     enum spool_entry_state state);

/* Returns 0, -EBADMSG if the record is damaged, -ENOMEM, or -errno. */
int spool_segment_read(struct spool_segment *s, const struct record_dir *dir,
		       const struct spool_entry *e, struct upload_item **ret) MUST_CHECK;

/* Marks the entry in the file, too. If that fails, a later process sends the profile again. */
int spool_segment_finish(struct spool_segment *s, const struct record_dir *dir,
			 struct spool_entry *e);

/* Removes all entries, which are finished. */
int spool_segment_empty(struct spool_segment *s) MUST_CHECK;

#endif /* COMMON_UPLOAD_SPOOL_SEGMENT_H */
