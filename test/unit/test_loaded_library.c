#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "node-agent/files/loaded_library.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/workload.h"
#include "test/lib/unit.h"

#define KEYS 256u

/* A child of this program, which has loaded the same files, the C library among them. */
struct fixture {
	pid_t child;
	const char *root; /* a /proc with that process only */
	int root_fd;
	int proc_fd;
	struct program_target_files files;
	struct program_id id;
	struct file_id libc;
	uint64_t libc_start;
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
	f->root = temp_dir();
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

TEST(test_each_mapped_file_is_listed_once_but_the_executable)
{
	struct file_id keys[KEYS];
	unsigned n_libc = 0;
	struct fixture f;
	int n;

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

TEST(test_a_library_is_opened_with_where_it_lies)
{
	CLEANUP(workload_unrefp) struct workload *workload = NULL;
	char magic[4] = "";
	struct program_target t;
	struct fixture f;

	begin(&f);
	f.id.library = f.libc;
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	assert_int_equal(t.bias, f.libc_start);
	assert_int_equal(byte_source_read(&t.memory, t.bias, magic, sizeof(magic)), 0);
	assert_memory_equal(magic, "\177ELF", sizeof(magic));
	assert_true(
		elf_layout_is_text(&t.layout, (uint64_t)(uintptr_t)gnu_get_libc_version - t.bias));
	assert_int_equal(program_target_reason(&t, &f.id, -ENODATA), -EBADMSG);
	assert_int_equal(workload_read(&workload, t.proc_fd, &(struct workload_facts){0}), 0);
	assert_non_null(strstr(workload->service,
			       "test_loaded_library")); /* it is the program's all the same */
	program_target_close(&t);
	end(&f);
}

TEST(test_what_is_not_mapped_is_not_opened)
{
	struct program_target t;
	struct fixture f;

	begin(&f);
	f.id.library = f.libc;
	f.id.library.ino++;
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	assert_int_equal(program_target_open_file(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	f.id.library = f.libc;
	f.id.exe.ino++; /* another program, which has loaded the same library */
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), -ESRCH);
	end(&f);
}

/* ---- without memory ---- */

static int list_anew(void *arg)
{
	struct file_id keys[KEYS];
	struct fixture *f = arg;
	int r = loaded_library_list(f->proc_fd, &f->id.exe, f->files.caller, keys, KEYS);

	return r < 0 ? r : 0;
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	begin(&f);
	check_oom(list_anew, &f);
	end(&f);
}
