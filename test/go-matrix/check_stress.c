/*
 * check_stress PID: reads heap profiles one after the other from test/bench/go_service, which
 * executes "grow" meanwhile and then is idle; its output is standard input here. No record may be
 * corrupt, the allocations in all profiles must add up to what the program reports, and each
 * reading must end within its time limit.
 */
#include <errno.h>
#include <poll.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "test/go-matrix/heap_process.h"

#define PAUSE_MS 200
#define LAST_TRIES_NS (600 * NS_PER_S) /* on a busy machine a round may be late many times */
#define WRITING_NS (500 * NS_PER_MS)   /* to write the pprof after all records are read */

struct stress {
	struct heap_process process;
	uint64_t n_rounds, n_late, n_torn, n_backwards;
	uint64_t longest_ns, longest_cpu_ns;
	size_t n_buckets;
	uint64_t reported; /* objects that newBuffer has allocated, in all profiles */
};

/* Adds what newBuffer has allocated since the last profile. */
static int add_up(struct stress *s, const struct buf *pprof)
{
	CLEANUP(arena_fini) struct arena arena;
	struct err err = {""};
	struct profile p;
	int r;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	r = pprof_decode(&p, &arena, pprof->data, pprof->len, &err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < p.n_samples; i++) {
		const struct profile_location *l = &p.locations[p.samples[i].locations[0]];
		const char *name = p.functions[l->lines[0].function].name.data;

		for (uint32_t v = 0; v < p.n_types; v++) {
			if (p.samples[i].values[v] < 0)
				return -ERANGE;
		}
		if (strcmp(name, "main.newBuffer") == 0)
			s->reported += (uint64_t)p.samples[i].values[0];
	}
	return 0;
}

/* Returns 1, 0 if the reading was given up because it took too long, or -errno. */
static int do_round(struct stress *s)
{
	uint64_t start_ns = clock_monotonic_ns(), cpu_ns = clock_thread_cpu_ns(), took_ns;
	const struct heap_reading *reading = &s->process.reading;
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = heap_process_read(&s->process, &out);
	took_ns = clock_monotonic_ns() - start_ns;
	cpu_ns = clock_thread_cpu_ns() - cpu_ns;
	s->n_rounds++;
	s->longest_ns = took_ns > s->longest_ns ? took_ns : s->longest_ns;
	s->longest_cpu_ns = cpu_ns > s->longest_cpu_ns ? cpu_ns : s->longest_cpu_ns;
	if (r == -ETIME) {
		s->n_late++;
		return 0;
	}
	if (r < 0)
		return r;
	s->n_torn += reading->round.n_torn;
	s->n_backwards += reading->n_backwards;
	s->n_buckets = reading->round.n_buckets;
	r = reading->n_samples > 0 ? add_up(s, &out) : 0;
	return r < 0 ? r : 1;
}

/* Reads until the program reports that it has grown. *ret_made: how many objects it has made. */
static int run_rounds(struct stress *s, uint64_t *ret_made)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[64] = "";
	uint64_t until_ns;
	int r = 0;

	while (r >= 0 && poll(&in, 1, PAUSE_MS) == 0)
		r = do_round(s);
	if (r < 0)
		return r;
	if (!fgets(line, sizeof(line), stdin) || strncmp(line, "grown ", 6) != 0)
		return -EPROTO;
	until_ns = clock_monotonic_ns() + LAST_TRIES_NS;
	*ret_made = strtoull(line + 6, NULL, 10);
	/* the program is idle now, so another round reports the records that were torn */
	while (clock_monotonic_ns() < until_ns) {
		uint64_t torn = s->n_torn;

		r = do_round(s);
		if (r < 0 || (r == 1 && s->n_torn == torn))
			return r;
	}
	return -ETIME;
}

int main(int argc, char **argv)
{
	struct stress s = {0};
	uint64_t made = 0;
	bool good;
	int r;

	if (argc != 2) {
		fprintf(stderr, "usage: check_stress PID\n");
		return 2;
	}
	r = heap_process_init(&s.process, argv[1], BUCKET_HISTORY_FROM_ZERO);
	if (r == 0)
		r = run_rounds(&s, &made);
	heap_process_fini(&s.process);
	good = r >= 0 && s.reported == made && s.n_backwards == 0 &&
	       s.longest_cpu_ns < HEAP_READER_MAX_NS + WRITING_NS;
	printf("%zu records, %llu rounds (%llu over their time), at most %.0f ms (%.0f ms CPU); "
	       "torn %llu, backwards %llu; %llu objects reported of %llu%s%s\n",
	       s.n_buckets, (unsigned long long)s.n_rounds, (unsigned long long)s.n_late,
	       (double)s.longest_ns / 1e6, (double)s.longest_cpu_ns / 1e6,
	       (unsigned long long)s.n_torn, (unsigned long long)s.n_backwards,
	       (unsigned long long)s.reported, (unsigned long long)made, r < 0 ? ": " : "",
	       r < 0 ? strerror(-r) : "");
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
