/* Cycles given to the thread come back as profiles on the loop thread; run under TSan as well. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "node-agent/profile/profile_worker.h"
#include "node-agent/sample/cycle.h"
#include "test/lib/own_process.h"
#include "test/lib/unit.h"

struct fixture {
	struct loop *loop;
	struct loop_source *deadline;
	struct profile_worker *worker;
	struct process_table *table;
	struct process_snapshot *self;
	unsigned n_profiles;
	unsigned n_done;
	unsigned stop_after;
	bool timed_out;
};

static void on_profile(void *ctx, const struct workload_profile *p)
{
	struct fixture *f = ctx;

	assert_true(p->pprof->len > 0);
	f->n_profiles++;
}

static void on_done(void *ctx)
{
	struct fixture *f = ctx;

	/* after its profiles */
	assert_true(f->n_profiles > f->n_done);
	if (++f->n_done == f->stop_after)
		loop_stop(f->loop);
}

static void on_deadline(void *ctx)
{
	struct fixture *f = ctx;

	f->timed_out = true;
	loop_stop(f->loop);
}

static void set_up_in(struct fixture *f, const char *proc_root)
{
	const struct profile_worker_config cfg = {
		.hz = 99,
		.proc_root = proc_root,
		.on_profile = on_profile,
		.on_cycle_done = on_done,
		.ctx = f,
	};
	struct err err = {""};

	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(process_table_new(&f->table, &(struct process_table_config){0}, &err), 0);
	f->self = own_process_snapshot(f->table);
	assert_int_equal(profile_worker_new(&f->worker, f->loop, &cfg), 0);
	assert_int_equal(loop_add_timer(f->loop, on_deadline, f, &f->deadline), 0);
	loop_set_timer(f->deadline, 300 * NS_PER_S);
}

static void set_up(struct fixture *f)
{
	set_up_in(f, NULL);
}

static void tear_down(struct fixture *f)
{
	profile_worker_free(f->worker);
	process_snapshot_unref(f->self);
	process_table_free(f->table);
	loop_remove(f->deadline);
	loop_free(f->loop);
}

static struct cycle *make_cycle(struct fixture *f)
{
	const struct cycle_config cfg = {1000, MIB};
	struct cycle *c;

	assert_int_equal(cycle_new(&c, &cfg), 0);
	for (uint64_t i = 0; i < 100; i++) {
		struct {
			struct sample_event e;
			uint64_t addr;
		} sample = {.addr = (uint64_t)(uintptr_t)make_cycle + i};

		sample.e.header.size = sizeof(sample);
		sample.e.n_user = 1;
		assert_int_equal(cycle_add_sample(c, f->self, &sample.e), 0);
	}
	return c;
}

TEST(cycles_come_back_as_profiles)
{
	struct fixture f = {.stop_after = 2};

	set_up(&f);
	for (int i = 0; i < 2; i++)
		assert_int_equal(profile_worker_adopt(f.worker, make_cycle(&f), 2, 1), 0);
	assert_int_equal(profile_worker_pending(f.worker), 2);
	assert_int_equal(loop_run(f.loop), 0);
	assert_false(f.timed_out);
	assert_int_equal(f.n_profiles, 2);
	assert_int_equal(profile_worker_pending(f.worker), 0);
	tear_down(&f);
}

TEST(a_worker_that_is_behind_refuses_and_the_caller_keeps_the_cycle)
{
	struct fixture f = {0};
	struct cycle *c = NULL;
	int r = 0;

	set_up(&f);
	for (int i = 0; i < 1000 && r == 0; i++) {
		c = make_cycle(&f);
		r = profile_worker_adopt(f.worker, c, 2, 1);
	}
	assert_int_equal(r, -EAGAIN);
	cycle_free(c);
	tear_down(&f); /* while cycles still wait */
}

/* One sample of the kernel, whose names are in /proc/kallsyms. */
static struct cycle *make_kernel_cycle(struct fixture *f)
{
	const struct cycle_config cfg = {1000, MIB};
	struct {
		struct sample_event e;
		uint64_t addr;
	} sample = {.addr = UINT64_C(0xffffffff81000000)};
	struct cycle *c;

	assert_int_equal(cycle_new(&c, &cfg), 0);
	sample.e.header.size = sizeof(sample);
	sample.e.n_kernel = 1;
	assert_int_equal(cycle_add_sample(c, f->self, &sample.e), 0);
	return c;
}

static unsigned count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* kallsyms is a FIFO: opening it waits for a writer, and reading it for what the writer has. */
TEST(the_end_does_not_wait_for_a_file_that_does_not_answer)
{
	const char *root = temp_dir();
	char path[64];
	unsigned n_threads = count_threads();
	struct fixture f = {0};
	uint64_t begin_ns;
	int fd = -1;

	snprintf(path, sizeof(path), "%s/kallsyms", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	set_up_in(&f, root);
	assert_int_equal(profile_worker_adopt(f.worker, make_kernel_cycle(&f), 2, 1), 0);
	assert_int_equal(profile_worker_adopt(f.worker, make_cycle(&f), 2, 1), 0);
	/* succeeds once the thread is in open(2) */
	while (fd < 0) {
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		assert_true(fd >= 0 || errno == ENXIO);
	}
	/* from here on it waits in read(2), until this end is closed */
	begin_ns = clock_monotonic_ns();
	tear_down(&f);
	assert_true(clock_monotonic_ns() - begin_ns < 5 * NS_PER_S);
	assert_true(count_threads() > n_threads);

	close(fd); /* the thread reads to the end and frees what it has */
	eventually(count_threads() <= n_threads);
	unlink(path);
}
