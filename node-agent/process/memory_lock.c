/*
 * The lock is taken and released on a thread that is given up if it waits for too long. Whoever is
 * told that this worked then reads on its own thread, as a thread switch for each part of a
 * process would cost more than the parts: that the lock is lost for good in these microseconds
 * is left to chance.
 *
 * A mapping that cannot exist is looked up: that takes the lock on all kernels, whereas maps is
 * read without it since Linux 6.17.
 */
#include "node-agent/process/memory_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/thread/deadline_call.h"

#define NO_MAPPING "map_files/1-2" /* in no unit of pages */
#define NOT_A_DEVICE (UINT64_C(1) << 63)
#define PID_SHIFT 40

struct lock_job {
	struct deadline_job job; /* first */
	int proc_fd;             /* owned: the job may outlive the caller's */
};

static void take_lock(struct deadline_job *j)
{
	struct lock_job *job = (struct lock_job *)j;
	struct stat st;

	(void)fstatat(job->proc_fd, NO_MAPPING, &st, AT_SYMLINK_NOFOLLOW);
}

static void free_job(struct deadline_job *j)
{
	struct lock_job *job = (struct lock_job *)j;

	closep(&job->proc_fd);
	free(job);
}

int memory_lock_check(struct deadline_caller *c, int proc_fd, pid_t pid, uint64_t start_time)
{
	AUTO_CLOSE int fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	struct lock_job *job;
	int r;

	if (fd < 0)
		return -errno;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->job = (struct deadline_job){
		.run = take_lock,
		.free = free_job,
		.key = NOT_A_DEVICE | ((uint64_t)pid << PID_SHIFT ^ start_time),
		.once = true,
	};
	job->proc_fd = TAKE_FD(fd);
	r = deadline_call(c, &job->job);
	if (r == 0)
		free_job(&job->job);
	return r;
}
