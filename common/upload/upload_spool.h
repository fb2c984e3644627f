/*
 * The spool as the loop sees it: a thread works on its files (spool_files.h), so that a slow disk,
 * or one that hangs, does not hold up the loop. Results come back on the loop thread.
 *
 * If the directory cannot be used, that is logged once, and tried again every minute: another agent
 * may be about to end, a disk may be mounted. While the disk does not answer, everything waits; the
 * caller limits how much.
 *
 * Loop thread only.
 */
#ifndef COMMON_UPLOAD_UPLOAD_SPOOL_H
#define COMMON_UPLOAD_UPLOAD_SPOOL_H

#include "common/base.h"
#include "common/system/loop.h"
#include "common/upload/spool_files.h"
#include "common/upload/upload_item.h"

struct upload_spool;

struct upload_spool_config {
	struct loop *loop; /* borrowed */
	struct spool_files_config files;
	const char *endpoint; /* of the note */
	uint64_t retry_ns;    /* until the directory is tried again; 0: a minute */
	void *ctx;
	/*
	 * A profile was written, and is taken out; or result is -ENODEV if the spool cannot be
	 * used, -EFBIG, -ENOSPC or another -errno.
	 */
	void (*on_stored)(void *ctx, void *tag, int result, const struct spool_place *place);
	/* A profile was taken out. The reference is the callee's. */
	void (*on_loaded)(void *ctx, struct upload_item *item, const struct spool_place *place);
	/* A call of upload_spool_load() has ended: 0 or -errno. */
	void (*on_load_end)(void *ctx, int result);
	/* The directory could be opened, and has a note for the endpoint. */
	void (*on_note)(void *ctx, const char *text);
	/* After one or more of the others, and when the spool becomes usable. */
	void (*on_state)(void *ctx, const struct spool_state *state);
};

/* Returns 0, -ENOMEM, -EAGAIN if the system has no thread left, or -EMFILE and the like. */
int upload_spool_new(struct upload_spool **ret, const struct upload_spool_config *cfg) MUST_CHECK;
/*
 * Waits up to timeout_ns until everything that was asked for is done; callbacks are called for
 * that. What is not done by then is given up. NULL is allowed.
 */
void upload_spool_free(struct upload_spool *s, uint64_t timeout_ns);

/* Takes a reference of its own. Returns 0 or -ENOMEM; tag is for on_stored. */
int upload_spool_put(struct upload_spool *s, struct upload_item *item, void *tag) MUST_CHECK;
/* Up to n profiles and, beyond the first, max_bytes. Returns 0 or -ENOMEM. */
int upload_spool_load(struct upload_spool *s, unsigned n, size_t max_bytes) MUST_CHECK;
/* Without memory they do nothing: the profile is then sent again after the next start. */
void upload_spool_release(struct upload_spool *s, const struct spool_place *p);
void upload_spool_finish(struct upload_spool *s, const struct spool_place *p);

/*
 * Keeps text for the next process (spool_files.h). A note that cannot be written now is forgotten:
 * repeat it now and then. That costs nothing if the note is on disk.
 */
void upload_spool_write_note(struct upload_spool *s, const char *text);

/* True if the disk has not answered for half a minute. */
bool upload_spool_hangs(const struct upload_spool *s);

#endif /* COMMON_UPLOAD_UPLOAD_SPOOL_H */
