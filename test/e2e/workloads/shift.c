/*
 * Changes what it does at a known moment. For each line "A B C SECONDS" on its input it divides its
 * CPU time between spend_first, spend_second and spend_added in these proportions for so long, and
 * answers with a line: what it spent in each, by its own thread CPU clock, and from when to when.
 */
#include <inttypes.h>
#include <stdio.h>

#include "quantum.h"

enum { FUNCTIONS = 3 };

static volatile uint64_t sink;

__attribute__((noinline)) static void spend_first(int quantum)
{
	uint64_t x = sink;

	for (int i = 0; i < quantum; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

__attribute__((noinline)) static void spend_second(int quantum)
{
	uint64_t x = sink | 1;

	for (int i = 0; i < quantum; i++)
		x = x * 2862933555777941757u + 3037000493u;
	sink = x;
}

__attribute__((noinline)) static void spend_added(int quantum)
{
	uint64_t x = sink | 3;

	for (int i = 0; i < quantum; i++)
		x = x * 3202034522624059733u + 1u;
	sink = x;
}

static void (*const spend[FUNCTIONS])(int quantum) = {spend_first, spend_second, spend_added};

/* The function that is furthest behind its share. */
static int next_function(const unsigned share[FUNCTIONS], const uint64_t spent[FUNCTIONS])
{
	int best = -1;

	for (int i = 0; i < FUNCTIONS; i++) {
		if (share[i] == 0)
			continue;
		if (best < 0 || spent[i] * share[best] < spent[best] * share[i])
			best = i;
	}
	return best;
}

__attribute__((noinline)) static void shift_work(const unsigned share[FUNCTIONS], unsigned seconds,
						 uint64_t spent[FUNCTIONS])
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * UINT64_C(1000000000);
	uint64_t before = cpu_ns();

	while (clock_ns(CLOCK_MONOTONIC) < end) {
		int i = next_function(share, spent);
		uint64_t now;

		if (i < 0)
			return;
		spend[i](next_quantum());
		now = cpu_ns();
		spent[i] += now - before;
		before = now;
	}
}

int main(void)
{
	unsigned share[FUNCTIONS];
	unsigned seconds;

	while (scanf("%u %u %u %u", &share[0], &share[1], &share[2], &seconds) == 4) {
		uint64_t spent[FUNCTIONS] = {0};
		uint64_t from = clock_ns(CLOCK_REALTIME) / 1000000u;

		shift_work(share, seconds, spent);
		printf("{\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"spend_first\":%" PRIu64
		       ",\"spend_second\":%" PRIu64 ",\"spend_added\":%" PRIu64 "}\n",
		       from, clock_ns(CLOCK_REALTIME) / 1000000u, spent[0], spent[1], spent[2]);
		(void)fflush(stdout);
	}
	return 0;
}
