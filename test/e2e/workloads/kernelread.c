/*
 * Spends its CPU inside the kernel: reads /dev/zero in large pieces until it
 * has used that much CPU, and prints how much: kernelread SECONDS
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void read_zeros(int fd)
{
	static char buf[1 << 20];

	for (int i = 0; i < 50; i++)
		if (read(fd, buf, sizeof(buf)) != (ssize_t)sizeof(buf))
			exit(1);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 10;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 1;
	while (cpu_ns() < (uint64_t)(seconds * 1e9))
		read_zeros(fd);
	printf("{\"cpuNs\":%llu}\n", (unsigned long long)cpu_ns());
	return 0;
}
