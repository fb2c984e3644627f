/*
 * The files that processes have mapped. Each is opened once, no matter how many processes map
 * it, and there is a limit on open files.
 *
 * Loop thread only; the files travel with snapshots. The registry keeps a reference of its
 * own, so a file is closed only by a sweep, some time after everybody else has released it.
 */
#ifndef NODE_AGENT_FILES_FILE_REGISTRY_H
#define NODE_AGENT_FILES_FILE_REGISTRY_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/procfs/proc_maps.h"

struct deadline_caller;
struct file_registry;

#define FILE_TEXT_SEGMENTS_MAX 8 /* linkers make four or five; more are not known */

struct file_segment {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t file_bytes;
};

struct file_text {
	/* Executable ones, ascending, and behind them the others, likewise. */
	struct file_segment segments[FILE_TEXT_SEGMENTS_MAX];
	size_t n_segments; /* executable ones */
	size_t n_loaded;   /* all */
	bool relocatable;  /* is loaded at any address */
};

struct file_registry_stats {
	uint64_t n_files;
	uint64_t n_open;
	uint64_t unopened;   /* total */
	uint64_t over_limit; /* total */
	uint64_t hung;       /* total: opens that a file system did not answer in time */
};

int file_registry_new(struct file_registry **ret, size_t max_open) MUST_CHECK;
void file_registry_free(struct file_registry *r);
DEFINE_CLEANUP(struct file_registry *, file_registry_free);

/* The deadlines of all that r does. */
struct deadline_caller *file_registry_caller(struct file_registry *r);

/*
 * The file behind a mapping of the process whose /proc folder is proc_fd. *ret is a reference,
 * or NULL if it is not a regular file; it has fd -1 if it cannot be opened. Returns 0 or
 * -ENOMEM.
 */
int file_registry_get(struct file_registry *r, int proc_fd, const struct proc_map *m,
		      struct mapped_file **ret) MUST_CHECK;

/*
 * Files have two identities. struct file_id is what stat(2) says. The kernel's inode says the same
 * on most file systems, but not on all: overlayfs and btrfs show devices of their own in stat(2).
 * The functions below take the inode's, as an exec event has it.
 */

/* The file is that of this inode: both were seen of one process. */
void file_registry_learn(struct file_registry *r, struct mapped_file *file,
			 const struct file_id *inode);

/* Returns a file that is in the registry, borrowed until the next sweep, or NULL. */
struct mapped_file *file_registry_find(struct file_registry *r, const struct file_id *inode);

/*
 * Opens the file of this inode, if the path leads to it below the root of the process whose /proc
 * folder is proc_fd. *ret is borrowed until the next sweep. Returns 0, -ENOENT if the path leads
 * elsewhere, -ENOMEM, or another -errno.
 */
int file_registry_open(struct file_registry *r, int proc_fd, const char *path,
		       const struct file_version *inode, struct mapped_file **ret) MUST_CHECK;

/* Whether it is too early to try the file again for which the second one was called. */
bool file_registry_is_missing(struct file_registry *r, const struct file_id *inode);
void file_registry_note_missing(struct file_registry *r, const struct file_id *inode);

/* For reading a file of the registry that is open, with a deadline if it may hang. */
void file_registry_source(struct file_registry *r, const struct mapped_file *file,
			  struct byte_source *ret);

/*
 * The segments of a file in the registry, with addresses as in the file. The headers are read
 * once. Returns 0, -ENOEXEC if it is not an ELF file that can be executed, or another -errno if it
 * cannot be read.
 */
int file_registry_text(struct file_registry *r, struct mapped_file *file,
		       const struct file_text **ret) MUST_CHECK;

/*
 * For memory that is mapped like a file: returns whether it holds an ELF file that can be executed.
 * If not, the registry closes it, as its memory would outlive the process.
 */
bool file_registry_keep_program(struct file_registry *r, struct mapped_file *file);

/*
 * Drops files that nobody else holds a reference to and that were not asked for lately, or at once
 * if many are open.
 */
void file_registry_sweep(struct file_registry *r, uint64_t now_ns);

void file_registry_read_stats(const struct file_registry *r, struct file_registry_stats *ret);

#endif /* NODE_AGENT_FILES_FILE_REGISTRY_H */
