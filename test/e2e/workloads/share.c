/*
 * Spends CPU in two functions, 70 to 30, as its own thread CPU clock says, and
 * prints what it spent: share SECONDS
 */
#include <stdio.h>
#include <stdlib.h>

#include "quantum.h"

static volatile uint64_t sink;

__attribute__((noinline)) static void spend_seventy(int quantum)
{
	uint64_t x = sink;

	for (int i = 0; i < quantum; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

__attribute__((noinline)) static void spend_thirty(int quantum)
{
	uint64_t x = sink | 1;

	for (int i = 0; i < quantum; i++) {
		x ^= x << 13;
		x ^= x >> 7;
	}
	sink = x;
}

__attribute__((noinline)) static void share_work(uint64_t until, uint64_t spent[2])
{
	uint64_t before = cpu_ns();

	while (before < until) {
		int which = spent[0] * 3 > spent[1] * 7;
		uint64_t now;

		if (which)
			spend_thirty(next_quantum());
		else
			spend_seventy(next_quantum());
		now = cpu_ns();
		spent[which] += now - before;
		before = now;
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 10;
	uint64_t spent[2] = {0, 0};

	share_work((uint64_t)(seconds * 1e9), spent);
	printf("{\"cpuNs\":%llu,\"spend_seventy\":%llu,\"spend_thirty\":%llu}\n",
	       (unsigned long long)cpu_ns(), (unsigned long long)spent[0],
	       (unsigned long long)spent[1]);
	return 0;
}
