/*
 * Parser of a line of /proc/<pid>/maps.
 *
 * Pure: no I/O, no allocation. The process chooses the file names, so every byte is checked.
 */
#ifndef NODE_AGENT_PROCFS_PROC_MAPS_H
#define NODE_AGENT_PROCFS_PROC_MAPS_H

#include "common/base.h"

struct proc_map {
	uint64_t start;
	uint64_t end; /* exclusive, above start */
	uint64_t file_offset;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t ino; /* 0 if there is no file */
	bool deleted; /* the file was deleted or replaced */
	/*
	 * Points into the parsed line, without " (deleted)"; not NUL-terminated; "" if
	 * anonymous.
	 */
	const char *path;
	size_t path_len;
};

/*
 * line has no newline. Returns 0, or -EBADMSG if it is malformed; *ret is written on success
 * only.
 */
int proc_map_parse(const char *line, size_t len, struct proc_map *ret) MUST_CHECK;

/*
 * Whether the line may be of an executable mapping; false: it is of another one, or malformed. Most
 * lines are of others, and need not be parsed.
 */
bool proc_map_is_executable(const char *line, size_t len);

/* Sets path and deleted from the text at the end of a line, which ends in " (deleted)" then. */
void proc_map_set_path(struct proc_map *m, const char *text, size_t len);

#endif /* NODE_AGENT_PROCFS_PROC_MAPS_H */
