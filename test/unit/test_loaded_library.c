#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "node-agent/go/image/go_reader.h"
#include "node-agent/go_profile/go_processes.h"
#include "node-agent/process/loaded_library.h"
#include "node-agent/process/procfs.h"
#include "test/lib/history_start.h"
#include "test/lib/unit.h"

#define KEYS 256u
#define INTERVAL_NS UINT64_C(60000000000)
#define MINUTES(n) ((n)*INTERVAL_NS)

/* A child of this program, which has loaded what this one has; the C library is one of these files. */
struct fixture {
	pid_t child;
	char root[64]; /* a /proc with that process only */
	int root_fd;
	int proc_fd;
	struct go_target_files files;
	struct program_id id;
	struct file_id libc;
	uint64_t libc_start;

	/* what the table of processes is told */
	struct program_id host;
	struct file_id libraries[4];
	int n_libraries; /* or an error */
	int answer;      /* to whether a library is Go's */
	unsigned n_looks;
};

static void find_libc(struct fixture *f)
{
	Dl_info info;
	struct stat st;

	assert_int_not_equal(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info), 0);
	assert_int_equal(stat(info.dli_fname, &st), 0);
	f->libc = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	f->libc_start = (uint64_t)(uintptr_t)info.dli_fbase;
}

static void begin(struct fixture *f)
{
	char link[96], target[32];
	struct proc_stat st;

	memset(f, 0, sizeof(*f));
	f->child = fork();
	if (f->child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(f->child > 0);
	(void)snprintf(f->root, sizeof(f->root), "/tmp/test_loaded_library.XXXXXX");
	assert_non_null(mkdtemp(f->root));
	(void)snprintf(link, sizeof(link), "%s/%d", f->root, (int)f->child);
	(void)snprintf(target, sizeof(target), "/proc/%d", (int)f->child);
	assert_int_equal(symlink(target, link), 0);
	f->root_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->proc_fd = procfs_open_process(f->root_fd, f->child);
	assert_true(f->proc_fd >= 0);
	assert_int_equal(procfs_read_stat(f->proc_fd, &st), 0);
	f->id = (struct program_id){.pid = f->child, .start_time = st.start_time};
	assert_int_equal(procfs_read_exe_id(f->proc_fd, &f->id.exe), 0);
	assert_int_equal(deadline_caller_new(&f->files.caller, UINT64_C(60000000000), 1), 0);
	find_libc(f);
}

static void kill_child(struct fixture *f)
{
	if (f->child > 0) {
		kill(f->child, SIGKILL);
		waitpid(f->child, NULL, 0);
	}
	f->child = 0;
}

static void end(struct fixture *f)
{
	char link[96];

	(void)snprintf(link, sizeof(link), "%s/%d", f->root, (int)f->id.pid);
	kill_child(f);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(f->root), 0);
	deadline_caller_free(f->files.caller);
	close(f->proc_fd);
	close(f->root_fd);
}

/* ---- one process ---- */

static void test_each_mapped_file_is_listed_once_but_the_executable(void **state)
{
	struct file_id keys[KEYS];
	unsigned n_libc = 0;
	struct fixture f;
	int n;

	(void)state;
	begin(&f);
	n = loaded_library_list(f.proc_fd, &f.id.exe, f.files.caller, keys, KEYS);
	assert_in_range(n, 3, KEYS - 1); /* and the loader, and cmocka */
	for (int i = 0; i < n; i++) {
		assert_false(file_id_same_file(&keys[i], &f.id.exe));
		assert_true(keys[i].size_bytes > 0);
		n_libc += file_id_same_file(&keys[i], &f.libc);
		for (int j = 0; j < i; j++)
			assert_false(file_id_same_file(&keys[i], &keys[j]));
	}
	assert_int_equal(n_libc, 1);
	assert_int_equal(loaded_library_list(f.proc_fd, &f.id.exe, f.files.caller, keys, 2), 2);
	kill_child(&f);
	assert_int_equal(loaded_library_list(f.proc_fd, &f.id.exe, f.files.caller, keys, KEYS),
			 -ESRCH);
	end(&f);
}

