/*
 * check_locks on PID KIND: switches a profiler on and leaves it on, as an agent that is killed
 * does.
 * check_locks off PID KIND: adopts a profiler that such an agent has left on and switches it off.
 * check_locks rates PID MUTEX BLOCK: checks that these rates are set; "-" accepts any.
 * check_locks read PID KIND FILE: writes everything that a profiler has counted, as the node
 * agent's reader reports it.
 * check_locks shows FILE TEXT: checks that a profile has a stack with this text.
 * check_locks same OURS THEIRS: checks that two profiles have the same stacks with the same counts,
 * and delays that differ by at most one per cent, down to the depth that Go's own profiles show.
 * KIND is mutex or block.
 */
#include <errno.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/text/parse.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go/lock/lock_reader.h"
#include "node-agent/go/lock/lock_variables.h"
#include "test/go-matrix/profile_stacks.h"

#define N_VALUES 2u
#define DEPTH 128 /* the limit of runtime/pprof since 1.23; earlier releases have a smaller one */
#define DELAY_TOLERANCE 0.01

/* A process and one of its profilers. */
struct subject {
	struct go_reader *reader;
	struct go_opened *opened;
	struct program_id id;
	struct tick_clock clock;
	struct lock_session session;
	struct lock_reading reading;
};

static int subject_init(struct subject *s, const char *pid, enum lock_kind kind,
			enum bucket_history_start start)
{
	uint64_t n;
	int r;

	*s = (struct subject){0};
	tick_clock_init(&s->clock);
	lock_session_init(&s->session, kind, start, clock_monotonic_ns());
	r = parse_u64(pid, strlen(pid), 1, INT32_MAX, &n);
	if (r == 0)
		r = go_reader_new(&s->reader, NULL);
	if (r == 0)
		r = go_reader_find(s->reader, (pid_t)n, &s->id);
	return r == 0 ? go_reader_open(s->reader, &s->id, &s->opened) : r;
}

static void subject_fini(struct subject *s)
{
	lock_session_fini(&s->session);
	go_opened_close(s->opened);
	go_reader_free(s->reader);
}

static int read_now(struct subject *s, enum lock_reading_when when, struct buf *out)
{
	const struct lock_turn turn = {
		.runtime = s->opened->runtime,
		.id = &s->id,
		.clock = &s->clock,
		.now_ns = clock_monotonic_ns(),
		.when = when,
	};

	return lock_session_read(&s->session, &turn, out, &s->reading);
}

static int fail(const char *what, int error)
{
	printf("%s: %s\n", what, strerror(-error));
	return 1;
}

static int switch_on(const char *pid, enum lock_kind kind)
{
	CLEANUP(subject_fini) struct subject s;
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = subject_init(&s, pid, kind, BUCKET_HISTORY_FROM_NOW);
	if (r == 0)
		r = read_now(&s, LOCK_READING_TURN, &out);
	if (r == 0)
		r = s.reading.switch_error;
	return r == 0 && !s.reading.switched_on ? -EALREADY : r;
}

static int do_on(const char *pid, enum lock_kind kind)
{
	int r = switch_on(pid, kind);

	return r == 0 ? 0 : fail("cannot be switched on", r);
}

static int do_off(const char *pid, enum lock_kind kind)
{
	CLEANUP(subject_fini) struct subject s;
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = subject_init(&s, pid, kind, BUCKET_HISTORY_FROM_NOW);
	if (r == 0)
		r = read_now(&s, LOCK_READING_TURN, &out);
	if (r == 0 && s.reading.n_samples > 0)
		r = -EPROTO; /* what was counted before our first reading must not be reported */
	if (r == 0)
		r = lock_session_restore(&s.session, s.opened->runtime, &s.id);
	return r == 1 ? 0 : fail("cannot be switched off", r < 0 ? r : -EALREADY);
}

static int do_rates(const char *pid, char *const *want)
{
	for (int kind = 0; kind < LOCK_KINDS; kind++) {
		CLEANUP(subject_fini) struct subject s;
		uint64_t rate = 0, wanted = 0;
		int r = subject_init(&s, pid, (enum lock_kind)kind, BUCKET_HISTORY_FROM_NOW);

		if (r == 0)
			r = lock_rate_read(s.opened->runtime, (enum lock_kind)kind, &rate);
		if (r < 0)
			return fail("rate", r);
		if (strcmp(want[kind], "-") == 0)
			continue;
		if (parse_u64(want[kind], strlen(want[kind]), 0, UINT64_MAX, &wanted) < 0 ||
		    wanted != rate) {
			printf("rate %d is %llu, not %s\n", kind, (unsigned long long)rate,
			       want[kind]);
			return 1;
		}
	}
	return 0;
}

static int do_read(const char *pid, enum lock_kind kind, const char *file)
{
	CLEANUP(subject_fini) struct subject s;
	CLEANUP(buf_fini) struct buf out;
	FILE *f;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = subject_init(&s, pid, kind, BUCKET_HISTORY_FROM_ZERO);
	/* at the end of a burst that is not ours no profiler is switched */
	if (r == 0)
		r = read_now(&s, LOCK_READING_BURST_END, &out);
	if (r < 0)
		return fail("cannot be read", r);
	f = fopen(file, "we");
	if (!f || fwrite(out.data, 1, out.len, f) != out.len || fclose(f) != 0) {
		perror(file);
		return 1;
	}
	return 0;
}

static int do_same(const char *ours, const char *theirs)
{
	static const double tolerance[N_VALUES] = {0, DELAY_TOLERANCE};
	CLEANUP(profile_stacks_fini) struct profile_stacks a = {.depth = DEPTH};
	CLEANUP(profile_stacks_fini) struct profile_stacks b = {.depth = DEPTH};
	size_t n;

	if (profile_stacks_load(&a, ours, N_VALUES) < 0 ||
	    profile_stacks_load(&b, theirs, N_VALUES) < 0)
		return 1;
	n = profile_stacks_compare(&a, &b, tolerance);
	printf(", %zu stacks, %zu differ", a.n, n);
	return n == 0 && a.n > 4 ? 0 : 1;
}

static int do_shows(const char *file, const char *text)
{
	CLEANUP(profile_stacks_fini) struct profile_stacks p = {0};
	bool found = false;

	if (profile_stacks_load(&p, file, N_VALUES) < 0)
		return 1;
	for (size_t i = 0; i < p.n; i++)
		found |= strstr(p.stacks[i].text, text) != NULL;
	printf(", %zu stacks", p.n);
	return found ? 0 : 1;
}

int main(int argc, char **argv)
{
	enum lock_kind kind = argc > 3 && strcmp(argv[3], "mutex") == 0 ? LOCK_MUTEX : LOCK_BLOCK;

	if (argc == 4 && strcmp(argv[1], "on") == 0)
		return do_on(argv[2], kind);
	if (argc == 4 && strcmp(argv[1], "off") == 0)
		return do_off(argv[2], kind);
	if (argc == 5 && strcmp(argv[1], "rates") == 0)
		return do_rates(argv[2], argv + 3);
	if (argc == 5 && strcmp(argv[1], "read") == 0)
		return do_read(argv[2], kind, argv[4]);
	if (argc == 4 && strcmp(argv[1], "same") == 0)
		return do_same(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "shows") == 0)
		return do_shows(argv[2], argv[3]);
	fprintf(stderr, "usage: check_locks on PID KIND | off PID KIND | rates PID MUTEX BLOCK | "
			"read PID KIND FILE | shows FILE TEXT | same OURS THEIRS\n");
	return 2;
}
