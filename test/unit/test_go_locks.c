#include <errno.h>

#include "common/limits.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go/lock/lock_variables.h"
#include "node-agent/go/profile/go_locks.h"
#include "test/lib/lock_child.h"
#include "test/lib/unit.h"

#define BURST_NS 10000u
#define INTERVAL_NS 60000u

struct fixture {
	struct lock_child child;
	struct go_opened opened;
	struct program_id id;
	struct go_session session;
	uint64_t due_ns; /* its next regular turn */
	struct go_locks locks;
	struct metrics *metrics;
	struct metric counts[GO_LOCKS_METRICS];
	uint64_t now_ns;
	size_t reported_bytes;
};

static void begin(struct fixture *f, bool mutex, bool block)
{
	const struct go_locks_config cfg = {mutex, block, BURST_NS};

	memset(f, 0, sizeof(*f));
	lock_child_begin(&f->child);
	f->now_ns = 1000000;
	f->opened.runtime = &f->child.go.runtime;
	f->id = f->child.go.id;
	f->due_ns = f->now_ns;
	for (int i = 0; i < LOCK_KINDS; i++)
		lock_session_init(&f->session.locks[i], (enum lock_kind)i, BUCKET_HISTORY_FROM_NOW,
				  f->now_ns);
	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(go_locks_register_metrics(f->metrics, f->counts), 0);
	go_locks_init(&f->locks, f->counts, &cfg);
}

static void end(struct fixture *f)
{
	for (int i = 0; i < LOCK_KINDS; i++)
		lock_session_fini(&f->session.locks[i]);
	metrics_free(f->metrics);
	lock_child_end(&f->child);
}

static struct runtime_turn turn_of(struct fixture *f)
{
	return (struct runtime_turn){
		.id = &f->id,
		.session = &f->session,
		.handle = &f->opened,
		.now_ns = f->now_ns,
	};
}

static int restore(struct fixture *f)
{
	const struct runtime_turn t = turn_of(f);

	return go_locks_restore(&f->locks, &t);
}

/* When its next turn is due: the end of a burst, or the regular one. */
static uint64_t next_ns(const struct fixture *f)
{
	uint64_t burst_ns = f->session.burst_end_ns;

	return burst_ns != 0 && burst_ns < f->due_ns ? burst_ns : f->due_ns;
}

static int read_one(struct fixture *f, enum lock_kind kind)
{
	const struct runtime_turn t = turn_of(f);
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	memory_windows_begin(f->child.go.runtime.windows, &f->child.go.target.memory, UINT64_MAX);
	r = go_locks_read(&f->locks, kind, &t, &out, NULL);
	f->reported_bytes = out.len;
	return r;
}

/* Reads both, as a regular turn does. */
static void turn(struct fixture *f)
{
	assert_int_equal(read_one(f, LOCK_MUTEX), 0);
	assert_int_equal(read_one(f, LOCK_BLOCK), 0);
}

static void expect_rates(const struct fixture *f, uint64_t mutex, uint64_t block)
{
	assert_int_equal(f->child.memory->rates[LOCK_MUTEX], mutex);
	assert_int_equal(f->child.memory->rates[LOCK_BLOCK], block);
}

TEST(test_nothing_is_done_unless_asked_for)
{
	struct fixture f;

	begin(&f, false, false);
	turn(&f);
	expect_rates(&f, 0, 0);
	assert_false(go_locks_any_ours(&f.session));
	assert_int_equal(f.session.burst_end_ns, 0);
	end(&f);
	begin(&f, true, false);
	turn(&f);
	expect_rates(&f, LOCK_RATE_MUTEX, 0);
	end(&f);
	begin(&f, false, true);
	turn(&f);
	expect_rates(&f, 0, LOCK_RATE_BLOCK);
	end(&f);
}

