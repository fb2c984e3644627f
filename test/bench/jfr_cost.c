/*
 * What reading a recording costs: jfr_cost FILE [ROUNDS] reads it that often, and prints one line
 * of JSON. Frames are hashed, so that the compiler leaves none of the work out.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/jfr/jfr_stacks.h"

struct totals {
	uint64_t n_stacks;
	uint64_t n_frames;
	uint64_t hash;
};

static ssize_t read_file(void *ctx, void *to, size_t len, uint64_t offset)
{
	return pread(*(const int *)ctx, to, len, (off_t)offset);
}

static int count(void *ctx, const struct jfr_stack *s)
{
	struct totals *t = ctx;

	t->n_stacks++;
	t->n_frames += s->n_frames;
	for (size_t i = 0; i < s->n_frames; i++)
		t->hash = t->hash * 31 + s->frames[i].function_id + s->frames[i].line;
	return 0;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Of resident memory; getrusage(2) would include that of the program which started this one. */
static long peak_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	}
	if (f)
		fclose(f);
	return kib;
}

int main(int argc, char **argv)
{
	AUTO_CLOSE int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 5, before = peak_kib();
	struct jfr_source src = {.read = read_file, .ctx = &fd};
	struct jfr_settings settings = {0};
	struct totals t;
	const struct jfr_stacks_config cfg = {count, &t, &settings};
	uint64_t best_ns = UINT64_MAX;
	struct jfr_result result = {0};
	struct err err = {{0}};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		fprintf(stderr, "usage: jfr_cost FILE [ROUNDS]\n");
		return 1;
	}
	src.size_bytes = (uint64_t)st.st_size;
	for (long i = 0; i < rounds; i++) {
		uint64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID);

		t = (struct totals){0};
		if (jfr_stacks_read(&src, &cfg, &result, &err) < 0) {
			fprintf(stderr, "jfr_cost: %s\n", err.msg);
			return 1;
		}
		start = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		best_ns = start < best_ns ? start : best_ns;
	}
	printf("{\"bytes\":%" PRIu64 ",\"ns\":%" PRIu64 ",\"chunks\":%" PRIu64
	       ",\"events\":%" PRIu64 ",\"stacks\":%" PRIu64 ",\"frames\":%" PRIu64
	       ",\"lost\":%" PRIu64 ",\"memoryBytes\":%zu,\"rssKib\":%ld,\"hash\":%" PRIu64 "}\n",
	       src.size_bytes, best_ns, result.n_chunks, result.n_events, t.n_stacks, t.n_frames,
	       result.lost[JFR_LOSS_STACKS_FULL] + result.lost[JFR_LOSS_NAMES_FULL],
	       result.peak_bytes, peak_kib() - before, t.hash);
	return 0;
}
