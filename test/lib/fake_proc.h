/* A folder that looks like /proc, with processes that the test makes up. */
#ifndef TEST_LIB_FAKE_PROC_H
#define TEST_LIB_FAKE_PROC_H

#include "common/base.h"

#define FAKE_PROC_KERNEL_THREAD 0x200000u   /* a flag */
#define FAKE_PROC_BEFORE 1u                 /* start times: long before the test … */
#define FAKE_PROC_AFTER (UINT64_C(1) << 50) /* … and after all of its scans */

struct fake_proc {
	const char *root;
	int root_fd;
	unsigned n_stopped;
};

void fake_proc_begin(struct fake_proc *f);
void fake_proc_end(struct fake_proc *f);

void fake_proc_put_file(struct fake_proc *f, const char *name, const char *text);
void fake_proc_put_stat(struct fake_proc *f, unsigned pid, uint64_t start_time, unsigned flags);

/* A process that executes that file of the folder, which is made unless it is there. */
void fake_proc_start(struct fake_proc *f, unsigned pid, uint64_t start_time, const char *exe);
void fake_proc_execute(struct fake_proc *f, unsigned pid, const char *exe);
void fake_proc_stop(struct fake_proc *f, unsigned pid);

#endif /* TEST_LIB_FAKE_PROC_H */
