/*
 * The identity of a file: equal means the same file with the same content, as far as stat(2)
 * can say. Everything that remembers something per file (descriptors, symbols, verdicts,
 * parsed headers) is keyed by one of these.
 *
 * What identifies what:
 *
 *   dev + ino         the same file (file_id_same_file()), whatever its content is by now:
 *                     libraries can be overwritten in place while they are mapped
 *   + size + mtime    the same content (struct file_id), unless somebody restores the mtime.
 *                     An inode number is reused after its file is deleted; the new file has
 *                     another mtime, and mostly another size.
 *   + ctime           the same content for certain on a local file system (struct
 *                     file_version): only the kernel sets it, whereas all mtimes of a
 *                     reproducible image are equal. It also changes when the file is linked,
 *                     unlinked or chmod'ed, which costs a needless miss; use it only for what
 *                     must never be stale.
 *
 * Overlayfs: a process's mapping reports the overlay's device and inode in stat(2), but some
 * kernels show those of the layer below in /proc/<pid>/maps. So an id never comes from the
 * text of maps if the file can be reached. One layer mounted by two containers is two devices:
 * two ids with equal content.
 *
 * A build id is not part of it: it identifies code, not a file (a stripped copy has the same
 * one), and it is known only after the file was read. symbol/object_cache.c shares symbols by
 * build id.
 */
#ifndef NODE_AGENT_PROCFS_FILE_ID_H
#define NODE_AGENT_PROCFS_FILE_ID_H

#include <sys/types.h>

#include "common/base.h"

/* No padding: usable as the key of a hash table as it is. */
struct file_id {
	uint64_t dev; /* as makedev(3) encodes it */
	uint64_t ino; /* 0: no file */
	uint64_t size_bytes;
	uint64_t mtime_ns; /* since the Unix epoch */
};
_Static_assert(sizeof(struct file_id) == 32, "hashed as bytes");

/* Likewise without padding. */
struct file_version {
	struct file_id id;
	uint64_t ctime_ns; /* since the Unix epoch */
};
_Static_assert(sizeof(struct file_version) == 40, "hashed as bytes");

static inline bool file_id_equal(const struct file_id *a, const struct file_id *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Ignores size and mtime. */
static inline bool file_id_same_file(const struct file_id *a, const struct file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/*
 * Reads the attributes of the file `name` relative to dir_fd, or of dir_fd itself if name is "".
 * Follows symbolic links. Answers from what the kernel has cached, so it does not wait for a remote
 * file system, provided that the lookup of the name does not (a link in /proc/<pid> does not).
 * *ret_regular (NULL: not wanted) is set if it is a regular file. Returns 0 or -errno.
 */
int file_version_read(int dir_fd, const char *name, struct file_version *ret,
		      bool *ret_regular) MUST_CHECK;

#endif /* NODE_AGENT_PROCFS_FILE_ID_H */
