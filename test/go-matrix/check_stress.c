/*
 * check_stress PID: heap profiles one after the other of test/bench/go_service, which has been told to "grow"
 * meanwhile and stands still in the end (its output is standard input here). No record may be broken, what all
 * profiles together say was allocated must be what the program says, and each must be over in its time.
 */
#include <errno.h>
#include <poll.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "test/go-matrix/heap_process.h"

#define PAUSE_MS 200
#define LAST_TRIES 60
#define WRITING_NS (500 * NS_PER_MS) /* of the pprof, when all records are read */

struct stress {
	struct heap_process process;
	uint64_t n_rounds, n_late, n_torn, n_backwards;
	uint64_t longest_ns, longest_cpu_ns;
	size_t n_buckets;
	uint64_t told; /* objects that newBuffer has allocated */
};

/* What newBuffer has allocated since the last profile. */
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
			s->told += (uint64_t)p.samples[i].values[0];
	}
	return 0;
}

/* 1: a profile; 0: it would have taken too long. */
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

/* Until the program says that it has ended to grow: the objects that it has made. */
static int run_rounds(struct stress *s, uint64_t *ret_made)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[64] = "";
	int r = 0;

	while (r >= 0 && poll(&in, 1, PAUSE_MS) == 0)
		r = do_round(s);
	if (r < 0)
		return r;
	if (!fgets(line, sizeof(line), stdin) || strncmp(line, "grown ", 6) != 0)
		return -EPROTO;
	*ret_made = strtoull(line + 6, NULL, 10);
	/* now nothing changes any more, and what was torn is told */
	for (int i = 0; i < LAST_TRIES; i++) {
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
	good = r >= 0 && s.told == made && s.n_backwards == 0 &&
	       s.longest_cpu_ns < HEAP_READER_MAX_NS + WRITING_NS;
	printf("%zu records, %llu rounds (%llu over their time), at most %.0f ms (%.0f ms CPU); "
	       "torn %llu, backwards %llu; %llu objects told of %llu%s%s\n",
	       s.n_buckets, (unsigned long long)s.n_rounds, (unsigned long long)s.n_late,
	       (double)s.longest_ns / 1e6, (double)s.longest_cpu_ns / 1e6,
	       (unsigned long long)s.n_torn, (unsigned long long)s.n_backwards,
	       (unsigned long long)s.told, (unsigned long long)made, r < 0 ? ": " : "",
	       r < 0 ? strerror(-r) : "");
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
