/*
 * A process is killed before and after each system call of a commit. Whatever it had done by then,
 * the next process finds the segment either whole or committed, and knows the ids of its uploads.
 *
 * SIGKILL leaves what was written in the page cache, a power cut does not. So the order of the
 * calls is checked as well: ids are synced before the segment is removed.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "test/lib/log_fixture.h"
#include "test/lib/unit.h"

#define N_UPLOADS 3
#define MAX_STOPS 500

/* In the child: what runs between the two signals is what is tried. */
static _Noreturn void be_child(struct log_fixture *f, bool refuses)
{
	const bool refused[N_UPLOADS] = {false, true, false};
	const struct upload_log_config cfg = {.dir = f->dir, .max_ids = 1000};
	struct log_segment_content c;
	struct log_segment *s;
	struct err err = {0};

	if (upload_log_open(&f->log, &cfg, &err) < 0)
		_exit(1);
	s = upload_log_next(f->log, LOG_FIXTURE_WAIT_NS);
	if (!s || log_segment_read(s, &c, &err) < 0 || c.n_records != N_UPLOADS)
		_exit(2);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
		_exit(3);
	if (upload_log_commit(f->log, s, refuses ? refused : NULL, &err) < 0)
		_exit(4);
	(void)raise(SIGSTOP);
	_exit(0);
}

struct calls {
	long numbers[MAX_STOPS];
	size_t n;
};

/* Notes the call that the child is about to make, if it is at the entry of one. */
static void note_call(pid_t pid, struct calls *calls)
{
	struct __ptrace_syscall_info info = {0};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) < 0)
		fail_msg("PTRACE_GET_SYSCALL_INFO: %s", strerror(errno));
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		calls->numbers[calls->n++] = (long)info.entry.nr;
}

/*
 * Starts a commit and kills it at its n-th stop, each being the entry or the exit of a system call.
 * Returns false if the commit has ended before.
 */
static bool die_at(struct log_fixture *f, size_t n, bool refuses, struct calls *calls)
{
	bool is_over = false;
	int status;
	pid_t pid = fork();

	calls->n = 0;
	if (pid == 0)
		be_child(f, refuses);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL,
				(void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)),
			 0);
	for (size_t i = 0; i <= n && !is_over; i++) {
		assert_true(i < MAX_STOPS);
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			note_call(pid, calls);
		else
			is_over = WSTOPSIG(status) == SIGSTOP;
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return !is_over;
}

static void make_log(struct log_fixture *f)
{
	log_fixture_empty(f);
	log_fixture_open(f, NULL);
	for (uint64_t n = 0; n < N_UPLOADS; n++)
		assert_int_equal(log_fixture_append(f, n), 0);
	log_fixture_close(f);
}

/* Returns how many uploads the next process finds in the log, all or none. */
static size_t check_next_process(struct log_fixture *f)
{
	size_t n;

	log_fixture_open(f, NULL);
	for (uint64_t i = 0; i < N_UPLOADS; i++) {
		assert_true(upload_log_has(f->log, log_fixture_id(i)));
		assert_int_equal(log_fixture_append(f, i), 0);
	}
	assert_int_equal(log_fixture_metric(f, "damaged_segments_total"), 0);
	assert_int_equal(log_fixture_metric(f, "damaged_ids_total"), 0);
	n = log_fixture_drain(f, NULL, 0);
	assert_true(n == 0 || n == N_UPLOADS);
	log_fixture_close(f);
	assert_int_equal(log_fixture_files(f, ".segment", NULL), 0);
	return n;
}

static size_t index_of(const struct calls *calls, long number)
{
	for (size_t i = 0; i < calls->n; i++) {
		if (calls->numbers[i] == number)
			return i;
	}
	fail_msg("no system call %ld", number);
	return 0;
}

static size_t count_of(const struct calls *calls, long number)
{
	size_t n = 0;

	for (size_t i = 0; i < calls->n; i++)
		n += calls->numbers[i] == number;
	return n;
}

static void check_commit(struct log_fixture *f, bool refuses)
{
	size_t n_whole = 0, n_committed = 0, max_whole = 0, min_committed = SIZE_MAX;
	struct calls calls;
	bool was_killed;

	for (size_t stop = 0;; stop++) {
		size_t n, n_writes;

		make_log(f);
		was_killed = die_at(f, stop, refuses, &calls);
		n = check_next_process(f);
		if (!was_killed) {
			assert_int_equal(n, 0);
			break;
		}
		/* other calls, for memory and locks, are not as many each time */
		n_writes = count_of(&calls, SYS_pwritev);
		if (n > 0 && n_writes > max_whole)
			max_whole = n_writes;
		if (n == 0 && n_writes < min_committed)
			min_committed = n_writes;
		n_whole += n > 0;
		n_committed += n == 0;
	}
	/* one write commits it: whole up to its entry, committed from its exit on */
	assert_true(n_whole > 0 && n_committed > 0);
	assert_true(min_committed > 0 && max_whole <= min_committed);
	assert_true(index_of(&calls, SYS_pwritev) < index_of(&calls, SYS_fdatasync));
	if (!refuses)
		assert_true(index_of(&calls, SYS_fdatasync) < index_of(&calls, SYS_unlinkat));
}

TEST_FIXTURE(test_a_commit_that_dies_anywhere_is_done_or_not, log_fixture_setup,
	     log_fixture_teardown)
{
	check_commit(*state, false);
}

TEST_FIXTURE(test_a_commit_with_refused_uploads_that_dies_anywhere_is_done_or_not,
	     log_fixture_setup, log_fixture_teardown)
{
	check_commit(*state, true);
}
