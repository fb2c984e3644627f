#include "node-agent/workload/environ_check.h"

#include <errno.h>
#include <fcntl.h>

#include "common/system/clock.h"
#include "common/thread/deadline_call.h"
#include "node-agent/workload/profile_filter.h"

#define READ_TIMEOUT_NS (200 * NS_PER_MS) /* sampling waits; the ring holds two seconds */
#define HUNG_PAUSE_NS (60 * NS_PER_S)

struct environ_check {
	struct deadline_caller *caller;
};

struct environ_job {
	struct deadline_job job; /* first */
	int proc_fd;             /* owned */
	int result;
};

int environ_check_new(struct environ_check **ret)
{
	CLEANUP(environ_check_freep) struct environ_check *c = calloc(1, sizeof(*c));

	if (!c || deadline_caller_new(&c->caller, READ_TIMEOUT_NS, HUNG_PAUSE_NS) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(c);
	return 0;
}

void environ_check_free(struct environ_check *c)
{
	if (!c)
		return;
	deadline_caller_free(c->caller);
	free(c);
}

static void run(struct deadline_job *j)
{
	struct environ_job *job = (struct environ_job *)j;

	job->result = profile_filter_read_environ(job->proc_fd);
}

static void job_free(struct deadline_job *j)
{
	struct environ_job *job = (struct environ_job *)j;

	closep(&job->proc_fd);
	free(job);
}

int environ_check_excludes(struct environ_check *c, int proc_fd, pid_t pid)
{
	struct environ_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->job = (struct deadline_job){.run = run, .free = job_free, .key = (uint64_t)pid};
	/* its own descriptor: the job may outlive the caller's */
	job->proc_fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	r = deadline_call(c->caller, &job->job);
	if (r < 0)
		return r;
	r = job->result;
	job_free(&job->job);
	return r;
}
