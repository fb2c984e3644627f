/* Functions that the dynamic loader asks for at their first call, by calling choose(). */
#include "chain.h"
#include "lazy.h"

static volatile unsigned sink;

KEEP static void chosen(void)
{
	sink++;
}

KEEP static void acc_wait(void)
{
	unsigned x = sink | 1;

	for (unsigned i = 0; i < 250 * SPINS; i++)
		x = x * 1664525u + 1013904223u;
	sink = x;
}

/* Not acc_…: it is at the same address as all the functions below. */
KEEP static void (*choose(void))(void)
{
	acc_wait();
	STAY;
	return chosen;
}

#define DEFINE(name) void name(void) __attribute__((ifunc("choose")));
EACH_LAZY(DEFINE)
