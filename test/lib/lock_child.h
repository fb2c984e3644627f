/*
 * A child with what would be the variables and records of Go's mutex and block profilers, in memory that the
 * test shares with it.
 */
#ifndef TEST_LIB_LOCK_CHILD_H
#define TEST_LIB_LOCK_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "node-agent/go/go_frames.h"
#include "node-agent/lock/lock_reader.h"
#include "node-agent/process/procfs.h"
#include "test/lib/unit.h"

#define LOCK_CHILD_RECORDS 4u
#define LOCK_CHILD_STACK 3u
#define LOCK_CHILD_TEXT 0x400000u

struct lock_child_record {
	uint64_t chain, next, type, hash, size, n_stack;
	uint64_t stack[LOCK_CHILD_STACK];
	double waits;
	uint64_t ticks;
};

/* Shared; by enum lock_kind. */
struct lock_child_memory {
	uint64_t rates[LOCK_KINDS];
	uint64_t lists[LOCK_KINDS];
	struct lock_child_record records[LOCK_CHILD_RECORDS];
};

/* Where it is mapped: a variable, because what is written to is found by its symbol. */
#define LOCK_CHILD_PAGE 4096u
static uint8_t lock_child_page[LOCK_CHILD_PAGE] __attribute__((used, aligned(LOCK_CHILD_PAGE)));

/* clang-format off */
__asm__(".set \"runtime.mutexprofilerate\", lock_child_page\n"
	".set \"runtime.blockprofilerate\", lock_child_page + 8\n");
/* clang-format on */

struct lock_child {
	struct lock_child_memory *memory;
	pid_t pid;
	int root_fd;
	struct go_target_files files;
	struct go_process_id id;
	struct go_target target;
	struct go_executable executable;
	struct go_runtime runtime;
};

static inline uint64_t lock_child_address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* As a program of Go 1.24 is opened. */
static inline void lock_child_open_runtime(struct lock_child *c)
{
	static const enum go_variable rates[] = {GO_MUTEX_RATE, GO_BLOCK_RATE},
				      lists[] = {GO_MUTEX_BUCKETS, GO_BLOCK_BUCKETS};
	struct go_runtime *rt = &c->runtime;

	c->executable = (struct go_executable){.sought = UINT32_MAX};
	assert_int_equal(go_frames_new(&c->executable.frames, 1u << 20), 0);
	for (int i = 0; i < LOCK_KINDS; i++) {
		c->executable.at[rates[i]] =
			lock_child_address(&c->memory->rates[i]) - c->target.bias;
		c->executable.at[lists[i]] =
			lock_child_address(&c->memory->lists[i]) - c->target.bias;
	}
	*rt = (struct go_runtime){
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
	assert_int_equal(memory_windows_new(&rt->windows), 0);
	rt->modules[0].data[1] =
		(struct go_range){lock_child_address(c->memory), lock_child_address(c->memory + 1)};
	rt->text[0] = (struct go_range){LOCK_CHILD_TEXT, LOCK_CHILD_TEXT + 0x1000};
}

static inline void lock_child_begin(struct lock_child *c)
{
	AUTO_CLOSE int proc_fd = -1;
	struct proc_stat st;

	memset(c, 0, sizeof(*c));
	c->memory = mmap(lock_child_page, sizeof(lock_child_page), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(c->memory, lock_child_page);
	c->pid = fork();
	if (c->pid == 0) {
		/* also when a test fails, nobody waits for the end of its output */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		for (;;)
			pause();
	}
	assert_true(c->pid > 0);
	c->root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(deadline_caller_new(&c->files.caller, UINT64_C(60000000000), 1), 0);
	proc_fd = procfs_open_process(c->root_fd, c->pid);
	assert_int_equal(procfs_read_stat(proc_fd, &st), 0);
	c->id = (struct go_process_id){.pid = c->pid, .start_time = st.start_time};
	assert_int_equal(go_target_read_key(proc_fd, &c->id.exe), 0);
	assert_int_equal(go_target_open(&c->target, c->root_fd, &c->id, &c->files), 0);
	lock_child_open_runtime(c);
}

static inline void lock_child_kill(struct lock_child *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	c->pid = 0;
}

/* It may have been killed. */
static inline void lock_child_end(struct lock_child *c)
{
	lock_child_kill(c);
	go_target_close(&c->target);
	deadline_caller_free(c->files.caller);
	memory_windows_free(c->runtime.windows);
	go_frames_free(c->executable.frames);
	close(c->root_fd);
}

/* In front of the list of its kind. */
static inline void lock_child_record(struct lock_child *c, unsigned i, enum lock_kind kind,
				     double waits, uint64_t ticks)
{
	struct lock_child_record *r = &c->memory->records[i];

	*r = (struct lock_child_record){
		.next = c->memory->lists[kind],
		.type = kind == LOCK_MUTEX ? GO_BUCKET_MUTEX : GO_BUCKET_BLOCK,
		.n_stack = LOCK_CHILD_STACK,
		.waits = waits,
		.ticks = ticks,
	};
	for (unsigned k = 0; k < LOCK_CHILD_STACK; k++)
		r->stack[k] = LOCK_CHILD_TEXT + 16 * i + k + 1;
	r->hash = go_bucket_hash(r->stack, LOCK_CHILD_STACK, 0);
	c->memory->lists[kind] = lock_child_address(r);
}

#endif /* TEST_LIB_LOCK_CHILD_H */
