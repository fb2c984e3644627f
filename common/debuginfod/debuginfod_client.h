/*
 * Debug files of builds from debuginfod servers into the cache of debuginfod's client, for a
 * program that a person waits for: one file at a time, within a time for all of them.
 *
 * A file is kept only if it is an ELF file of the build that was asked for. A server that fails is
 * not asked again.
 *
 * One thread owns a client; what other threads may call says so.
 */
#ifndef COMMON_DEBUGINFOD_DEBUGINFOD_CLIENT_H
#define COMMON_DEBUGINFOD_DEBUGINFOD_CLIENT_H

#include "common/base.h"
#include "common/err.h"

struct debuginfod_client;

struct debuginfod_client_config {
	const char *urls; /* as in $DEBUGINFOD_URLS */
	const char *user_agent;
	uint64_t max_file_bytes;
	uint64_t time_ns; /* for all files; what is on the way when it is up is given up */
};

/*
 * *ret is NULL if there are no URLs. Returns 0, -EINVAL with a sentence in err, or -errno.
 */
int debuginfod_client_new(struct debuginfod_client **ret,
			  const struct debuginfod_client_config *cfg, struct err *err) MUST_CHECK;
void debuginfod_client_free(struct debuginfod_client *c);
DEFINE_CLEANUP(struct debuginfod_client *, debuginfod_client_free);

/*
 * Receives the debug file of a build, in hexadecimal digits, into the cache. Returns 0, -ENOENT if
 * no server has it or has given one of use, or another -errno, as -ETIMEDOUT once the time is up.
 */
int debuginfod_client_get(struct debuginfod_client *c, const char *build_id) MUST_CHECK;

/* Ends what is on the way; nothing more is asked. Any thread. */
void debuginfod_client_stop(struct debuginfod_client *c);

struct debuginfod_client_counts {
	uint32_t n_files;
	uint64_t n_bytes; /* received so far */
	bool is_late;     /* the time was up before all was there */
};
/* Any thread. */
struct debuginfod_client_counts debuginfod_client_counts(const struct debuginfod_client *c);

/* "https://…: HTTP 503" of the first server that failed, or of the cache; NULL: none did. */
const char *debuginfod_client_problem(const struct debuginfod_client *c);

#endif /* COMMON_DEBUGINFOD_DEBUGINFOD_CLIENT_H */
