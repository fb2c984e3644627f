/*
 * check_goroutines read PID FILE NUMBER: writes the goroutine profile of a process, made by the
 * node agent's reader, and checks that it has NUMBER goroutines, as runtime.NumGoroutine()
 * returned, and that none of them moved.
 * check_goroutines same OURS THEIRS DEPTH: checks that two profiles have the same stacks,
 * function by function and line by line, with the same number of goroutines each. DEPTH is how
 * many calls the program's own profile shows. The main goroutine is left out, because it makes
 * that profile.
 * check_goroutines counts OURS THEIRS: checks that both have the same number of goroutines; ours
 * may have frames for what they wait for.
 * check_goroutines busy PID NUMBER: reads a program whose goroutines never stop repeatedly, and
 * checks that NUMBER are counted each time, few of them without a stack.
 * check_goroutines time PID: prints what a reading costs.
 */
#include <errno.h>
#include <inttypes.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/text/parse.h"
#include "node-agent/go/goroutine/goroutine_reader.h"
#include "node-agent/go/image/go_reader.h"
#include "test/go-matrix/profile_stacks.h"

#define MIN_STACKS 25u
#define TIMES 5
#define BUSY_TIMES 20
#define BUSY_PER_LOST 100
#define MAIN "  main.main "
#define NS_PER_US 1000

/* ---- read ---- */

static int open_process(struct go_reader *reader, const char *pid, struct go_opened **ret)
{
	struct program_id id;
	uint64_t n;
	int r = parse_u64(pid, strlen(pid), 1, INT32_MAX, &n);

	if (r == 0)
		r = go_reader_find(reader, (pid_t)n, &id);
	return r == 0 ? go_reader_open(reader, &id, ret) : r;
}

static int read_process(const char *pid, struct buf *out, struct goroutine_reading *reading,
			uint64_t *count)
{
	const struct goroutine_reader_config cfg = {.wait_reasons = false};
	CLEANUP(go_reader_freep) struct go_reader *reader = NULL;
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	int r = go_reader_new(&reader, NULL);

	if (r == 0)
		r = open_process(reader, pid, &o);
	if (r == 0)
		r = goroutine_reader_read(o->runtime, &cfg, out, reading);
	return r == 0 ? goroutine_reader_count(o->runtime, count) : r;
}

static int do_read(const char *pid, const char *file, const char *number)
{
	struct goroutine_reading reading = {0};
	CLEANUP(buf_fini) struct buf out;
	uint64_t count = 0, want = 0;
	FILE *f;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = read_process(pid, &out, &reading, &count);
	if (r < 0) {
		fprintf(stderr, "cannot read the goroutines of %s: %s\n", pid, strerror(-r));
		return 1;
	}
	f = fopen(file, "we");
	if (!f || fwrite(out.data, 1, out.len, f) != out.len || fclose(f) != 0) {
		perror(file);
		return 1;
	}
	printf("%" PRIu64 " goroutines", reading.n_goroutines);
	if (parse_u64(number, strlen(number), 1, INT32_MAX, &want) < 0 || count != want ||
	    reading.n_running + reading.n_moved + reading.n_broken + reading.n_unreadable +
			    reading.n_limited >
		    0) {
		printf(", count %" PRIu64 ", %" PRIu64 " running, %" PRIu64 " moved, %" PRIu64
		       " broken, %" PRIu64 " unreadable",
		       count, reading.n_running, reading.n_moved, reading.n_broken,
		       reading.n_unreadable);
		return 1;
	}
	return 0;
}

/* ---- time ---- */