TEST(test_a_turn_begins_a_burst_whose_end_comes_before_the_next_turn)
{
	struct fixture f;

	begin(&f, true, true);
	for (unsigned i = 0; i < 3; i++) {
		turn(&f);
		f.due_ns += INTERVAL_NS;
		expect_rates(&f, LOCK_RATE_MUTEX, LOCK_RATE_BLOCK);
		assert_int_equal(next_ns(&f), f.now_ns + BURST_NS);

		f.now_ns = next_ns(&f);
		lock_child_record(&f.child, i, LOCK_BLOCK, 3, 1000000);
		assert_int_equal(read_one(&f, LOCK_BLOCK), 0);
		assert_true(f.reported_bytes > 0);
		expect_rates(&f, LOCK_RATE_MUTEX, 0);
		assert_int_equal(next_ns(&f), f.due_ns);
		f.now_ns = f.due_ns;
	}
	end(&f);
}

TEST(test_a_turn_in_the_middle_of_a_burst_neither_ends_nor_prolongs_it)
{
	struct fixture f;
	uint64_t end_ns;

	begin(&f, false, true);
	turn(&f);
	end_ns = f.session.burst_end_ns;
	f.now_ns += BURST_NS / 2;
	turn(&f);
	assert_int_equal(f.session.burst_end_ns, end_ns);
	expect_rates(&f, 0, LOCK_RATE_BLOCK);
	end(&f);
}

TEST(test_a_program_with_a_rate_of_its_own_has_no_bursts)
{
	struct fixture f;

	begin(&f, true, true);
	f.child.memory->rates[LOCK_BLOCK] = 1;
	f.child.memory->rates[LOCK_MUTEX] = 1;
	turn(&f);
	assert_int_equal(f.session.burst_end_ns, 0);
	assert_false(go_locks_any_ours(&f.session));
	lock_child_record(&f.child, 0, LOCK_BLOCK, 3, 1000000);
	assert_int_equal(read_one(&f, LOCK_BLOCK), 0);
	assert_true(f.reported_bytes > 0);
	expect_rates(&f, 1, 1);
	end(&f);
}

TEST(test_a_burst_of_a_killed_agent_is_ended)
{
	struct fixture f;

	begin(&f, false, true);
	f.child.memory->rates[LOCK_BLOCK] = LOCK_RATE_BLOCK;
	turn(&f);
	assert_int_equal(f.session.burst_end_ns, f.now_ns + BURST_NS);
	f.now_ns += BURST_NS;
	assert_int_equal(read_one(&f, LOCK_BLOCK), 0);
	expect_rates(&f, 0, 0);
	end(&f);
}

TEST(test_a_profiler_that_cannot_be_read_is_still_switched_off)
{
	struct fixture f;

	begin(&f, false, true);
	turn(&f);
	f.child.memory->lists[LOCK_BLOCK] = 1;
	f.now_ns += BURST_NS;
	assert_int_equal(read_one(&f, LOCK_BLOCK), -EBADMSG);
	assert_int_equal(f.reported_bytes, 0);
	expect_rates(&f, 0, 0);
	assert_int_equal(f.session.burst_end_ns, 0);
	end(&f);
}

TEST(test_restoring_leaves_both_rates_as_they_were)
{
	struct fixture f;

	begin(&f, true, true);
	turn(&f);
	assert_true(go_locks_any_ours(&f.session));
	assert_int_equal(restore(&f), 0);
	expect_rates(&f, 0, 0);
	assert_false(go_locks_any_ours(&f.session));
	end(&f);
}

TEST(test_a_profiler_that_cannot_be_switched_off_is_an_error)
{
	struct fixture f;

	begin(&f, true, true);
	turn(&f);
	f.id.start_time++; /* somebody else's */
	f.now_ns += BURST_NS;
	assert_int_equal(read_one(&f, LOCK_BLOCK), -ESRCH);
	assert_int_equal(restore(&f), -ESRCH);
	expect_rates(&f, LOCK_RATE_MUTEX, LOCK_RATE_BLOCK);
	assert_true(go_locks_any_ours(&f.session));
	end(&f);
}
