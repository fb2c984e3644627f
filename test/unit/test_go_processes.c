#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "node-agent/go_profile/go_processes.h"
#include "test/lib/history_start.h"
#include "test/lib/unit.h"

#define INTERVAL_NS 1000u
#define BEFORE 1u                 /* start times: long before the test … */
#define AFTER (UINT64_C(1) << 50) /* … and after all its scans */
#define FLAG_KERNEL_THREAD 0x200000u

/* A folder as /proc is. */
struct fixture {
	char root[64];
	int root_fd;
	struct go_processes *p;
	int answer; /* to whether an executable is Go's */
	unsigned n_asked;
	unsigned n_stopped;
};

static int detect(void *ctx, const struct program_id *id)
{
	struct fixture *f = ctx;

	(void)id;
	f->n_asked++;
	return f->answer;
}

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	(void)snprintf(f->root, sizeof(f->root), "/tmp/test_go_processes.XXXXXX");
	assert_non_null(mkdtemp(f->root));
	f->root_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root_fd >= 0);
	f->answer = 1;
	const struct go_processes_config cfg = {f->root_fd, INTERVAL_NS, detect, f, NULL};

	assert_int_equal(go_processes_new(&f->p, &cfg), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void end(struct fixture *f)
{
	go_processes_free(f->p);
	close(f->root_fd);
	assert_int_equal(nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void put_file(struct fixture *f, const char *name, const char *text)
{
	int fd = openat(f->root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* What the process executes; the file is made when it is not there. */
static void execute(struct fixture *f, unsigned pid, const char *exe)
{
	char link[32], target[64];

	(void)snprintf(link, sizeof(link), "%u/exe", pid);
	(void)snprintf(target, sizeof(target), "../%s", exe);
	(void)unlinkat(f->root_fd, link, 0);
	assert_int_equal(symlinkat(target, f->root_fd, link), 0);
	if (faccessat(f->root_fd, exe, F_OK, 0) < 0 && errno == ENOENT)
		put_file(f, exe, exe);
}

static void put_stat(struct fixture *f, unsigned pid, uint64_t start_time, unsigned flags)
{
	char name[32], text[256];

	(void)snprintf(name, sizeof(name), "%u/stat", pid);
	(void)snprintf(text, sizeof(text),
		       "%u (x) S 1 1 1 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0\n", pid, flags,
		       (unsigned long long)start_time);
	put_file(f, name, text);
}

static void start(struct fixture *f, unsigned pid, uint64_t start_time, const char *exe)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%u", pid);
	assert_int_equal(mkdirat(f->root_fd, name, 0700), 0);
	put_stat(f, pid, start_time, 0);
	execute(f, pid, exe);
}

/* Its folder stays under another name, so that no other one gets its inode. */
static void stop(struct fixture *f, unsigned pid)
{
	char name[32], gone[32];

	(void)snprintf(name, sizeof(name), "%u", pid);
	(void)snprintf(gone, sizeof(gone), "gone.%u", f->n_stopped++);
	assert_int_equal(renameat(f->root_fd, name, f->root_fd, gone), 0);
}

/* Number of Go processes. */
static size_t scan(struct fixture *f, uint64_t now_ns)
{
	assert_int_equal(go_processes_scan(f->p, now_ns), 0);
	return go_processes_count(f->p);
}

static struct go_process *find(struct fixture *f, pid_t pid)
{
	struct go_process *g = NULL;

	do
		g = go_processes_each(f->p, g);
	while (g && g->id.pid != pid);
	return g;
}

static bool is_from_zero(const struct go_process *g)
{
	assert_non_null(g);
	return history_starts_from_zero(g->heap);
}

static void test_processes_found_together_are_spread_over_the_interval(void **state)
{
	bool seen[4] = {false};
	struct fixture f;

	(void)state;
	begin(&f);
	for (unsigned pid = 1; pid <= 4; pid++)
		start(&f, pid, BEFORE, "a");
	start(&f, 77, BEFORE, "a");
	put_stat(&f, 77, BEFORE, FLAG_KERNEL_THREAD);
	put_file(&f, "not-a-process", "");
	put_file(&f, "0", "");
	assert_int_equal(scan(&f, 5000), 4);
	assert_int_equal(f.n_asked, 1); /* one executable */
	for (int i = 0; i < 4; i++) {
		struct go_process *g = go_processes_next(f.p);
		uint64_t due_ns = g->due_ns;

		assert_in_range(due_ns, 5000, 5750);
		assert_int_equal(due_ns % 250, 0);
		seen[(due_ns - 5000) / 250] = true;
		go_processes_done(f.p, g, 5800, false);
		assert_int_equal(g->due_ns, due_ns + INTERVAL_NS); /* and stay so */
	}
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		assert_true(seen[i]);
	end(&f);
}

static void test_one_that_cannot_be_read_is_tried_less_and_less_often(void **state)
{
	uint64_t now_ns = 1000, pause_ns = INTERVAL_NS;
	struct go_process *g;
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	assert_int_equal(scan(&f, now_ns), 1);
	g = go_processes_next(f.p);
	for (int i = 0; i < 10; i++) {
		pause_ns = pause_ns < 64 * INTERVAL_NS ? pause_ns * 2 : pause_ns;
		go_processes_done(f.p, g, now_ns, true);
		assert_int_equal(g->due_ns, now_ns + pause_ns);
		now_ns = g->due_ns;
	}
	go_processes_done(f.p, g, now_ns, false);
	assert_int_equal(g->due_ns, now_ns + INTERVAL_NS);
	/* a turn that comes late does not bring the next ones forward */
	go_processes_done(f.p, g, now_ns + 10 * INTERVAL_NS + 5, false);
	assert_int_equal(g->due_ns, now_ns + 11 * INTERVAL_NS);
	end(&f);
}

static void test_allocations_are_news_since_the_last_scan_only(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	start(&f, 2, AFTER, "a"); /* there is no last scan yet */
	assert_int_equal(scan(&f, 1), 2);
	assert_false(is_from_zero(find(&f, 1)));
	assert_false(is_from_zero(find(&f, 2)));
	start(&f, 3, AFTER, "a");
	start(&f, 4, BEFORE, "a"); /* it was there, but could not be looked at */
	assert_int_equal(scan(&f, 2), 4);
	assert_true(is_from_zero(find(&f, 3)));
	assert_false(is_from_zero(find(&f, 4)));
	end(&f);
}

/* Anew, as by one who takes over. */
static void begin_after(struct fixture *f, const struct go_processes_config *before)
{
	struct go_processes_config cfg = *before;

	cfg.root_fd = f->root_fd;
	cfg.interval_ns = INTERVAL_NS;
	cfg.detect = detect;
	cfg.ctx = f;
	go_processes_free(f->p);
	assert_int_equal(go_processes_new(&f->p, &cfg), 0);
}

static void test_allocations_are_news_to_who_takes_over_since_the_last_scan_before(void **state)
{
	struct go_processes_config before = {0};
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(go_processes_seen_ticks(f.p), 0);
	start(&f, 1, BEFORE, "go");
	assert_int_equal(scan(&f, 1), 1);
	before.seen_ticks = go_processes_seen_ticks(f.p);
	/* one that began in the same tick may have been seen */
	start(&f, 2, before.seen_ticks - 1, "go");
	start(&f, 3, before.seen_ticks, "go");
	begin_after(&f, &before);
	assert_int_equal(scan(&f, 2), 3);
	assert_false(is_from_zero(find(&f, 1)));
	assert_false(is_from_zero(find(&f, 2)));
	assert_true(is_from_zero(find(&f, 3)));
	end(&f);
}

static pid_t was_at[4];
static size_t n_at;

static void at(void *ctx, pid_t pid)
{
	(void)ctx;
	assert_true(n_at < ARRAY_SIZE(was_at));
	was_at[n_at++] = pid;
}

/* Each of them may keep the scan from going on; about one that is left out nothing is asked. */
static void test_who_is_looked_at_is_said_before(void **state)
{
	const struct program_id left_out[] = {{.pid = 2, .start_time = BEFORE}};
	const struct go_processes_config before = {.at = at, .left_out = left_out, .n_left_out = 1};
	struct fixture f;

	(void)state;
	begin(&f);
	begin_after(&f, &before);
	start(&f, 1, BEFORE, "go");
	start(&f, 2, BEFORE, "go");
	assert_int_equal(scan(&f, 1), 1);
	assert_int_equal(scan(&f, 2), 1);
	assert_int_equal(n_at, 2);
	assert_int_equal(was_at[0], 1);
	assert_int_equal(was_at[1], 1);
	end(&f);
}

static void test_who_is_left_out_is_so_until_somebody_else_has_the_id(void **state)
{
	const struct program_id left_out[] = {{.pid = 2, .start_time = BEFORE}};
	const struct go_processes_config before = {.left_out = left_out, .n_left_out = 1};
	struct fixture f;

	(void)state;
	begin(&f);
	begin_after(&f, &before);
	start(&f, 1, BEFORE, "go");
	start(&f, 2, BEFORE, "go");
	assert_int_equal(scan(&f, 1), 1);
	assert_int_equal(scan(&f, 2), 1);
	assert_null(find(&f, 2));
	stop(&f, 2);
	start(&f, 2, AFTER, "go");
	assert_int_equal(scan(&f, 3), 2);
	end(&f);
}

static void test_a_process_that_executes_something_else_is_new(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	assert_int_equal(scan(&f, 1), 1);
	go_processes_done(f.p, find(&f, 1), 1, true);
	put_file(&f, "a", "touched, and of another size");
	assert_int_equal(scan(&f, 2), 1);
	assert_int_equal(find(&f, 1)->n_failures, 1);
	execute(&f, 1, "b");
	assert_int_equal(scan(&f, 3), 1);
	assert_int_equal(find(&f, 1)->n_failures, 0);
	assert_true(is_from_zero(find(&f, 1)));
	f.answer = 0;
	execute(&f, 1, "c");
	assert_int_equal(scan(&f, 4), 0);
	execute(&f, 1, "b"); /* is known to be Go's */
	assert_int_equal(scan(&f, 5), 1);
	end(&f);
}

static void test_an_id_that_is_used_again_is_another_process(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	assert_int_equal(scan(&f, 1), 1);
	stop(&f, 1);
	start(&f, 1, AFTER, "a");
	assert_int_equal(scan(&f, 2), 1);
	assert_int_equal(find(&f, 1)->id.start_time, AFTER);
	assert_true(is_from_zero(find(&f, 1)));
	stop(&f, 1);
	assert_int_equal(scan(&f, 3), 0);
	assert_null(go_processes_next(f.p));
	end(&f);
}

/* Its folder is the same, so what is in it was not looked at again. */
static void test_who_is_known_is_not_read_again(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	start(&f, 2, BEFORE, "a");
	assert_int_equal(scan(&f, 1), 2);
	put_stat(&f, 1, AFTER, 0);
	assert_int_equal(scan(&f, 2), 2);
	assert_int_equal(find(&f, 1)->id.start_time, BEFORE);
	go_processes_remove(f.p, find(&f, 1));
	assert_int_equal(scan(&f, 3), 2);
	assert_int_equal(find(&f, 1)->id.start_time, AFTER);
	end(&f);
}

/* Its memory was gone in the middle of a reading. */
static void test_one_that_was_said_to_have_ended_begins_anew(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	start(&f, 2, BEFORE, "a");
	assert_int_equal(scan(&f, 1), 2);
	go_processes_remove(f.p, find(&f, 1));
	assert_int_equal(go_processes_count(f.p), 1);
	assert_null(find(&f, 1));
	assert_int_equal(go_processes_next(f.p)->id.pid, 2);
	assert_int_equal(scan(&f, 2), 2);
	assert_true(is_from_zero(find(&f, 1)));
	assert_false(is_from_zero(find(&f, 2)));
	end(&f);
}

static void test_what_cannot_be_told_now_is_asked_again(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	f.answer = -EBUSY;
	assert_int_equal(scan(&f, 1), 0);
	assert_int_equal(scan(&f, 2), 0);
	assert_int_equal(f.n_asked, 2);
	f.answer = 1;
	assert_int_equal(scan(&f, 3), 1);
	assert_false(is_from_zero(find(&f, 1)));
	f.answer = -ENOMEM;
	start(&f, 2, BEFORE, "b");
	assert_int_equal(go_processes_scan(f.p, 4), -ENOMEM);
	assert_int_equal(go_processes_count(f.p), 1); /* a scan that was not whole drops nobody */
	end(&f);
}

/* Nor that it has ended: there may be no descriptor left, or no right to look. */
static void test_who_has_an_id_may_be_unknown_for_a_while(void **state)
{
	struct go_process *g;
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	start(&f, 2, BEFORE, "2/exe"); /* a link to itself */
	assert_int_equal(scan(&f, 1), 1);
	g = find(&f, 1);
	g->is_ours = true;
	execute(&f, 1, "1/exe");
	assert_int_equal(scan(&f, 2), 1);
	execute(&f, 1, "a");
	assert_int_equal(scan(&f, 3), 1);
	assert_ptr_equal(find(&f, 1), g);
	assert_true(g->is_ours);
	end(&f);
}

static void test_answers_are_remembered_up_to_a_limit(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.answer = 0;
	start(&f, 1, BEFORE, "a");
	assert_int_equal(scan(&f, 1), 0);
	for (unsigned i = 0; i < 8191; i++) {
		char exe[32];

		(void)snprintf(exe, sizeof(exe), "x%u", i);
		execute(&f, 1, exe);
		assert_int_equal(scan(&f, 2 + i), 0);
	}
	assert_int_equal(f.n_asked, 8192);
	execute(&f, 1, "a");
	assert_int_equal(scan(&f, 10000), 0);
	assert_int_equal(f.n_asked, 8192);
	execute(&f, 1, "one-more");
	assert_int_equal(scan(&f, 10001), 0);
	execute(&f, 1, "a");
	assert_int_equal(scan(&f, 10002), 0);
	assert_int_equal(f.n_asked, 8194); /* all were forgotten */
	end(&f);
}

static void test_a_profiler_just_switched_on_begins_now(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 2, BEFORE, "a");
	assert_int_equal(scan(&f, 1), 1);
	start(&f, 1, AFTER, "a");
	assert_int_equal(scan(&f, 2), 2);
	assert_int_equal(go_processes_restart(find(&f, 1), 77), 0);
	assert_int_equal(find(&f, 1)->due_ns, 77);
	assert_false(is_from_zero(find(&f, 1)));
	assert_int_equal(go_processes_renew(find(&f, 1), BUCKET_HISTORY_FROM_ZERO), 0);
	assert_true(is_from_zero(find(&f, 1)));
	/* both have room for a few records */
	assert_in_range(go_processes_bytes(f.p), 2 * sizeof(struct go_bucket), 64 * 1024);
	end(&f);
}

static void test_the_end_of_a_burst_comes_between_two_turns(void **state)
{
	struct go_process *g;
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	start(&f, 2, BEFORE, "a");
	assert_int_equal(scan(&f, 5000), 2); /* due at 5000 and 5500 */
	g = go_processes_next(f.p);
	g->burst_end_ns = 5700;
	go_processes_done(f.p, g, 5000, false);
	assert_ptr_not_equal(go_processes_next(f.p), g);
	go_processes_done(f.p, go_processes_next(f.p), 5500, false);
	assert_ptr_equal(go_processes_next(f.p), g);
	assert_int_equal(go_process_next_ns(g), 5700);
	g->burst_end_ns = 0;
	assert_ptr_equal(go_processes_next(f.p), g);
	assert_int_equal(go_process_next_ns(g), 6000);
	end(&f);
}

static void test_the_next_is_the_one_due_first_whatever_happens_to_the_others(void **state)
{
	static const unsigned order[] = {3, 5, 2, 4};
	struct fixture f;

	(void)state;
	begin(&f);
	for (unsigned pid = 1; pid <= 5; pid++) {
		start(&f, pid, BEFORE, "a");
		assert_int_equal(scan(&f, pid), pid);
	}
	for (unsigned pid = 1; pid <= 5; pid++) {
		assert_int_equal(go_processes_next(f.p)->id.pid, pid);
		go_processes_done(f.p, find(&f, (pid_t)pid), pid, false);
	}
	/* due at 1001 to 1005 */
	assert_int_equal(go_processes_next(f.p)->id.pid, 1);
	assert_int_equal(go_processes_restart(go_processes_next(f.p), 7000), 0);
	go_processes_done(f.p, find(&f, 4), 1004, false);
	go_processes_done(f.p, find(&f, 2), 1004, false);
	stop(&f, 1);
	assert_int_equal(scan(&f, 6), 4);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		struct go_process *g = go_processes_next(f.p);

		assert_int_equal(g->id.pid, order[i]);
		go_processes_remove(f.p, g);
	}
	assert_null(go_processes_next(f.p));
	assert_int_equal(go_processes_bytes(f.p), 0);
	end(&f);
}

static void test_what_is_remembered_is_counted_as_it_grows(void **state)
{
	struct go_process *g;
	struct fixture f;
	size_t bytes;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	start(&f, 2, BEFORE, "a");
	assert_int_equal(scan(&f, 1), 2);
	bytes = go_processes_bytes(f.p);
	assert_int_equal(bytes, go_process_bytes(find(&f, 1)) + go_process_bytes(find(&f, 2)));
	g = go_processes_next(f.p);
	(void)is_from_zero(g); /* reads a record */
	assert_true(go_processes_bytes(f.p) > bytes);
	assert_int_equal(go_processes_bytes(f.p),
			 go_process_bytes(find(&f, 1)) + go_process_bytes(find(&f, 2)));
	go_processes_done(f.p, g, 1, false);
	assert_ptr_not_equal(go_processes_next(f.p), g);
	assert_int_equal(go_processes_bytes(f.p),
			 go_process_bytes(find(&f, 1)) + go_process_bytes(find(&f, 2)));
	go_processes_remove(f.p, g);
	assert_int_equal(go_processes_bytes(f.p), go_process_bytes(go_processes_next(f.p)));
	end(&f);
}

static void test_another_program_has_no_rates_of_ours(void **state)
{
	struct go_process *g;
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	assert_int_equal(scan(&f, 1), 1);
	g = find(&f, 1);
	g->locks[LOCK_BLOCK].is_ours = true;
	g->burst_end_ns = 9;
	/* what is forgotten for want of memory is switched off all the same */
	assert_int_equal(go_processes_renew(g, BUCKET_HISTORY_FROM_NOW), 0);
	assert_true(g->locks[LOCK_BLOCK].is_ours);
	assert_int_equal(g->burst_end_ns, 9);
	assert_int_equal(go_processes_renew(g, BUCKET_HISTORY_FROM_ZERO), 0);
	assert_false(g->locks[LOCK_BLOCK].is_ours);
	assert_int_equal(g->burst_end_ns, 0);
	end(&f);
}

static int scan_anew(void *arg)
{
	CLEANUP(go_processes_freep) struct go_processes *p = NULL;
	struct fixture *f = arg;
	const struct go_processes_config cfg = {f->root_fd, INTERVAL_NS, detect, f, NULL};
	int r = go_processes_new(&p, &cfg);

	return r == 0 ? go_processes_scan(p, 1) : r;
}

static void test_failed_allocations_are_survived(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	start(&f, 1, BEFORE, "a");
	start(&f, 2, BEFORE, "b");
	check_oom(scan_anew, &f);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes_found_together_are_spread_over_the_interval),
		cmocka_unit_test(test_one_that_cannot_be_read_is_tried_less_and_less_often),
		cmocka_unit_test(test_allocations_are_news_since_the_last_scan_only),
		cmocka_unit_test(
			test_allocations_are_news_to_who_takes_over_since_the_last_scan_before),
		cmocka_unit_test(test_who_is_looked_at_is_said_before),
		cmocka_unit_test(test_who_is_left_out_is_so_until_somebody_else_has_the_id),
		cmocka_unit_test(test_a_process_that_executes_something_else_is_new),
		cmocka_unit_test(test_an_id_that_is_used_again_is_another_process),
		cmocka_unit_test(test_who_is_known_is_not_read_again),
		cmocka_unit_test(test_one_that_was_said_to_have_ended_begins_anew),
		cmocka_unit_test(test_what_cannot_be_told_now_is_asked_again),
		cmocka_unit_test(test_who_has_an_id_may_be_unknown_for_a_while),
		cmocka_unit_test(test_answers_are_remembered_up_to_a_limit),
		cmocka_unit_test(test_a_profiler_just_switched_on_begins_now),
		cmocka_unit_test(test_the_end_of_a_burst_comes_between_two_turns),
		cmocka_unit_test(test_the_next_is_the_one_due_first_whatever_happens_to_the_others),
		cmocka_unit_test(test_what_is_remembered_is_counted_as_it_grows),
		cmocka_unit_test(test_another_program_has_no_rates_of_ours),
		cmocka_unit_test(test_failed_allocations_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
