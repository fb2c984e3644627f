/*
 * A program that is not written in Go and loads Go: shared_host DELAY_US LIBRARY… ARGUMENT loads
 * each library after that time and runs its run_target() on a thread of its own. It ends when
 * standard input does, as the libraries do.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *run(void *arg)
{
	void *library = dlopen(arg, RTLD_NOW);
	void (*run_target)(void) = NULL;

	if (library)
		*(void **)&run_target = dlsym(library, "run_target");
	if (!run_target) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	run_target();
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 4)
		return 2;
	usleep((useconds_t)atoi(argv[1]));
	for (int i = 2; i < argc - 1; i++) {
		if (pthread_create(&thread, NULL, run, argv[i]) != 0)
			return 1;
	}
	for (;;)
		pause();
}
