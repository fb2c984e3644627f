/*
 * Spends CPU below the dynamic loader, which looks symbols up when functions are first called:
 *   lazy SECONDS
 * Its code that is entered then, _dl_runtime_resolve, aligns the stack and has its CFA in rbx.
 */
#include "lazy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "chain.h"

static volatile unsigned sink;
static double until;

static bool is_over(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9 >= until;
}

#define CALL(name)      \
	if (is_over())  \
		return; \
	name();

KEEP static void acc_calls(void)
{
	EACH_LAZY(CALL)
	STAY;
}

KEEP static void acc_rest(void)
{
	for (unsigned i = 0; i < SPINS; i++)
		sink += i;
}

int main(int argc, char **argv)
{
	until = argc > 1 ? strtod(argv[1], NULL) : 2;
	acc_calls();
	while (!is_over())
		acc_rest();
	return 0;
}