static int do_time(const char *pid)
{
	for (int i = 0; i < TIMES; i++) {
		uint64_t from_ns = clock_thread_cpu_ns(), count = 0;
		struct goroutine_reading reading = {0};
		CLEANUP(buf_fini) struct buf out;
		int r;

		buf_init(&out, LIMIT_UPLOAD_BYTES);
		r = read_process(pid, &out, &reading, &count);
		if (r < 0) {
			fprintf(stderr, "cannot read the goroutines of %s: %s\n", pid,
				strerror(-r));
			return 1;
		}
		printf("%" PRIu64 " goroutines, %zu stacks, %" PRIu64 " moved, %" PRIu64
		       " broken, %" PRIu64 " us of CPU\n",
		       reading.n_goroutines, reading.n_samples, reading.n_moved, reading.n_broken,
		       (clock_thread_cpu_ns() - from_ns) / NS_PER_US);
	}
	return 0;
}

/* ---- busy ---- */

static int do_busy(const char *pid, const char *number)
{
	uint64_t want = 0, n_moved = 0, n_broken = 0;

	if (parse_u64(number, strlen(number), 1, INT32_MAX, &want) < 0)
		return 2;
	for (int i = 0; i < BUSY_TIMES; i++) {
		struct goroutine_reading reading = {0};
		CLEANUP(buf_fini) struct buf out;
		uint64_t count = 0;
		int r;

		buf_init(&out, LIMIT_UPLOAD_BYTES);
		r = read_process(pid, &out, &reading, &count);
		if (r < 0 || reading.n_goroutines != want || count != want) {
			printf("%" PRIu64 " and %" PRIu64 " goroutines of %" PRIu64 ": %s\n",
			       reading.n_goroutines, count, want, strerror(-r));
			return 1;
		}
		n_moved += reading.n_moved + reading.n_unreadable;
		n_broken += reading.n_broken;
	}
	printf("%d times %" PRIu64 " goroutines, %" PRIu64 " moved, %" PRIu64 " broken\n",
	       BUSY_TIMES, want, n_moved, n_broken);
	return (n_moved + n_broken) * BUSY_PER_LOST <= want * BUSY_TIMES ? 0 : 1;
}

/* ---- same ---- */

static int64_t sum_of(const struct profile_stacks *s)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->stacks[i].values[0];
	return sum;
}

static int do_same(const char *ours, const char *theirs, const char *depth)
{
	CLEANUP(profile_stacks_fini) struct profile_stacks a = {.without = MAIN};
	CLEANUP(profile_stacks_fini) struct profile_stacks b = {.without = MAIN};
	uint64_t n;
	size_t n_differ;

	if (parse_u64(depth, strlen(depth), 1, INT32_MAX, &n) < 0)
		return 2;
	a.depth = b.depth = (size_t)n;
	if (profile_stacks_load(&a, ours, 1) < 0 || profile_stacks_load(&b, theirs, 1) < 0)
		return 1;
	n_differ = profile_stacks_compare(&a, &b, NULL);
	printf(", %zu stacks, %zu differ\n", a.n, n_differ);
	return n_differ == 0 && a.n >= MIN_STACKS ? 0 : 1;
}

static int do_counts(const char *ours, const char *theirs)
{
	CLEANUP(profile_stacks_fini) struct profile_stacks a = {0};
	CLEANUP(profile_stacks_fini) struct profile_stacks b = {0};

	if (profile_stacks_load(&a, ours, 1) < 0 || profile_stacks_load(&b, theirs, 1) < 0)
		return 1;
	printf("%" PRId64 " goroutines of %" PRId64 "\n", sum_of(&a), sum_of(&b));
	return sum_of(&a) == sum_of(&b) ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "read") == 0)
		return do_read(argv[2], argv[3], argv[4]);
	if (argc == 5 && strcmp(argv[1], "same") == 0)
		return do_same(argv[2], argv[3], argv[4]);
	if (argc == 4 && strcmp(argv[1], "busy") == 0)
		return do_busy(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "counts") == 0)
		return do_counts(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "time") == 0)
		return do_time(argv[2]);
	fprintf(stderr, "usage: check_goroutines read PID FILE NUMBER | check_goroutines same OURS "
			"THEIRS DEPTH "
			"| check_goroutines counts OURS THEIRS | check_goroutines busy PID NUMBER "
			"| check_goroutines time PID\n");
	return 2;
}
