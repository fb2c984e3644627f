/*
 * A language runtime that is made up: what runtime/ needs is here, and nothing is Go's. Its
 * programs are the processes that execute one file, or whatever the test says.
 */
#ifndef TEST_LIB_TOY_RUNTIME_H
#define TEST_LIB_TOY_RUNTIME_H

#include <stdatomic.h>

#include "common/base.h"
#include "node-agent/runtime/runtime_ops.h"

/* Index in the table of profiles. */
enum toy_profile {
	TOY_PROFILE_STEPS,
	TOY_PROFILE_BURST,
	TOY_PROFILES,
};

/* Index in the table of values. */
enum toy_value {
	TOY_VALUE_STEPS,
	TOY_VALUE_DEPTH,
	TOY_VALUES,
};

struct toy_session {
	enum runtime_baseline baseline;
	size_t n_bytes;
	uint64_t burst_ns; /* its turn with a schedule of its own; 0: none */
	uint64_t n_turns;
	bool is_changed; /* to be restored */
};

/* runtime_worker_config.config, and what the test sees; the test's. */
struct toy_runtime {
	struct file_id program; /* that its processes execute */
	_Atomic pid_t hang_pid; /* reading this process hangs … */
	int hang_fd;            /* … in a read(2) of this pipe */
	atomic_bool is_hanging;
	atomic_uint n_readers, n_opened, n_restored;
	_Atomic int open_error; /* what open() returns; 0: it succeeds */
	_Atomic int turn_error; /* what the first turn returns */
};

extern const struct runtime_ops toy_runtime_ops;

#endif /* TEST_LIB_TOY_RUNTIME_H */
