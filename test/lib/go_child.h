/*
 * A waiting child of the test, opened as a Go 1.24 program whose variables lie where the test
 * puts them. It starts with a copy of the test's memory.
 */
#ifndef TEST_LIB_GO_CHILD_H
#define TEST_LIB_GO_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/go/image/go_runtime.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/unit.h"

struct go_child {
	pid_t pid;
	int root_fd;
	struct program_target_files files;
	struct program_id id;
	struct program_target target;
	struct go_executable executable;
	struct go_runtime runtime;
};

static inline void go_child_start(struct go_child *c)
{
	c->pid = fork();
	if (c->pid == 0) {
		/*
		 * otherwise a reader of the test's output would wait for this child after a
		 * failure
		 */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		for (;;)
			pause();
	}
	assert_true(c->pid > 0);
}

/* Its runtime takes data, up to data_end, for its variables. */
static inline void go_child_begin(struct go_child *c, const void *data, const void *data_end)
{
	AUTO_CLOSE int proc_fd = -1;
	struct proc_stat st;

	memset(c, 0, sizeof(*c));
	go_child_start(c);
	c->root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(deadline_caller_new(&c->files.caller, 60 * NS_PER_S, 1), 0);
	proc_fd = procfs_open_process(c->root_fd, c->pid);
	assert_int_equal(procfs_read_stat(proc_fd, &st), 0);
	c->id = (struct program_id){.pid = c->pid, .start_time = st.start_time};
	assert_int_equal(procfs_read_exe_id(proc_fd, &c->id.exe), 0);
	assert_int_equal(program_target_open(&c->target, c->root_fd, &c->id, &c->files), 0);
	c->runtime = (struct go_runtime){
		.target = &c->target,
		.image = {.layout = &c->target.layout,
			  .file = &c->target.file,
			  .memory = &c->target.memory,
			  .bias = c->target.bias,
			  .minor = 24},
		.executable = &c->executable,
		.deadline_ns = UINT64_MAX,
		.n_modules = 1,
	};
	c->runtime.modules[0].data[1] =
		(struct go_range){(uint64_t)(uintptr_t)data, (uint64_t)(uintptr_t)data_end};
}

/* Sets the address of a variable, which is the same in both processes. */
static inline void go_child_put(struct go_child *c, enum go_variable which, const void *at)
{
	c->executable.searched |= UINT32_C(1) << which;
	c->executable.at[which] = (uint64_t)(uintptr_t)at - c->target.bias;
}

static inline void go_child_kill(struct go_child *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	c->pid = 0;
}

/* The child may have been killed already. */
static inline void go_child_end(struct go_child *c)
{
	go_child_kill(c);
	program_target_close(&c->target);
	deadline_caller_free(c->files.caller);
	close(c->root_fd);
}

#endif /* TEST_LIB_GO_CHILD_H */
