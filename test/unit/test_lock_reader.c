#include <errno.h>
#include <math.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "node-agent/go/lock/lock_variables.h"
#include "test/lib/lock_child.h"
#include "test/lib/unit.h"

struct fixture {
	struct lock_child child;
	struct lock_session session;
	struct tick_clock clock;
	struct lock_reading reading;
	uint64_t now_ns;
	/* of the profile of the last reading */
	int64_t waits, delay_ns, duration_ns;
};

static void restart(struct fixture *f, enum lock_kind kind, enum bucket_history_start start)
{
	lock_session_fini(&f->session);
	lock_session_init(&f->session, kind, start, f->now_ns);
}

static void begin(struct fixture *f, enum lock_kind kind, enum bucket_history_start start)
{
	memset(f, 0, sizeof(*f));
	f->now_ns = 1000;
	lock_child_begin(&f->child);
	tick_clock_init(&f->clock);
	restart(f, kind, start);
}

static void end(struct fixture *f)
{
	lock_session_fini(&f->session);
	lock_child_end(&f->child);
}

static void decode(struct fixture *f, const struct buf *out)
{
	CLEANUP(arena_fini) struct arena arena;
	struct err err = {""};
	struct profile p;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	f->waits = 0;
	f->delay_ns = 0;
	f->duration_ns = -1;
	if (f->reading.n_samples == 0)
		return;
	assert_int_equal(pprof_decode(&p, &arena, out->data, out->len, &err), 0);
	f->duration_ns = p.duration_ns;
	for (uint32_t i = 0; i < p.n_samples; i++) {
		f->waits += p.samples[i].values[0];
		f->delay_ns += p.samples[i].values[1];
	}
}

static int read_it(struct fixture *f, enum lock_reading_when when)
{
	CLEANUP(buf_fini) struct buf out;
	const struct lock_turn turn = {
		.runtime = &f->child.go.runtime,
		.id = &f->child.go.id,
		.clock = &f->clock,
		.now_ns = f->now_ns += 1000,
		.when = when,
	};
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	memory_windows_begin(f->child.go.runtime.windows, &f->child.go.target.memory, UINT64_MAX);
	r = lock_session_read(&f->session, &turn, &out, &f->reading);
	if (r == 0)
		decode(f, &out);
	return r;
}

static uint64_t rate(const struct fixture *f, enum lock_kind kind)
{
	return f->child.memory->rates[kind];
}

TEST(test_only_the_increase_is_reported)
{
	struct fixture f;
	double ns;

	begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_NOW);
	lock_child_record(&f.child, 0, LOCK_MUTEX, 256, 1000000);
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(f.reading.n_samples, 0);
	assert_int_equal(f.reading.round.n_buckets, 1);

	f.child.memory->records[0].waits += 128.5;
	f.child.memory->records[0].ticks += 3000000;
	lock_child_record(&f.child, 1, LOCK_MUTEX, 1, 1000000);
	f.now_ns += 5000;
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(f.reading.n_samples, 1); /* neither has names here, so they are one */
	assert_int_equal(f.waits, 129);
	ns = 4000000 * tick_clock_ns_per_tick(&f.clock, f.child.go.target.layout.machine);
	assert_true(fabs((double)f.delay_ns / ns - 1) < 0.01);
	assert_int_equal(f.duration_ns, 6000);

	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(f.reading.n_samples, 0);
	f.child.memory->records[0].waits += 0.5;
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(f.waits, 1); /* 385 in sum, as the runtime says */
	end(&f);
}

TEST(test_a_new_process_is_reported_from_its_start)
{
	struct fixture f;

	begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_ZERO);
	lock_child_record(&f.child, 0, LOCK_MUTEX, 7, 1000000);
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(f.waits, 7);
	end(&f);
}

