/*
 * A folder that stands for /proc, with the processes that the test shows; a loop that runs
 * until something has happened; and the metrics of whatever runs on it.
 */
#ifndef TEST_LIB_RUNTIME_FIXTURE_H
#define TEST_LIB_RUNTIME_FIXTURE_H

#include <sys/types.h>

#include "common/base.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "node-agent/process/process_table.h"

struct runtime_fixture {
	const char *root; /* the folder */
	struct loop *loop;
	struct metrics *ms;
	struct process_table *processes; /* of the folder; scanned while the loop runs */

	/* the fixture's own */
	struct loop_source *poll, *give_up;
	bool (*is_done)(void *ctx);
	void *ctx;
	bool is_late;
};

/* Makes the folder, and the table of its processes. */
void runtime_fixture_begin(struct runtime_fixture *f);
/*
 * Makes loop and metrics. Returns 0 or -errno: fails no test, so that children of a test can
 * call it.
 */
int runtime_fixture_start(struct runtime_fixture *f) MUST_CHECK;
/* Whatever runs on the loop has been freed. */
void runtime_fixture_stop(struct runtime_fixture *f);
/* Removes folder and table. */
void runtime_fixture_end(struct runtime_fixture *f);

/* Makes a process visible in the folder, and takes it out again. */
void runtime_fixture_show(const struct runtime_fixture *f, pid_t pid);
void runtime_fixture_hide(const struct runtime_fixture *f, pid_t pid);

/*
 * Runs the loop until is_done(ctx), which is asked every few milliseconds. Returns false after
 * minutes.
 */
bool runtime_fixture_work(struct runtime_fixture *f, bool (*is_done)(void *ctx), void *ctx);

/* The sum of all metrics whose lines begin so: with or without labels, or a part of them. */
uint64_t runtime_fixture_metric(const struct runtime_fixture *f, const char *beginning);

/* How often text is in the file fd. */
unsigned runtime_fixture_count(int fd, const char *text);
/* Prints it, for a test that fails. */
void runtime_fixture_show_log(int fd);

#endif /* TEST_LIB_RUNTIME_FIXTURE_H */
