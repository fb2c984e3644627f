/*
 * burn SECONDS [rest]: uses that much CPU time, then ends, or with "rest" sleeps until it is
 * killed. Static: the only file of a container.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

__attribute__((noinline)) static void burn(double seconds)
{
	struct timespec t;

	do {
		for (int i = 0; i < 100000; i++)
			sink = sink * 6364136223846793005u + 1442695040888963407u;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds);
}

int main(int argc, char **argv)
{
	burn(argc > 1 ? strtod(argv[1], NULL) : 1);
	while (argc > 2)
		pause();
	return 0;
}
