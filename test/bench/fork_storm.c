/*
 * Starts PROCESSES programs within SECONDS, evenly, and waits for all of them; prints how many
 * ended well and how long it took: fork_storm PROCESSES SECONDS
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	return pid < 0 ? -1 : 0;
}

static int count_ended(int flags)
{
	int n = 0, status;

	while (waitpid(-1, &status, flags) > 0)
		n += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return n;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 6000, ended = 0;
	double seconds = argc > 2 ? atof(argv[2]) : 6, from = now();

	for (int i = 0; i < n; i++) {
		double wait = from + seconds * i / n - now();

		if (wait > 0)
			usleep((useconds_t)(wait * 1e6));
		while (start() < 0 && errno == EAGAIN)
			usleep(1000);
		ended += count_ended(WNOHANG);
	}
	ended += count_ended(0);
	printf("%d %.1f\n", ended, now() - from);
	return ended == n ? 0 : 1;
}
