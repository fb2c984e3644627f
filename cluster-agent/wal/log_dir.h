/*
 * The directory of the write-ahead log: names of its files, and their numbers. Files with other
 * names are left alone.
 */
#ifndef CLUSTER_AGENT_WAL_LOG_DIR_H
#define CLUSTER_AGENT_WAL_LOG_DIR_H

#include "common/base.h"

enum log_file_kind {
	LOG_FILE_SEGMENT, /* uploads that are not committed */
	LOG_FILE_IDS,     /* ids of committed segments */
	LOG_FILE_DAMAGED, /* a committed segment of which not all could be read */
	LOG_FILE_REFUSED, /* uploads that the store refused */
	LOG_FILE_KIND_MAX,
};

#define LOG_FILE_NAME_BYTES 32u

struct log_file {
	uint64_t number;
	enum log_file_kind kind;
	uint64_t n_bytes;
};

void log_file_name(char ret[LOG_FILE_NAME_BYTES], uint64_t number, enum log_file_kind kind);
/* Returns false if this is not the name of a file of ours. */
bool log_file_parse(struct log_file *ret, const char *name);

/* Lists the files, by ascending number; the caller frees *ret. Returns 0 or -errno. */
int log_dir_list(int dir_fd, struct log_file **ret, size_t *ret_n) MUST_CHECK;
/* Removes a file; 0 also if there is none. */
int log_dir_remove(int dir_fd, uint64_t number, enum log_file_kind kind) MUST_CHECK;
/* Renames a file so that it is kept for a person; 0 also if there is none. */
int log_dir_keep_damaged(int dir_fd, uint64_t number, enum log_file_kind kind) MUST_CHECK;
/* How long ago the file was made, or last written if that is longer; 0 if it is not known. */
uint64_t log_dir_age_ns(int dir_fd, uint64_t number, enum log_file_kind kind);
/* Reads the content, up to max bytes; the caller frees it. Returns 0 or -errno. */
int log_dir_load(int dir_fd, uint64_t number, enum log_file_kind kind, size_t max, char **ret,
		 size_t *ret_len) MUST_CHECK;

#endif /* CLUSTER_AGENT_WAL_LOG_DIR_H */