/* In the code of some programs they follow each other in another order. */
TEST(test_the_type_of_records_shows_which_list_is_which)
{
	struct fixture f;
	uint64_t *at, list;

	for (int kind = 0; kind < LOCK_KINDS; kind++) {
		begin(&f, (enum lock_kind)kind, BUCKET_HISTORY_FROM_ZERO);
		at = f.child.go.executable.at;
		list = at[GO_MUTEX_BUCKETS];
		at[GO_MUTEX_BUCKETS] = at[GO_BLOCK_BUCKETS];
		at[GO_BLOCK_BUCKETS] = list;
		assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
		assert_int_equal(f.reading.round.n_buckets, 0);
		/* what the other one has says it, and what this one has */
		lock_child_record(&f.child, 0, (enum lock_kind) !kind, 7, 1000000);
		assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
		assert_int_equal(f.reading.round.n_buckets, 0);
		lock_child_record(&f.child, 1, (enum lock_kind)kind, 5, 1000000);
		assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
		assert_int_equal(f.waits, 5);
		end(&f);
	}
}

TEST(test_counters_that_fall_are_reported_as_no_increase)
{
	struct fixture f;

	begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_ZERO);
	lock_child_record(&f.child, 0, LOCK_MUTEX, 7, 1000000);
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	f.child.memory->records[0].waits = 3;
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(f.reading.n_backwards, 1);
	assert_int_equal(f.reading.n_samples, 0);
	f.child.memory->records[0].waits = NAN;
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(f.reading.round.n_torn, 1);
	f.child.memory->records[0].waits = 9;
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(f.waits, 2);
	end(&f);
}

TEST(test_the_mutex_profiler_is_switched_on_at_first_and_off_at_the_end)
{
	struct fixture f;

	begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_NOW);
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_true(f.reading.switched_on);
	assert_int_equal(rate(&f, LOCK_MUTEX), LOCK_RATE_MUTEX);
	assert_int_equal(rate(&f, LOCK_BLOCK), 0);
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_false(f.reading.switched_on);
	assert_int_equal(lock_session_restore(&f.session, &f.child.go.runtime, &f.child.go.id), 1);
	assert_int_equal(rate(&f, LOCK_MUTEX), 0);
	assert_int_equal(lock_session_restore(&f.session, &f.child.go.runtime, &f.child.go.id), 0);
	end(&f);
}

TEST(test_a_program_that_chooses_later_keeps_what_it_chose)
{
	static const uint64_t chosen[] = {0, 5};
	struct fixture f;

	for (size_t i = 0; i < ARRAY_SIZE(chosen); i++) {
		begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_NOW);
		assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
		f.child.memory->rates[LOCK_MUTEX] = chosen[i];
		assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
		assert_int_equal(rate(&f, LOCK_MUTEX), chosen[i]);
		assert_int_equal(
			lock_session_restore(&f.session, &f.child.go.runtime, &f.child.go.id), 0);
		assert_int_equal(rate(&f, LOCK_MUTEX), chosen[i]);
		end(&f);
	}
}

TEST(test_our_rate_stays_ours_if_the_program_sets_it_again)
{
	struct fixture f;
	uint64_t before;

	begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_NOW);
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	before = rate(&f, LOCK_MUTEX);
	f.child.memory->rates[LOCK_MUTEX] = 5;
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	f.child.memory->rates[LOCK_MUTEX] = before;
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(lock_session_restore(&f.session, &f.child.go.runtime, &f.child.go.id), 1);
	assert_int_equal(rate(&f, LOCK_MUTEX), 0);
	end(&f);
}

TEST(test_a_rate_left_by_a_killed_agent_is_adopted)
{
	struct fixture f;

	begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_NOW);
	f.child.memory->rates[LOCK_MUTEX] = LOCK_RATE_MUTEX;
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_false(f.reading.switched_on);
	assert_int_equal(lock_session_restore(&f.session, &f.child.go.runtime, &f.child.go.id), 1);
	assert_int_equal(rate(&f, LOCK_MUTEX), 0);

	/* in a process that has just started only the program itself can have switched it on */
	f.child.memory->rates[LOCK_MUTEX] = LOCK_RATE_MUTEX;
	restart(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_ZERO);
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(lock_session_restore(&f.session, &f.child.go.runtime, &f.child.go.id), 0);
	assert_int_equal(rate(&f, LOCK_MUTEX), LOCK_RATE_MUTEX);
	end(&f);
}

