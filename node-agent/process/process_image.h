/*
 * What execve(2) made: a program at its addresses. A child has its parent's until it executes
 * something itself, so processes share images.
 *
 * An image outlives the processes that were seen to have it for as long as a relative may still be
 * sampled. Loop thread only.
 */
#ifndef NODE_AGENT_PROCESS_PROCESS_IMAGE_H
#define NODE_AGENT_PROCESS_PROCESS_IMAGE_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/procfs/file_id.h"

struct process_snapshot;

/* What the kernel said when the program was executed. */
struct process_exec {
	pid_t pid;
	uint64_t start_boottime_ns;
	uint64_t cgroup_id; /* 0: unknown */
	struct file_version
		file;      /* the executable, as its inode describes it: see file_registry.h */
	uint64_t end_code; /* the last executable segment's end (p_vaddr + p_filesz), loaded */
	uint64_t vdso;     /* address; 0: none */
	const char *path;  /* as given to execve(2), may be relative; "" if unknown */
};

#define PROCESS_IMAGE_MAPS_MAX 16

/* A file that a process of the image has mapped executable. */
struct process_map {
	pid_t pid;
	uint64_t start_boottime_ns;
	struct file_id file; /* as its inode describes it */
	uint64_t start;
	uint64_t end; /* exclusive */
	uint64_t file_offset;
};

struct process_image {
	unsigned refs;
	/* It was executed while we watched: the members from file to path are known. */
	bool executed;
	struct file_version file;
	uint64_t end_code;
	uint64_t vdso;
	char *path; /* NULL: unknown */
	/* The process whose image it was first. Read at most once for its descendants. */
	pid_t owner;
	uint64_t owner_start_time;
	bool owner_tried;
	struct process_map *maps; /* that samples were in, in no order */
	size_t n_maps;
	struct process_snapshot *snapshot; /* the latest of a process with this image, or NULL */
};

/*
 * An image of a process that is `owner`. exec may be NULL: it was executed before we watched.
 * Returns NULL if out of memory.
 */
struct process_image *process_image_new(const struct process_exec *exec, pid_t owner,
					uint64_t owner_start_time);

/* Returns i. */
struct process_image *process_image_ref(struct process_image *i);
/* NULL is allowed. */
void process_image_unref(struct process_image *i);

/* Remembers what a process of this image has mapped. NULL as an image is allowed. */
void process_image_learn(struct process_image *i, struct process_snapshot *s);

/*
 * Adds a mapping, unless the image has it or PROCESS_IMAGE_MAPS_MAX of them. Returns 1 if it was
 * added, 0 if not, or -ENOMEM.
 */
int process_image_add_map(struct process_image *i, const struct process_map *map) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_PROCESS_IMAGE_H */
