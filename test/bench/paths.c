/*
 * Burns CPU in call chains exactly DEPTH functions deep, over a known number of distinct paths:
 *   paths SECONDS N_PATHS
 * At each level the next function is chosen by one bit of the path's number, so every path
 * is a different chain of return addresses. Built with frame pointers. Prints its own CPU time
 * in nanoseconds at the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEEP __attribute__((noinline, noclone))
#define SPIN_NS 200000

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sink;

static KEEP void level_0(uint64_t path)
{
	uint64_t end = now_ns(CLOCK_MONOTONIC) + SPIN_NS;

	/* few clock reads, so that most samples hit this function itself */
	while (now_ns(CLOCK_MONOTONIC) < end)
		for (uint64_t i = 0; i < 5000; i++)
			sink += path ^ i;
}

/* Two functions per level that differ only by name; the asm keeps calls from becoming jumps. */
#define LEVEL(n, below, bit)                           \
	static KEEP void level_##n##_a(uint64_t path); \
	static KEEP void level_##n##_b(uint64_t path)  \
	{                                              \
		below(path, bit);                      \
		__asm__ volatile("" ::: "memory");     \
		sink += 1;                             \
	}                                              \
	static KEEP void level_##n##_a(uint64_t path)  \
	{                                              \
		below(path, bit);                      \
		__asm__ volatile("" ::: "memory");     \
		sink += 2;                             \
	}

#define LEAF(path, bit) level_0(path)
#define DOWN(n, path, bit)                   \
	do {                                 \
		if ((path) >> (bit)&1)       \
			level_##n##_b(path); \
		else                         \
			level_##n##_a(path); \
	} while (0)

#define B1(p, b) DOWN(1, p, b)
#define B2(p, b) DOWN(2, p, b)
#define B3(p, b) DOWN(3, p, b)
#define B4(p, b) DOWN(4, p, b)
#define B5(p, b) DOWN(5, p, b)
#define B6(p, b) DOWN(6, p, b)
#define B7(p, b) DOWN(7, p, b)
#define B8(p, b) DOWN(8, p, b)
#define B9(p, b) DOWN(9, p, b)
#define B10(p, b) DOWN(10, p, b)
#define B11(p, b) DOWN(11, p, b)
#define B12(p, b) DOWN(12, p, b)
#define B13(p, b) DOWN(13, p, b)
#define B14(p, b) DOWN(14, p, b)
#define B15(p, b) DOWN(15, p, b)
#define B16(p, b) DOWN(16, p, b)
#define B17(p, b) DOWN(17, p, b)
#define B18(p, b) DOWN(18, p, b)
#define B19(p, b) DOWN(19, p, b)
#define B20(p, b) DOWN(20, p, b)
#define B21(p, b) DOWN(21, p, b)
#define B22(p, b) DOWN(22, p, b)
#define B23(p, b) DOWN(23, p, b)
#define B24(p, b) DOWN(24, p, b)
#define B25(p, b) DOWN(25, p, b)
#define B26(p, b) DOWN(26, p, b)
#define B27(p, b) DOWN(27, p, b)
#define B28(p, b) DOWN(28, p, b)

LEVEL(1, LEAF, 0)
LEVEL(2, B1, 0)
LEVEL(3, B2, 1)
LEVEL(4, B3, 2)
LEVEL(5, B4, 3)
LEVEL(6, B5, 4)
LEVEL(7, B6, 5)
LEVEL(8, B7, 6)
LEVEL(9, B8, 7)
LEVEL(10, B9, 8)
LEVEL(11, B10, 9)
LEVEL(12, B11, 10)
LEVEL(13, B12, 11)
LEVEL(14, B13, 12)
LEVEL(15, B14, 0)
LEVEL(16, B15, 0)
LEVEL(17, B16, 0)
LEVEL(18, B17, 0)
LEVEL(19, B18, 0)
LEVEL(20, B19, 0)
LEVEL(21, B20, 0)
LEVEL(22, B21, 0)
LEVEL(23, B22, 0)
LEVEL(24, B23, 0)
LEVEL(25, B24, 0)
LEVEL(26, B25, 0)
LEVEL(27, B26, 0)
LEVEL(28, B27, 0)

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	uint64_t n_paths = argc > 2 ? strtoull(argv[2], NULL, 10) : 2048;
	uint64_t end = now_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	uint64_t state = 88172645463325252u;

	while (now_ns(CLOCK_MONOTONIC) < end) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		B28(state % n_paths, 0);
	}
	printf("%llu\n", (unsigned long long)now_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
