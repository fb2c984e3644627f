/*
 * A write-ahead log in a folder of its own. Uploads have numbers; the only frame of one says which
 * it is. What goes wrong fails the test.
 */
#ifndef TEST_LIB_LOG_FIXTURE_H
#define TEST_LIB_LOG_FIXTURE_H

#include "cluster-agent/wal/upload_log.h"
#include "common/base.h"
#include "common/system/clock.h"

#define LOG_FIXTURE_WAIT_NS (300 * NS_PER_S)

struct log_fixture {
	char dir[64];
	struct upload_log *log; /* NULL while it is closed */
};

/* For cmocka: the state is a struct log_fixture, whose log is not open. */
int log_fixture_setup(void **state);
/* Where syncs cost nothing. */
int log_fixture_setup_in_memory(void **state);
int log_fixture_teardown(void **state);

/* Opens or opens again; cfg may be NULL, its dir is not used. */
void log_fixture_open(struct log_fixture *f, const struct upload_log_config *cfg);
void log_fixture_close(struct log_fixture *f);

struct upload_id log_fixture_id(uint64_t n);

/* Appends upload n of at least so many bytes and waits. Returns 0, also for a repetition, or the
 * error of the log. */
int log_fixture_append_bytes(struct log_fixture *f, uint64_t n, size_t len);
int log_fixture_append(struct log_fixture *f, uint64_t n);

/* The next segment, read; there must be one. */
struct log_segment *log_fixture_next(struct log_fixture *f, struct log_segment_content *ret);
void log_fixture_commit(struct log_fixture *f, struct log_segment *s, const bool *refused);
/* The number of the upload, whose content must be right. */
uint64_t log_fixture_upload(const struct log_segment_content *c, size_t record);
/*
 * Takes everything out of the log and commits it. Returns how many uploads there were; the first
 * max of them are set.
 */
size_t log_fixture_drain(struct log_fixture *f, uint64_t *ret, size_t max);

/* The value of coroot_cluster_agent_wal_<name>. */
double log_fixture_metric(struct log_fixture *f, const char *name);

/* How many files have a name that ends like that; the name of one of them is set. */
size_t log_fixture_files(const struct log_fixture *f, const char *suffix, char ret[64]);
/* Reads and replaces a file of the folder. */
size_t log_fixture_load(const struct log_fixture *f, const char *name, uint8_t *ret, size_t max);
void log_fixture_put(const struct log_fixture *f, const char *name, const void *data, size_t len);
/* Removes all files. */
void log_fixture_empty(const struct log_fixture *f);

#endif /* TEST_LIB_LOG_FIXTURE_H */
