#include "test/lib/fake_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "test/lib/unit.h"

void fake_proc_begin(struct fake_proc *f)
{
	*f = (struct fake_proc){.root = temp_dir()};
	f->root_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root_fd >= 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void fake_proc_end(struct fake_proc *f)
{
	close(f->root_fd);
	assert_int_equal(nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void fake_proc_put_file(struct fake_proc *f, const char *name, const char *text)
{
	int fd = openat(f->root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* What the process executes; the file is made when it is not there. */
void fake_proc_execute(struct fake_proc *f, unsigned pid, const char *exe)
{
	char link[32], target[64];

	(void)snprintf(link, sizeof(link), "%u/exe", pid);
	(void)snprintf(target, sizeof(target), "../%s", exe);
	(void)unlinkat(f->root_fd, link, 0);
	assert_int_equal(symlinkat(target, f->root_fd, link), 0);
	if (faccessat(f->root_fd, exe, F_OK, 0) < 0 && errno == ENOENT)
		fake_proc_put_file(f, exe, exe);
}

void fake_proc_put_stat(struct fake_proc *f, unsigned pid, uint64_t start_time, unsigned flags)
{
	char name[32], text[256];

	(void)snprintf(name, sizeof(name), "%u/stat", pid);
	(void)snprintf(text, sizeof(text),
		       "%u (x) S 1 1 1 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0\n", pid, flags,
		       (unsigned long long)start_time);
	fake_proc_put_file(f, name, text);
}

void fake_proc_start(struct fake_proc *f, unsigned pid, uint64_t start_time, const char *exe)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%u", pid);
	assert_int_equal(mkdirat(f->root_fd, name, 0700), 0);
	fake_proc_put_stat(f, pid, start_time, 0);
	fake_proc_execute(f, pid, exe);
}

/* Its folder stays under another name, so that no other one gets its inode. */
void fake_proc_stop(struct fake_proc *f, unsigned pid)
{
	char name[32], stopped[32];

	(void)snprintf(name, sizeof(name), "%u", pid);
	(void)snprintf(stopped, sizeof(stopped), "stopped.%u", f->n_stopped++);
	assert_int_equal(renameat(f->root_fd, name, f->root_fd, stopped), 0);
}
