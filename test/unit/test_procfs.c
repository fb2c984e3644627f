#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "node-agent/procfs/procfs.h"
#include "test/lib/fake_proc.h"
#include "test/lib/unit.h"

#define REST " S 6 1 1 0 -1 %s 0 0 0 0 0 0 0 0 20 0 1 0 %s 1000 10\n"

static int parse(const char *head, const char *flags, const char *start, struct proc_stat *ret)
{
	char text[512];

	snprintf(text, sizeof(text), "%s" REST, head, flags, start);
	return proc_stat_parse(text, strlen(text), ret);
}

TEST(a_name_may_contain_anything)
{
	struct proc_stat s;

	assert_int_equal(parse("1 (init)", "4194560", "77", &s), 0);
	assert_string_equal(s.comm, "init");
	assert_int_equal(s.start_time, 77);
	assert_int_equal(s.parent, 6);
	assert_false(s.kernel_thread);
	assert_int_equal(parse("1 (a) S 1 (b))", "4194560", "78", &s), 0);
	assert_string_equal(s.comm, "a) S 1 (b)");
	assert_int_equal(s.start_time, 78);
	assert_int_equal(parse("9 (kworker/0:1-events_unbound)", "69238880", "5", &s), 0);
	assert_string_equal(s.comm, "kworker/0:1-eve");
	assert_true(s.kernel_thread);
}

TEST(the_place_of_the_environment_is_known)
{
	static const char text[] =
		"1 (x) S 6 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 1000 10"
		" 0 512 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1024 4096 0\n";
	struct proc_stat s;

	assert_int_equal(proc_stat_parse(text, strlen(text), &s), 0);
	assert_int_equal(s.start_code, 512);
	assert_int_equal(s.environ_start, 1024);
	assert_int_equal(s.environ_end, 4096);
	assert_int_equal(parse("1 (x)", "0", "1", &s), 0);
	assert_int_equal(s.environ_end, UINT64_MAX);
}

TEST(a_zombie_is_recognised)
{
	static const char zombie[] = "1 (x) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 1";
	struct proc_stat s;

	assert_int_equal(parse("1 (x)", "0", "1", &s), 0);
	assert_false(s.ended);
	assert_int_equal(proc_stat_parse(zombie, strlen(zombie), &s), 0);
	assert_true(s.ended);
}

TEST(what_is_no_stat_is_refused)
{
	static const char *const bad[] = {
		"",
		"1",
		"1 (x)",
		"1 (x) S 1",
		")(",
		"1 x S 1 1 1 0 -1 0",
		"1 (x) S -1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 1",
		"1 (x) S 2147483648 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 1",
		"1 (x) S 1 1 1 0 -1 flags 0 0 0 0 0 0 0 0 20 0 1 0 77 1"};
	struct proc_stat s;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(proc_stat_parse(bad[i], strlen(bad[i]), &s), -EBADMSG);
	assert_int_equal(parse("1 (x)", "0", "", &s), -EBADMSG);
}

struct pids {
	pid_t wanted;
	unsigned n, n_wanted;
	int result; /* of the callback, at the wanted one */
};

static int count_pid(void *ctx, pid_t pid)
{
	struct pids *p = ctx;

	p->n++;
	if (pid != p->wanted)
		return 0;
	p->n_wanted++;
	return p->result;
}

TEST(each_process_is_listed_until_the_callback_stops)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct pids p = {.wanted = getpid()};

	assert_int_equal(procfs_each_pid(root, count_pid, &p), 0);
	assert_int_equal(p.n_wanted, 1);
	p.result = -ECANCELED;
	assert_int_equal(procfs_each_pid(root, count_pid, &p), -ECANCELED);
	assert_int_equal(p.n_wanted, 2);
	assert_int_equal(procfs_each_pid(-1, count_pid, &p), -EBADF);
}

