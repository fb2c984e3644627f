/* Runtimes in libraries of a process whose executable has none. */
#include <errno.h>

#include "node-agent/runtime/runtime_processes.h"
#include "test/lib/fake_proc.h"
#include "test/lib/scan_all.h"
#include "test/lib/toy_runtime.h"
#include "test/lib/unit.h"

#define INTERVAL_NS UINT64_C(60000000000)
#define MINUTES(n) ((n)*INTERVAL_NS)
#define PID 7

struct fixture {
	struct fake_proc proc;
	struct file_id libraries[4]; /* of the process */
	int n_libraries;             /* or an error */
	int answer;                  /* to whether a library has the runtime */
	unsigned n_examined;
};

static int detect(void *ctx, const struct program_id *id)
{
	struct fixture *f = ctx;

	return id->library.ino == 0 ? 0 : f->answer;
}

static int libraries(void *ctx, const struct program_id *id, struct file_id *files, size_t max)
{
	struct fixture *f = ctx;

	f->n_examined++;
	assert_int_equal(id->library.ino, 0);
	assert_int_equal(max, RUNTIME_LIBRARIES_MAX);
	for (int i = 0; i < f->n_libraries; i++)
		files[i] = f->libraries[i];
	return f->n_libraries;
}

static struct runtime_processes_config config(struct fixture *f)
{
	return (struct runtime_processes_config){
		.root_fd = f->proc.root_fd,
		.interval_ns = INTERVAL_NS,
		.ops = &toy_runtime_ops,
		.detect = detect,
		.libraries = libraries,
		.ctx = f,
	};
}

static void begin(struct fixture *f, struct runtime_processes **ret)
{
	struct runtime_processes_config cfg;

	memset(f, 0, sizeof(*f));
	fake_proc_begin(&f->proc);
	fake_proc_start(&f->proc, PID, FAKE_PROC_BEFORE, "program");
	cfg = config(f);
	for (size_t i = 0; i < ARRAY_SIZE(f->libraries); i++)
		f->libraries[i] = (struct file_id){1, 100 + i, 4096, 1};
	f->answer = 1;
	assert_int_equal(runtime_processes_new(ret, &cfg), 0);
}

static void end(struct fixture *f, struct runtime_processes *p)
{
	runtime_processes_free(p);
	fake_proc_end(&f->proc);
}

static size_t scan(const struct fixture *f, struct runtime_processes *p, uint64_t now_ns)
{
	assert_int_equal(scan_all(p, f->proc.root_fd, now_ns), 0);
	return runtime_processes_count(p);
}

static struct runtime_process *find(struct runtime_processes *p, uint64_t ino)
{
	struct runtime_process *g = NULL;

	do
		g = runtime_processes_each(p, g);
	while (g && g->id.library.ino != ino);
	return g;
}

static bool is_from_zero(const struct runtime_process *p)
{
	assert_non_null(p);
	return p->baseline == RUNTIME_BASELINE_ZERO;
}

TEST(test_each_runtime_of_a_process_is_read_by_itself)
{
	struct runtime_processes *p;
	struct fixture f;

	begin(&f, &p);
	f.n_libraries = 2;
	assert_int_equal(scan(&f, p, 1000), 2);
	assert_int_equal(find(p, 100)->id.pid, PID);
	assert_int_equal(find(p, 101)->id.pid, PID);
	assert_ptr_not_equal(find(p, 100)->session, find(p, 101)->session);
	assert_int_equal(runtime_processes_next(p)->due_ns, 1000);
	runtime_processes_done(p, runtime_processes_next(p), 1000, false);
	assert_int_equal(runtime_processes_next(p)->due_ns, 1000 + INTERVAL_NS / 2);
	assert_int_equal(scan(&f, p, 2000), 2);

	/* one is unloaded, and loaded again */
	runtime_processes_remove(p, find(p, 100));
	assert_int_equal(runtime_processes_count(p), 1);
	assert_int_equal(scan(&f, p, 3000), 2);
	assert_true(is_from_zero(find(p, 100)));
	assert_false(is_from_zero(find(p, 101)));

	fake_proc_stop(&f.proc, PID);
	assert_int_equal(scan(&f, p, 4000), 0);
	assert_null(runtime_processes_each(p, NULL));
	end(&f, p);
}

TEST(test_libraries_are_examined_less_and_less_often)
{
	static const unsigned minutes[] = {0, 0, 1, 3, 7, 15, 25, 35}; /* by then */
	struct runtime_processes *p;
	struct fixture f;

	begin(&f, &p);
	for (unsigned i = 0, seconds = 0; seconds <= 36 * 60; seconds += 15) {
		assert_int_equal(scan(&f, p, seconds * UINT64_C(1000000000)), 0);
		while (i < ARRAY_SIZE(minutes) && f.n_examined == i + 1) {
			/* the second time is at the scan after the first */
			assert_in_range(seconds, minutes[i] * 60, minutes[i] * 60 + 15);
			i++;
		}
		assert_int_equal(f.n_examined, i);
	}
	assert_int_equal(f.n_examined, ARRAY_SIZE(minutes));
	end(&f, p);
}

