/*
 * Parser of one /proc/<pid>/maps line.
 *
 * Pure: no I/O, no allocation. The text comes from a process we do not
 * control (file names are chosen by it), so every byte is checked.
 */
#ifndef NODE_AGENT_PROCESS_PROC_MAPS_H
#define NODE_AGENT_PROCESS_PROC_MAPS_H

#include "common/base.h"

struct proc_map {
	uint64_t start;
	uint64_t end; /* exclusive, above start */
	uint64_t file_offset;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t ino; /* 0: no file */
	bool exec;
	bool deleted; /* the file has no name any more */
	/* Points into the parsed line, without " (deleted)"; not NUL-terminated; "" if anonymous. */
	const char *path;
	size_t path_len;
};

/* line without its newline. 0, or -EBADMSG when malformed; ret is written only on 0. */
int proc_map_parse(const char *line, size_t len, struct proc_map *ret) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_PROC_MAPS_H */