static void test_a_library_is_opened_with_where_it_lies(void **state)
{
	CLEANUP(workload_unrefp) struct workload *workload = NULL;
	char magic[4] = "";
	struct go_target t;
	struct fixture f;

	(void)state;
	begin(&f);
	f.id.library = f.libc;
	assert_int_equal(go_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	assert_int_equal(t.bias, f.libc_start);
	assert_int_equal(byte_source_read(&t.memory, t.bias, magic, sizeof(magic)), 0);
	assert_memory_equal(magic, "\177ELF", sizeof(magic));
	assert_true(
		elf_layout_is_text(&t.layout, (uint64_t)(uintptr_t)gnu_get_libc_version - t.bias));
	assert_int_equal(go_target_reason(&t, &f.id, -ENODATA), -EBADMSG);
	assert_int_equal(go_target_workload(&t, &workload), 0);
	assert_non_null(strstr(workload->service,
			       "test_loaded_library")); /* it is the program's all the same */
	go_target_close(&t);
	end(&f);
}

static void test_what_is_not_mapped_is_not_opened(void **state)
{
	struct go_target t;
	struct fixture f;

	(void)state;
	begin(&f);
	f.id.library = f.libc;
	f.id.library.ino++;
	assert_int_equal(go_target_open(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	assert_int_equal(go_target_open_file(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	f.id.library = f.libc;
	f.id.exe.ino++; /* another program, which has loaded the same library */
	assert_int_equal(go_target_open(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	end(&f);
}

/* ---- all of them ---- */

static int detect(void *ctx, const struct program_id *id)
{
	struct fixture *f = ctx;

	return id->library.ino == 0 ? 0 : f->answer;
}

static int libraries(void *ctx, const struct program_id *id, struct file_id *keys, size_t max)
{
	struct fixture *f = ctx;

	f->n_looks++;
	assert_int_equal(id->library.ino, 0);
	assert_int_equal(max, GO_READER_LIBRARIES_MAX);
	for (int i = 0; i < f->n_libraries; i++)
		keys[i] = f->libraries[i];
	return f->n_libraries;
}

static void begin_processes(struct fixture *f, struct go_processes **ret)
{
	begin(f);
	const struct go_processes_config cfg = {f->root_fd, INTERVAL_NS, detect, f, libraries};

	for (size_t i = 0; i < ARRAY_SIZE(f->libraries); i++)
		f->libraries[i] = (struct file_id){1, 100 + i, 4096, 1};
	f->answer = 1;
	assert_int_equal(go_processes_new(ret, &cfg), 0);
}

static size_t scan(struct go_processes *p, uint64_t now_ns)
{
	assert_int_equal(go_processes_scan(p, now_ns), 0);
	return go_processes_count(p);
}

static struct go_process *find(struct go_processes *p, uint64_t ino)
{
	struct go_process *g = NULL;

	do
		g = go_processes_each(p, g);
	while (g && g->id.library.ino != ino);
	return g;
}

static void test_each_runtime_of_a_process_is_read_by_itself(void **state)
{
	struct go_processes *p;
	struct fixture f;

	(void)state;
	begin_processes(&f, &p);
	f.n_libraries = 2;
	assert_int_equal(scan(p, 1000), 2);
	assert_int_equal(find(p, 100)->id.pid, f.child);
	assert_int_equal(find(p, 101)->id.pid, f.child);
	assert_ptr_not_equal(find(p, 100)->heap, find(p, 101)->heap);
	assert_int_equal(go_processes_next(p)->due_ns, 1000);
	go_processes_done(p, go_processes_next(p), 1000, false);
	assert_int_equal(go_processes_next(p)->due_ns, 1000 + INTERVAL_NS / 2);
	assert_int_equal(scan(p, 2000), 2);

	/* one is unloaded, and loaded again */
	go_processes_remove(p, find(p, 100));
	assert_int_equal(go_processes_count(p), 1);
	assert_int_equal(scan(p, 3000), 2);
	assert_true(history_starts_from_zero(find(p, 100)->heap));
	assert_false(history_starts_from_zero(find(p, 101)->heap));

	kill_child(&f);
	assert_int_equal(scan(p, 4000), 0);
	assert_null(go_processes_each(p, NULL));
	go_processes_free(p);
	end(&f);
}

static void test_libraries_are_looked_for_less_and_less_often(void **state)
{
	static const unsigned minutes[] = {0, 0, 1, 3, 7, 15, 25, 35}; /* by then */
	struct go_processes *p;
	struct fixture f;

	(void)state;
	begin_processes(&f, &p);
	for (unsigned i = 0, seconds = 0; seconds <= 36 * 60; seconds += 15) {
		assert_int_equal(scan(p, seconds * UINT64_C(1000000000)), 0);
		while (i < ARRAY_SIZE(minutes) && f.n_looks == i + 1) {
			/* the second look is at the scan after the first */
			assert_in_range(seconds, minutes[i] * 60, minutes[i] * 60 + 15);
			i++;
		}
		assert_int_equal(f.n_looks, i);
	}
	assert_int_equal(f.n_looks, ARRAY_SIZE(minutes));
	go_processes_free(p);
	end(&f);
}

static void test_what_is_loaded_later_is_news(void **state)
{
	struct go_processes *p;
	struct fixture f;

	(void)state;
	begin_processes(&f, &p);
	f.n_libraries = 1;
	assert_int_equal(scan(p, 1), 1);
	f.n_libraries = 2;
	assert_int_equal(scan(p, 2), 2);
	assert_false(history_starts_from_zero(find(p, 100)->heap)); /* it ran before the agent */
	assert_true(history_starts_from_zero(find(p, 101)->heap));
	go_processes_free(p);
	end(&f);
}

static void test_a_look_that_did_not_see_all_makes_no_news(void **state)
{
	struct go_processes *p;
	struct fixture f;

	(void)state;
	begin_processes(&f, &p);
	f.n_libraries = -EACCES;
	assert_int_equal(scan(p, 1), 0);
	f.n_libraries = 1;
	f.answer = -EBUSY;
	assert_int_equal(scan(p, 2), 0);
	f.answer = 1;
	assert_int_equal(scan(p, 3 + MINUTES(1)), 1);
	assert_false(history_starts_from_zero(find(p, 100)->heap));
	f.n_libraries = -ENOMEM;
	assert_int_equal(go_processes_scan(p, 4 + MINUTES(3)), -ENOMEM);
	go_processes_free(p);
	end(&f);
}

static void test_what_is_not_go_is_no_entry(void **state)
{
	struct go_processes *p;
	struct fixture f;

	(void)state;
	begin_processes(&f, &p);
	f.n_libraries = 4;
	f.answer = 0;
	assert_int_equal(scan(p, 1), 0);
	assert_null(go_processes_next(p));
	go_processes_free(p);
	end(&f);
}

/* ---- without memory ---- */

static int scan_anew(void *arg)
{
	CLEANUP(go_processes_freep) struct go_processes *p = NULL;
	struct fixture *f = arg;
	const struct go_processes_config cfg = {f->root_fd, INTERVAL_NS, detect, f, libraries};
	int r = go_processes_new(&p, &cfg);

	return r == 0 ? go_processes_scan(p, 1) : r;
}

static int list_anew(void *arg)
{
	struct file_id keys[KEYS];
	struct fixture *f = arg;
	int r = loaded_library_list(f->proc_fd, &f->id.exe, f->files.caller, keys, KEYS);

	return r < 0 ? r : 0;
}

static void test_failed_allocations_are_survived(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.libraries[0] = f.libc;
	f.n_libraries = 1;
	f.answer = 1;
	check_oom(scan_anew, &f);
	check_oom(list_anew, &f);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_mapped_file_is_listed_once_but_the_executable),
		cmocka_unit_test(test_a_library_is_opened_with_where_it_lies),
		cmocka_unit_test(test_what_is_not_mapped_is_not_opened),
		cmocka_unit_test(test_each_runtime_of_a_process_is_read_by_itself),
		cmocka_unit_test(test_libraries_are_looked_for_less_and_less_often),
		cmocka_unit_test(test_what_is_loaded_later_is_news),
		cmocka_unit_test(test_a_look_that_did_not_see_all_makes_no_news),
		cmocka_unit_test(test_what_is_not_go_is_no_entry),
		cmocka_unit_test(test_failed_allocations_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
