/*
 * Finding and opening a file of another process. /proc/<pid>/map_files/<range> leads to
 * the very file that is mapped, deleted or replaced or not, but needs
 * CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. Without, the path is looked up below
 * the process's root, symbolic links included, and what is found must be the
 * file of the mapping by device and inode. Nothing but regular files is ever
 * opened: opening a device or a pipe can have effects.
 *
 * A file system may be served by another machine or by a program of anybody, and not answer. What
 * could wait for it is done with a deadline; its files are left alone for a while after one.
 *
 * One thread: the loop's, if nobody gives it a caller of calls with deadlines.
 */
#ifndef NODE_AGENT_PROCESS_FILE_FINDER_H
#define NODE_AGENT_PROCESS_FILE_FINDER_H

#include "common/base.h"
#include "node-agent/process/mapped_file.h"
#include "node-agent/process/proc_maps.h"

struct deadline_caller;
struct file_finder;

/* Where a file was found: its attributes, and how to open it. */
struct found_file {
	struct file_id id;
	bool regular;
	int path_fd;       /* O_PATH, the caller's; -1: by map_name */
	char map_name[64]; /* below /proc/<pid> */
};

struct opened_file {
	int fd; /* the caller's */
	bool may_hang;
};

int file_finder_new(struct file_finder **ret) MUST_CHECK;
/* With the deadlines of a caller that is borrowed, on its thread. */
int file_finder_new_with(struct file_finder **ret, struct deadline_caller *caller) MUST_CHECK;
void file_finder_free(struct file_finder *f);
DEFINE_CLEANUP(struct file_finder *, file_finder_free);

/* The file behind a mapping of the process whose /proc folder is proc_fd. -ENOENT … when not. */
int file_finder_find(struct file_finder *f, int proc_fd, const struct proc_map *m,
		     struct found_file *ret) MUST_CHECK;

/*
 * -ETIMEDOUT, -EBUSY: its file system does not answer, or did not a moment ago; -ESTALE: it is not
 * what was found any more; other -errno.
 */
int file_finder_open(struct file_finder *f, int proc_fd, const struct found_file *found,
		     struct opened_file *ret) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_FILE_FINDER_H */