TEST(test_a_burst_covers_its_time)
{
	struct fixture f;

	begin(&f, LOCK_BLOCK, BUCKET_HISTORY_FROM_NOW);
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
		assert_true(f.reading.switched_on);
		assert_int_equal(rate(&f, LOCK_BLOCK), LOCK_RATE_BLOCK);
		lock_child_record(&f.child, (unsigned)i, LOCK_BLOCK, 5, 1000000);
		f.now_ns += 9000;
		assert_int_equal(read_it(&f, LOCK_READING_BURST_END), 0);
		assert_true(f.reading.restored);
		assert_int_equal(rate(&f, LOCK_BLOCK), 0);
		assert_int_equal(f.waits, 5);
		assert_int_equal(f.duration_ns, 10000);
		f.now_ns += 50000;
	}
	end(&f);
}

TEST(test_a_burst_of_a_program_with_a_rate_switches_nothing)
{
	struct fixture f;

	begin(&f, LOCK_BLOCK, BUCKET_HISTORY_FROM_NOW);
	f.child.memory->rates[LOCK_BLOCK] = 1;
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_false(f.reading.switched_on);
	assert_int_equal(read_it(&f, LOCK_READING_BURST_END), 0);
	assert_false(f.reading.restored);
	assert_int_equal(f.reading.switch_error, 0);
	assert_int_equal(rate(&f, LOCK_BLOCK), 1);
	end(&f);
}

TEST(test_an_unknown_release_is_read_only)
{
	struct fixture f;

	begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_ZERO);
	f.child.go.runtime.image.minor = 28;
	lock_child_record(&f.child, 0, LOCK_MUTEX, 7, 1000000);
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	assert_int_equal(f.reading.switch_error, -ENOTSUP);
	assert_int_equal(f.waits, 7);
	assert_int_equal(rate(&f, LOCK_MUTEX), 0);
	end(&f);
}

TEST(test_a_list_of_the_other_kind_is_rejected)
{
	struct fixture f;

	begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_ZERO);
	lock_child_record(&f.child, 0, LOCK_BLOCK, 7, 1000000);
	f.child.memory->lists[LOCK_MUTEX] = f.child.memory->lists[LOCK_BLOCK];
	assert_int_equal(read_it(&f, LOCK_READING_TURN), -EBADMSG);
	assert_int_equal(rate(&f, LOCK_MUTEX), 0);
	end(&f);
}

TEST(test_an_exited_process_is_not_written_to)
{
	struct fixture f;

	begin(&f, LOCK_BLOCK, BUCKET_HISTORY_FROM_NOW);
	assert_int_equal(read_it(&f, LOCK_READING_TURN), 0);
	go_child_kill(&f.child.go);
	assert_int_equal(read_it(&f, LOCK_READING_BURST_END), -ENODATA);
	assert_true(lock_session_restore(&f.session, &f.child.go.runtime, &f.child.go.id) < 0);
	/* the shared memory still has the rate, so it was not written to */
	assert_int_equal(rate(&f, LOCK_BLOCK), LOCK_RATE_BLOCK);
	end(&f);
}

static int read_once(void *arg)
{
	struct fixture *f = arg;
	struct lock_reading reading;
	CLEANUP(buf_fini) struct buf out;
	const struct lock_turn turn = {&f->child.go.runtime, &f->child.go.id, &f->clock, 2000,
				       LOCK_READING_BURST_END};

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	restart(f, LOCK_MUTEX, BUCKET_HISTORY_FROM_ZERO);
	memory_windows_begin(f->child.go.runtime.windows, &f->child.go.target.memory, UINT64_MAX);
	return lock_session_read(&f->session, &turn, &out, &reading);
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	begin(&f, LOCK_MUTEX, BUCKET_HISTORY_FROM_ZERO);
	lock_child_record(&f.child, 0, LOCK_MUTEX, 7, 1000000);
	check_oom(read_once, &f);
	end(&f);
}
