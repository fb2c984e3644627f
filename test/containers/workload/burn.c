/*
 * What containers run; static, because it is the only file in them:
 *
 *   burn SECONDS        uses that much CPU time, then exits
 *   burn SECONDS rest   uses that much CPU time, then sleeps until it is killed
 *   burn steady MS      uses 20 ms of CPU time, sleeps MS ms, and so on until it is killed
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void burn(double seconds)
{
	double end = cpu_seconds() + seconds;

	do {
		for (int i = 0; i < 20000; i++)
			sink = sink * 6364136223846793005u + 1442695040888963407u;
	} while (cpu_seconds() < end);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	while (strcmp(argv[1], "steady") == 0 && argc > 2) {
		burn(0.02);
		usleep((useconds_t)(1000 * atoi(argv[2])));
	}
	burn(strtod(argv[1], NULL));
	while (argc > 2)
		pause();
	return 0;
}