TEST(reads_this_very_process)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = procfs_open_process(root, getpid());
	AUTO_FREE char *exe = NULL;
	struct proc_stat s;

	assert_true(fd >= 0);
	assert_int_equal(procfs_read_stat(fd, &s), 0);
	assert_string_equal(s.comm, "test_procfs");
	assert_int_equal(procfs_read_link(fd, "exe", &exe), 0);
	assert_non_null(strstr(exe, "/test_procfs"));
	assert_int_equal(procfs_open_process(root, 0), -ENOENT);
}

static uint64_t library_pages(int root_fd)
{
	uint64_t n = 0;

	assert_int_equal(procfs_read_library_pages(root_fd, getpid(), &n), 0);
	return n;
}

/* By which it is decided whether a process may have loaded another library. */
TEST(a_mapped_library_shows_in_the_size_of_a_process_and_data_does_not)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t before = library_pages(root), n;
	void *code, *data;

	assert_true(before > 0);
	data = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	assert_int_equal(library_pages(root), before);
	code = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, exe, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(library_pages(root), before + 1);
	/* as much as the library needed */
	assert_int_equal(munmap(data, page), 0);
	assert_int_equal(library_pages(root), before + 1);
	assert_int_equal(munmap(code, page), 0);
	assert_int_equal(munmap((char *)data + page, 63 * page), 0);
	assert_int_equal(library_pages(root), before);
	assert_int_equal(procfs_read_library_pages(root, 0, &n), -ENOENT);
}

TEST(what_is_no_statm_is_refused)
{
	static const char *const bad[] = {"", "1000 500 300 10 0 1001 0\n", "1000 500 300 10 0 100",
					  "x 500 300 10 0 100 0\n", "1000\n"};
	struct fake_proc proc;
	uint64_t n;

	fake_proc_begin(&proc);
	fake_proc_start(&proc, 5, FAKE_PROC_BEFORE, "a");
	assert_int_equal(procfs_read_library_pages(proc.root_fd, 5, &n), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		fake_proc_put_file(&proc, "5/statm", bad[i]);
		assert_int_equal(procfs_read_library_pages(proc.root_fd, 5, &n), -EBADMSG);
	}
	fake_proc_put_file(&proc, "5/statm", "1000 500 300 10 0 100 0\n");
	assert_int_equal(procfs_read_library_pages(proc.root_fd, 5, &n), 0);
	assert_int_equal(n, 900);
	fake_proc_end(&proc);
}

struct lines {
	unsigned n;
	unsigned stop_at;
	char first[256];
};

static int count_line(void *ctx, const char *line, size_t len)
{
	struct lines *l = ctx;

	if (l->n++ == 0)
		snprintf(l->first, sizeof(l->first), "%.*s", (int)len, line);
	return l->n == l->stop_at ? -ECANCELED : 0;
}

static int make_maps(const char *text, size_t len)
{
	int dir_fd, fd;

	dir_fd = open(temp_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dir_fd, "maps", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	return dir_fd;
}

TEST(lines_come_whole_however_the_text_is_read)
{
	const size_t n = 10000; /* many times the size of one read */
	AUTO_FREE char *text = malloc(n * 13);
	struct lines l = {0}, stopped = {.stop_at = 7};
	AUTO_CLOSE int fd = -1;

	for (size_t i = 0; i < n; i++)
		snprintf(text + i * 12, 13, "line %06zu\n", i);
	fd = make_maps(text, n * 12);
	assert_int_equal(procfs_each_map(fd, n * 12, count_line, &l), 0);
	assert_int_equal(l.n, n);
	assert_string_equal(l.first, "line 000000");
	assert_int_equal(procfs_each_map(fd, n * 12, count_line, &stopped), -ECANCELED);
	assert_int_equal(stopped.n, 7);
	assert_int_equal(procfs_each_map(fd, n * 12 - 1, count_line, &l), -EFBIG);
}

TEST(a_line_without_end_is_too_big)
{
	char text[100000];
	struct lines l = {0};
	AUTO_CLOSE int fd = -1;

	memset(text, 'x', sizeof(text));
	fd = make_maps(text, sizeof(text));
	assert_int_equal(procfs_each_map(fd, 1 << 20, count_line, &l), -EFBIG);
	assert_int_equal(l.n, 0);
}
