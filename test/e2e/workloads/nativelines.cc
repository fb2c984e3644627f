/*
 * Spends its CPU time in one line of a function that is inlined into another one, which is inlined,
 * too, until it is told to stop: nativelines SECONDS
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace shop
{

static volatile uint64_t sink;

static double cpu_seconds()
{
	timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Price {
	uint64_t cents;

	/* divisions take far longer than all else here */
	__attribute__((always_inline)) uint64_t mix(uint64_t y) const
	{
		return (1ull << 63) / ((1ull << 62) / ((1ull << 61) / ((cents ^ y) | 1) | 1) | 1); // line of mix
	}
};

template <typename T> __attribute__((always_inline)) inline uint64_t step(const T &item, uint64_t y)
{
	return item.mix(y) + y; // line of step
}

__attribute__((noinline)) void spend(int n)
{
	uint64_t x = sink;

	for (int i = 0; i < n; i++) {
		const Price p = {x};

		x = step(p, x << 7); // line of spend
	}
	sink = x;
}

}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? strtod(argv[1], nullptr) : 10;

	while (shop::cpu_seconds() < seconds)
		shop::spend(1000000); // line of main
	printf("{\"cpuNs\":%.0f}\n", shop::cpu_seconds() * 1e9);
	return 0;
}
