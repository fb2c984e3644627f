/*
 * reuse_pid CGROUP_PROCS_1 CGROUP_PROCS_2 …: two processes with the same pid, one directly after
 * the other, each in the cgroups whose cgroup.procs files are named before and after "--". Prints
 * the pid, how many times the first process ran until its pid was still free, and the milliseconds
 * between the end of the first and the start of the second.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Moves itself, then uses half a second of CPU time. */
static void work(char **groups)
{
	for (; *groups && strcmp(*groups, "--") != 0; groups++) {
		int fd = open(*groups, O_WRONLY);

		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(1);
		close(fd);
	}
	while (seconds(CLOCK_PROCESS_CPUTIME_ID) < 0.5)
		for (int i = 0; i < 100000; i++)
			sink = sink * 6364136223846793005u + 1442695040888963407u;
	_exit(0);
}

/* pid 0: any. Returns the pid, or -1. */
static pid_t start(pid_t pid, char **groups)
{
	struct clone_args args = {.exit_signal = SIGCHLD};
	long child;

	if (pid > 0) {
		args.set_tid = (uint64_t)(uintptr_t)&pid;
		args.set_tid_size = 1;
	}
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (child == 0)
		work(groups);
	return (pid_t)child;
}

int main(int argc, char **argv)
{
	char **second = argv + 1;
	int status;

	while (*second && strcmp(*second, "--") != 0)
		second++;
	if (argc < 4 || !*second)
		return 2;
	second++;
	/* someone else may take the pid in between: try again with another one */
	for (int attempt = 0; attempt < 100; attempt++) {
		pid_t first = start(0, argv + 1), again;
		double ended;

		if (first < 0 || waitpid(first, &status, 0) != first || status != 0)
			return 1;
		ended = seconds(CLOCK_MONOTONIC);
		again = start(first, second);
		if (again < 0 && errno == EEXIST)
			continue;
		if (again < 0) {
			perror("clone3");
			return 1;
		}
		printf("{\"pid\": %d, \"attempts\": %d, \"pauseMs\": %.1f}\n", (int)again,
		       attempt + 1, 1e3 * (seconds(CLOCK_MONOTONIC) - ended));
		return waitpid(again, &status, 0) == again && status == 0 ? 0 : 1;
	}
	return 1;
}