static void set_library_pages(struct fixture *f, unsigned n)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%u 500 300 10 0 1000 0\n", 1000 + n);
	fake_proc_put_file(&f->proc, "7/statm", text);
}

TEST(test_libraries_are_not_listed_again_while_none_was_mapped)
{
	struct runtime_processes *p;
	struct fixture f;

	begin(&f, &p);
	set_library_pages(&f, 70);
	assert_int_equal(scan(&f, p, 1), 0);
	assert_int_equal(scan(&f, p, 2), 0);
	assert_int_equal(scan(&f, p, 3 + MINUTES(1)), 0);
	assert_int_equal(f.n_examined, 1);
	/* one is loaded: it is found when it would have been */
	set_library_pages(&f, 80);
	f.n_libraries = 1;
	assert_int_equal(scan(&f, p, 4 + MINUTES(2)), 0);
	assert_int_equal(scan(&f, p, 4 + MINUTES(3)), 1);
	assert_int_equal(f.n_examined, 2);
	assert_true(is_from_zero(find(p, 100)));
	assert_int_equal(scan(&f, p, 5 + MINUTES(7)), 1);
	assert_int_equal(f.n_examined, 2);
	/* at times they are listed in any case */
	assert_int_equal(scan(&f, p, 6 + MINUTES(15)), 1);
	assert_int_equal(f.n_examined, 3);
	/* one that is gone may be back, in a process of the same size */
	runtime_processes_remove(p, find(p, 100));
	assert_int_equal(scan(&f, p, 7 + MINUTES(15)), 1);
	assert_int_equal(f.n_examined, 4);
	/* another program, in a process of the same size */
	fake_proc_execute(&f.proc, PID, "another");
	assert_int_equal(scan(&f, p, 8 + MINUTES(15)), 1);
	assert_int_equal(f.n_examined, 5);
	end(&f, p);
}

TEST(test_libraries_that_may_have_been_missed_are_listed_again)
{
	struct runtime_processes *p;
	struct fixture f;

	begin(&f, &p);
	set_library_pages(&f, 70);
	f.n_libraries = -EACCES;
	assert_int_equal(scan(&f, p, 1), 0);
	f.n_libraries = 1;
	f.answer = -EBUSY;
	assert_int_equal(scan(&f, p, 2), 0);
	assert_int_equal(f.n_examined, 2);
	f.answer = 1;
	assert_int_equal(scan(&f, p, 3 + MINUTES(1)), 1);
	assert_int_equal(f.n_examined, 3);
	end(&f, p);
}

TEST(test_a_library_that_is_loaded_later_reports_all)
{
	struct runtime_processes *p;
	struct fixture f;

	begin(&f, &p);
	f.n_libraries = 1;
	assert_int_equal(scan(&f, p, 1), 1);
	f.n_libraries = 2;
	assert_int_equal(scan(&f, p, 2), 2);
	assert_false(is_from_zero(find(p, 100))); /* it ran before the agent */
	assert_true(is_from_zero(find(p, 101)));
	end(&f, p);
}

TEST(test_a_library_that_may_have_been_missed_reports_from_now_on)
{
	struct runtime_processes *p;
	struct fixture f;

	begin(&f, &p);
	f.n_libraries = -EACCES;
	assert_int_equal(scan(&f, p, 1), 0);
	f.n_libraries = 1;
	f.answer = -EBUSY;
	assert_int_equal(scan(&f, p, 2), 0);
	f.answer = 1;
	assert_int_equal(scan(&f, p, 3 + MINUTES(1)), 1);
	assert_false(is_from_zero(find(p, 100)));
	f.n_libraries = -ENOMEM;
	assert_int_equal(scan_all(p, f.proc.root_fd, 4 + MINUTES(3)), -ENOMEM);
	end(&f, p);
}

TEST(test_libraries_without_the_runtime_are_no_programs)
{
	struct runtime_processes *p;
	struct fixture f;

	begin(&f, &p);
	f.n_libraries = 4;
	f.answer = 0;
	assert_int_equal(scan(&f, p, 1), 0);
	assert_null(runtime_processes_next(p));
	end(&f, p);
}

static int scan_anew(void *arg)
{
	CLEANUP(runtime_processes_freep) struct runtime_processes *p = NULL;
	struct fixture *f = arg;
	const struct runtime_processes_config cfg = config(f);
	int r = runtime_processes_new(&p, &cfg);

	return r == 0 ? scan_all(p, f->proc.root_fd, 1) : r;
}

TEST(test_failed_allocations_are_survived)
{
	struct runtime_processes *p;
	struct fixture f;

	begin(&f, &p);
	f.n_libraries = 1;
	check_oom(scan_anew, &f);
	end(&f, p);
}
