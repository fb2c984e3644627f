#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/target/program_target.h"
#include "node-agent/workload/workload.h"
#include "test/lib/unit.h"

struct fixture {
	pid_t child;
	int say[2]; /* closing the second end makes the child execute something else */
	int root_fd;
	struct program_target_files files;
	struct program_id id;
	uint64_t secret;
};

static struct program_id id_of(int root_fd, pid_t pid)
{
	AUTO_CLOSE int fd = procfs_open_process(root_fd, pid);
	struct program_id id = {.pid = pid};
	struct proc_stat st;

	assert_true(fd >= 0);
	assert_int_equal(procfs_read_stat(fd, &st), 0);
	assert_int_equal(procfs_read_exe_id(fd, &id.exe), 0);
	id.start_time = st.start_time;
	return id;
}

static void begin(struct fixture *f)
{
	char byte;

	f->secret = 0x1234567890abcdef;
	assert_int_equal(pipe2(f->say, O_CLOEXEC), 0);
	f->child = fork();
	if (f->child == 0) {
		close(f->say[1]);
		if (read(f->say[0], &byte, 1) == 0)
			execl("/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	assert_true(f->child > 0);
	f->root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(deadline_caller_new(&f->files.caller, UINT64_C(60000000000), 1), 0);
	assert_int_equal(program_file_cache_new(&f->files.cache), 0);
	f->id = id_of(f->root_fd, f->child);
}

static void end(struct fixture *f)
{
	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
	close(f->say[0]);
	if (f->say[1] >= 0)
		close(f->say[1]);
	program_file_cache_free(f->files.cache);
	deadline_caller_free(f->files.caller);
	close(f->root_fd);
}

static void execute_something_else(struct fixture *f)
{
	struct program_id now;

	close(f->say[1]);
	f->say[1] = -1;
	for (int i = 0; i < 1000; i++) {
		now = id_of(f->root_fd, f->child);
		if (now.exe.ino != f->id.exe.ino)
			return;
		usleep(10000);
	}
	fail();
}

/* The link to the new file appears before the kernel has finished execve(2): until then -ESRCH. */
static void open_when_started(struct fixture *f, struct program_target *ret)
{
	int r = program_target_open(ret, f->root_fd, &f->id, &f->files);

	for (int i = 0; r == -ESRCH && i < 1000; i++) {
		usleep(10000);
		r = program_target_open(ret, f->root_fd, &f->id, &f->files);
	}
	assert_int_equal(r, 0);
}

TEST(test_memory_and_file_of_a_process_are_read)
{
	CLEANUP(workload_unrefp) struct workload *workload = NULL;
	struct program_target t;
	struct fixture f;
	uint64_t got = 0;

	begin(&f);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	assert_int_equal(
		byte_source_read(&t.memory, (uint64_t)(uintptr_t)&f.secret, &got, sizeof(got)), 0);
	assert_int_equal(got, f.secret);
	/* it is this very program: its code lies bias after where the file says */
	assert_true(elf_layout_is_text(&t.layout, (uint64_t)(uintptr_t)id_of - t.bias));
	assert_int_equal(workload_read(&workload, t.proc_fd, &(struct workload_facts){0}), 0);
	assert_true(workload->service[0] == '/');
	program_target_close(&t);
	end(&f);
}

TEST(test_a_child_is_a_copy_until_it_executes_something)
{
	struct program_target t;
	struct fixture f;

	begin(&f);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	assert_true(program_target_is_copy(&t, f.root_fd));
	t.image++; /* as after an execve(2) */
	assert_false(program_target_is_copy(&t, f.root_fd));
	program_target_close(&t);
	execute_something_else(&f);
	f.id = id_of(f.root_fd, f.child);
	open_when_started(&f, &t);
	assert_false(program_target_is_copy(&t, f.root_fd));
	t.stat.parent = 0;
	assert_false(program_target_is_copy(&t, f.root_fd));
	program_target_close(&t);
	end(&f);
}

TEST(test_a_process_of_another_time_namespace_has_another_clock)
{
	const char *dir = temp_dir();
	char path[64];
	struct program_target t;
	struct fixture f;
	AUTO_CLOSE int fd = -1;

	begin(&f);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	assert_true(program_target_shares_clock(&t));
	program_target_close(&t);
	end(&f);

	t.proc_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(program_target_shares_clock(&t)); /* a kernel without them */
	assert_int_equal(mkdirat(t.proc_fd, "ns", 0700), 0);
	fd = openat(t.proc_fd, "ns/time", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_false(program_target_shares_clock(&t));
	assert_int_equal(unlinkat(t.proc_fd, "ns/time", 0), 0);
	close(t.proc_fd);
	snprintf(path, sizeof(path), "%s/ns", dir);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

TEST(test_a_process_that_exited_has_no_memory)
{
	struct program_target t;
	struct fixture f;
	uint64_t got;

	begin(&f);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	kill(f.child, SIGKILL);
	waitpid(f.child, NULL, 0);
	assert_int_equal(
		byte_source_read(&t.memory, (uint64_t)(uintptr_t)&f.secret, &got, sizeof(got)),
		-ENODATA);
	program_target_close(&t);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	end(&f);
}

TEST(test_a_process_that_called_execve_is_another)
{
	struct program_target t;
	struct fixture f;
	uint64_t got;

	begin(&f);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	execute_something_else(&f);
	assert_int_equal(
		byte_source_read(&t.memory, (uint64_t)(uintptr_t)&f.secret, &got, sizeof(got)),
		-ENODATA);
	program_target_close(&t);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	end(&f);
}

TEST(test_another_process_with_the_same_pid_is_rejected)
{
	struct program_id earlier;
	struct program_target t;
	struct fixture f;

	begin(&f);
	earlier = f.id;
	earlier.start_time--;
	assert_int_equal(program_target_open(&t, f.root_fd, &earlier, &f.files), -ESRCH);
	end(&f);
}

/* ---- the file cache ---- */

static size_t count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static struct file_version own_version(void)
{
	struct file_version version;

	assert_int_equal(file_version_read(AT_FDCWD, "/proc/self/exe", &version, NULL), 0);
	return version;
}

TEST(test_headers_of_a_cached_file_are_not_parsed_again)
{
	struct file_version file = own_version();
	struct program_file_facts other = {0};
	struct program_target t;
	struct fixture f;

	begin(&f);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	program_target_close(&t);
	assert_non_null(program_file_cache_find(f.files.cache, &file));

	program_file_cache_free(f.files.cache);
	assert_int_equal(program_file_cache_new(&f.files.cache), 0);
	other.layout = t.layout;
	other.layout.text_start++; /* a value that can come from the cache only */
	assert_int_equal(program_file_cache_add(f.files.cache, &file, &other), 0);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	assert_int_equal(t.layout.text_start, other.layout.text_start);
	assert_int_equal(t.file.size_bytes, file.id.size_bytes);
	program_target_close(&t);
	end(&f);
}

TEST(test_headers_of_a_touched_file_are_parsed_again)
{
	struct file_version file = own_version();
	struct program_file_facts other = {0};
	struct program_target t;
	struct fixture f;
	struct stat st;

	begin(&f);
	assert_int_equal(program_file_cache_add(f.files.cache, &file, &other), 0);
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	assert_int_equal(chmod("/proc/self/exe", st.st_mode & 07777),
			 0); /* unchanged, but it sets ctime */
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	assert_true(elf_layout_is_text(&t.layout, (uint64_t)(uintptr_t)id_of - t.bias));
	program_target_close(&t);
	end(&f);
}

TEST(test_a_cached_file_is_opened_without_another_thread)
{
	size_t n_threads = count_threads();
	struct file_version file = own_version();
	struct program_file_facts known = {0};
	struct program_target t;
	struct fixture f;

	begin(&f);
	assert_int_equal(program_file_cache_add(f.files.cache, &file, &known), 0);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	program_target_close(&t);
	assert_int_equal(count_threads(), n_threads);
	f.id.start_time--;
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	f.id.start_time++;
	f.id.exe.ino++; /* the process that is meant executes another file */
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	end(&f);
}
