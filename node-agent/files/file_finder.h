/*
 * Finds and opens files that other processes have mapped. Calls that could wait for a file
 * system have a deadline; after a missed one, the files of that device are left alone for a
 * minute.
 *
 * To be used on one thread.
 */
#ifndef NODE_AGENT_FILES_FILE_FINDER_H
#define NODE_AGENT_FILES_FILE_FINDER_H

#include "common/base.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/procfs/proc_maps.h"

struct deadline_caller;
struct file_finder;

/* A file that was found: its attributes, and how to open it. */
struct found_file {
	struct file_id id;
	uint64_t ctime_ns;
	bool regular;
	int path_fd;       /* O_PATH, owned by the caller; -1: open it by map_name */
	char map_name[64]; /* relative to /proc/<pid> */
};

struct opened_file {
	int fd;        /* owned by the caller */
	bool may_hang; /* reading may wait for another machine or program */
	bool layered;  /* on overlayfs */
};

/* The deadlines of all that f does, for reading the files that it opened. */
struct deadline_caller *file_finder_caller(struct file_finder *f);

int file_finder_new(struct file_finder **ret) MUST_CHECK;
/* Uses the deadlines of `caller`, which is borrowed, and must be used on its thread. */
int file_finder_new_with(struct file_finder **ret, struct deadline_caller *caller) MUST_CHECK;
void file_finder_free(struct file_finder *f);
DEFINE_CLEANUP(struct file_finder *, file_finder_free);

/*
 * Finds the file behind a mapping of the process whose /proc folder is proc_fd. Returns 0,
 * -ENOENT or another -errno.
 */
int file_finder_find(struct file_finder *f, int proc_fd, const struct proc_map *m,
		     struct found_file *ret) MUST_CHECK;

/*
 * Finds the file with this path below the root of the process whose /proc folder is proc_fd, and
 * only if it is the wanted one, as the kernel's inode describes it. The devices of some file
 * systems differ between inode and stat(2); the other attributes must agree then, down to ctime.
 * Returns 0, -ENOENT if the path leads elsewhere, or another -errno.
 */
int file_finder_find_path(struct file_finder *f, int proc_fd, const char *path,
			  const struct file_version *want, struct found_file *ret) MUST_CHECK;

/*
 * Returns 0, -ETIMEDOUT if its file system does not answer, -EBUSY if it did not answer a
 * moment ago, -ESTALE if the name leads to another file than the one found, or another -errno.
 * found must be a regular file: opening a device or a pipe can have effects.
 */
int file_finder_open(struct file_finder *f, int proc_fd, const struct found_file *found,
		     struct opened_file *ret) MUST_CHECK;

/* Which file systems answer on their own; reading from others may wait indefinitely. */

enum fs_kind {
	FS_LOCAL,   /* on a disk or in memory */
	FS_LAYERED, /* overlayfs: may have any file system below; files change through it alone */
	FS_OTHER,   /* over a network, FUSE, or unknown */
};

/* The kind of file system that fd is on. Magic numbers: linux/magic.h. */
enum fs_kind local_fs_kind(int fd);

static inline bool local_fs_has(int fd)
{
	return local_fs_kind(fd) == FS_LOCAL;
}

/*
 * Directories of another process, by their path below its root. Symbolic links, absolute ones and
 * ".." as well, are resolved as that process would, and never lead out of its root.
 */

/*
 * Opens the directory with O_PATH. root_fd is of /proc/<pid>/root. Returns a descriptor or -errno;
 * -ELOOP also for a link of /proc that is no path, and for any link if the kernel or a filter
 * refuses openat2(2). May block on a file system that does not answer.
 */
int root_dir_open(int root_fd, const char *path) MUST_CHECK;

#endif /* NODE_AGENT_FILES_FILE_FINDER_H */
