/*
 * What a sampler of stacks finds hardest, for as long as standard input is open: code that runs in
 * libraries while others are loaded and unloaded (churn LIBRARY..., each with "churn_call", see
 * churn_library.c), a tree of mappings that changes all the time, signal handlers on a stack of
 * their own, deep stacks, threads of a millisecond, and children that exec, exit, or are killed
 * while they run. Built without frame pointers. Prints a line with the number of turns of each
 * thread twice a second.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_AREAS 400
#define PAGE 4096u
#define DEEP_FRAMES 3000

typedef int (*churn_call_fn)(int (*back)(int), int x);

static char **libraries;
static int n_libraries;

__attribute__((noinline)) static int burn(int x)
{
	for (int i = 0; i < 20000; i++)
		x = x * 1103515245 + 12345;
	return x;
}

__attribute__((noinline)) static int deep(int depth, int x)
{
	return depth == 0 ? burn(x) : deep(depth - 1, x + 1) + 1;
}

/* Code of a library is on the stack until just before the library is unloaded. */
static void turn_libraries(unsigned *seed)
{
	char *file = libraries[rand_r(seed) % n_libraries];
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	churn_call_fn call;

	if (!handle) {
		fprintf(stderr, "churn: %s\n", dlerror());
		_exit(1);
	}
	*(void **)&call = dlsym(handle, "churn_call");
	for (int i = 0; i < 20; i++)
		call(burn, i);
	dlclose(handle);
}

/* Areas next to each other that differ in their rights cannot be merged to one. */
static void turn_mappings(unsigned *seed)
{
	static _Thread_local void *areas[N_AREAS];

	for (int i = 0; i < 200; i++) {
		unsigned at = (unsigned)rand_r(seed) % N_AREAS;
		size_t size = PAGE * (1 + at % 7);

		if (areas[at]) {
			munmap(areas[at], size);
			areas[at] = NULL;
			continue;
		}
		areas[at] = mmap(NULL, size, at % 2 ? PROT_READ | PROT_EXEC : PROT_READ,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (areas[at] == MAP_FAILED)
			areas[at] = NULL;
		else if (at % 3 == 0)
			mprotect(areas[at], PAGE, PROT_READ | PROT_WRITE);
	}
	burn(1);
}

static void turn_deep(unsigned *seed)
{
	deep(rand_r(seed) % DEEP_FRAMES, 1);
}

static void *short_life(void *arg)
{
	burn(1);
	return arg;
}

static void turn_threads(unsigned *seed)
{
	pthread_t threads[8];
	size_t n = 0;

	(void)seed;
	while (n < 8 && pthread_create(&threads[n], NULL, short_life, NULL) == 0)
		n++;
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

static void be_child(unsigned kind)
{
	static const struct timespec moment = {.tv_nsec = 1000000};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	switch (kind) {
	case 0:
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	case 1:
		nanosleep(&moment, NULL);
		_exit(0);
	case 2:
		deep(1000, 1);
		_exit(0);
	default:
		for (;;)
			burn(1);
	}
}

static void turn_children(unsigned *seed)
{
	pid_t pids[8];

	for (unsigned i = 0; i < 8; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			be_child(i % 4);
	}
	usleep((useconds_t)(rand_r(seed) % 3000));
	for (unsigned i = 0; i < 8; i++) {
		if (pids[i] < 0)
			continue;
		if (i % 4 == 3)
			kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

static void on_signal(int signal)
{
	(void)signal;
	burn(1);
}

/* Signals go to the thread that has asked for them: the timer is the process's, and all others
 * block the signal. */
static void turn_signals(unsigned *seed)
{
	static char stack[64 * 1024];
	static bool begun;
	static sigset_t set;

	if (!begun) {
		const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
		const struct sigaction action = {.sa_handler = on_signal,
						 .sa_flags = SA_ONSTACK | SA_RESTART};
		const struct itimerval every = {{.tv_usec = 1000}, {.tv_usec = 1000}};

		sigaltstack(&alternate, NULL);
		sigaction(SIGPROF, &action, NULL);
		sigemptyset(&set);
		sigaddset(&set, SIGPROF);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		setitimer(ITIMER_PROF, &every, NULL);
		begun = true;
	}
	deep(rand_r(seed) % 100, 1);
}

static struct activity {
	const char *name;
	void (*turn)(unsigned *seed);
	_Atomic unsigned long n_turns;
} activities[] = {
	{"libraries", turn_libraries, 0}, {"mappings", turn_mappings, 0},
	{"deep", turn_deep, 0},           {"threads", turn_threads, 0},
	{"children", turn_children, 0},   {"signals", turn_signals, 0},
};
#define N_ACTIVITIES (sizeof(activities) / sizeof(activities[0]))

static void *run(void *arg)
{
	static const struct timespec pause = {.tv_nsec = 500000};
	struct activity *a = arg;
	unsigned seed = (unsigned)(a - activities) + 1;

	for (;;) {
		a->turn(&seed);
		a->n_turns++;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void *wait_for_end(void *arg)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
	return arg;
}

int main(int argc, char **argv)
{
	static const struct timespec half_second = {.tv_nsec = 500000000};
	pthread_t thread;
	sigset_t set;

	libraries = argv + 1;
	n_libraries = argc - 1;
	if (n_libraries == 0)
		return 2;
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
		return 1;
	for (size_t i = 0; i < N_ACTIVITIES; i++)
		if (pthread_create(&thread, NULL, run, &activities[i]) != 0)
			return 1;
	for (;;) {
		nanosleep(&half_second, NULL);
		for (size_t i = 0; i < N_ACTIVITIES; i++)
			printf("%s %lu ", activities[i].name, activities[i].n_turns);
		printf("\n");
		fflush(stdout);
	}
}
