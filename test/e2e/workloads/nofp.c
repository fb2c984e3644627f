/*
 * Functions that call each other in a chain, built without frame pointers (test/mk/test.mk), for as
 * much CPU time as the first argument says, in seconds. With a second argument, a child and a thread
 * do the same.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) double chain_leaf(double x)
{
	for (int i = 0; i < 200000; i++)
		x = x * 1.0000001 + 0.5;
	return x;
}

__attribute__((noinline)) double chain_middle(double x)
{
	return chain_leaf(x) + 1;
}

__attribute__((noinline)) double chain_outer(double x)
{
	return chain_middle(x) + 2;
}

static double spend(void)
{
	double x = 0;

	while (cpu_seconds() < seconds)
		x = chain_outer(x);
	return x;
}

__attribute__((noinline)) void *in_thread(void *arg)
{
	*(double *)arg = spend();
	return NULL;
}

__attribute__((noinline)) double in_child(void)
{
	return spend() + 1;
}

int main(int argc, char **argv)
{
	double x = 0;
	pthread_t thread;

	seconds = argc > 1 ? atof(argv[1]) : 1;
	if (argc > 2) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(in_child() < 0);
		if (pthread_create(&thread, NULL, in_thread, &x) != 0)
			return 1;
		pthread_join(thread, NULL);
		waitpid(pid, NULL, 0);
	}
	printf("%g\n", x + spend());
	return 0;
}
