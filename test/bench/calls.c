/* calls DEPTH: a little work below so many calls, ten times a second. */
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned sum;

static __attribute__((noinline)) unsigned work(unsigned depth)
{
	if (depth > 0)
		return work(depth - 1) + 1;
	for (unsigned i = 0; i < 200000; i++)
		sum += i;
	return sum;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;

	for (;;) {
		usleep(100000);
		sum += work(depth);
	}
}
