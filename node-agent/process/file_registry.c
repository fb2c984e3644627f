/*
 * Opening a file of another process. /proc/<pid>/map_files/<range> leads to
 * the very file that is mapped, deleted or replaced or not, but needs
 * CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. Without, the path is looked up below
 * the process's root, symbolic links included, and what is found must be the
 * file of the mapping by device and inode. Nothing but regular files is ever
 * opened: opening a device or a pipe can have effects.
 */
#include "node-agent/process/file_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/table.h"

#define PATH_BYTES 4096

struct entry {
	UT_hash_handle hh; /* by file->key */
	struct mapped_file *file;
	bool over_limit; /* not opened for max_open: worth another try */
};

struct file_registry {
	struct entry *entries;
	size_t max_open;
	struct file_registry_stats stats;
};

/* Where a file was found: its attributes, and how to open it. */
struct found {
	struct stat st;
	int path_fd;       /* O_PATH, or -1: by map_files */
	char map_name[64]; /* below /proc/<pid> */
};

int file_registry_new(struct file_registry **ret, size_t max_open)
{
	struct file_registry *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->max_open = max_open;
	*ret = r;
	return 0;
}

static void drop(struct file_registry *r, struct entry *e)
{
	HASH_DEL(r->entries, e);
	r->stats.n_files--;
	r->stats.n_open -= e->file->fd >= 0;
	mapped_file_unref(e->file);
	free(e);
}

void file_registry_free(struct file_registry *r)
{
	struct entry *e, *next;

	if (!r)
		return;
	for (e = r->entries; e; e = next) {
		next = e->hh.next;
		drop(r, e);
	}
	free(r);
}

static int open_below_root(int proc_fd, const struct proc_map *m)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	AUTO_CLOSE int root_fd = -1;
	char path[PATH_BYTES];

	if (m->deleted || m->path_len >= sizeof(path))
		return -ENOENT;
	memcpy(path, m->path, m->path_len);
	path[m->path_len] = '\0';
	root_fd = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

static int find(int proc_fd, const struct proc_map *m, struct found *ret)
{
	AUTO_CLOSE int fd = -1;

	ret->path_fd = -1;
	snprintf(ret->map_name, sizeof(ret->map_name), "map_files/%llx-%llx",
		 (unsigned long long)m->start, (unsigned long long)m->end);
	if (fstatat(proc_fd, ret->map_name, &ret->st, 0) == 0)
		return 0;

	fd = open_below_root(proc_fd, m);
	if (fd < 0 || fstat(fd, &ret->st) < 0)
		return -ENOENT;
	if (ret->st.st_ino != m->ino || ret->st.st_dev != makedev(m->dev_major, m->dev_minor))
		return -ENOENT;
	ret->path_fd = TAKE_FD(fd);
	return 0;
}

static struct mapped_file_key key_of(const struct stat *st)
{
	return (struct mapped_file_key){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size_bytes = (uint64_t)st->st_size,
		.mtime_ns = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec,
	};
}

/* -1 when it cannot be opened or is not what was found any more. */
static int open_found(int proc_fd, const struct found *f)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	AUTO_CLOSE int fd = -1;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->path_fd);
	fd = f->path_fd >= 0 ? open(path, flags) : openat(proc_fd, f->map_name, flags);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != f->st.st_ino || st.st_dev != f->st.st_dev)
		return -1;
	return TAKE_FD(fd);
}

/* Takes fd in any case. */
static int add(struct file_registry *r, const struct mapped_file_key *key, int fd_adopt,
	       const struct proc_map *m, struct entry **ret)
{
	CLEANUP(mapped_file_unrefp) struct mapped_file *file = NULL;
	AUTO_FREE struct entry *e = NULL;
	AUTO_CLOSE int fd = fd_adopt;

	e = calloc(1, sizeof(*e));
	if (!e || mapped_file_new(&file, key, fd, m->path, m->path_len) < 0)
		return -ENOMEM;
	(void)TAKE_FD(fd); /* the file's now */
	e->file = file;
	HASH_ADD_KEYPTR(hh, r->entries, &file->key, sizeof(file->key), e);
	if (!TABLE_ADDED(hh, e))
		return -ENOMEM;
	r->stats.n_files++;
	r->stats.n_open += file->fd >= 0;
	(void)TAKE_PTR(file);
	*ret = TAKE_PTR(e);
	return 0;
}

static int get_found(struct file_registry *r, int proc_fd, const struct proc_map *m,
		     const struct found *f, struct mapped_file **ret)
{
	struct mapped_file_key key = key_of(&f->st);
	bool room = r->stats.n_open < r->max_open;
	struct entry *e;
	int fd, result;

	HASH_FIND(hh, r->entries, &key, sizeof(key), e);
	if (e && e->over_limit && room) {
		drop(r, e);
		e = NULL;
	}
	if (!e) {
		fd = room ? open_found(proc_fd, f) : -1;
		result = add(r, &key, fd, m, &e);
		if (result < 0)
			return result;
		e->over_limit = !room;
		r->stats.over_limit += !room;
		r->stats.unopened += room && fd < 0;
	}
	*ret = mapped_file_ref(e->file);
	return 0;
}

/* Known by name alone: by what the maps text says of it. */
static int get_unfound(struct file_registry *r, const struct proc_map *m, struct mapped_file **ret)
{
	struct mapped_file_key key = {.dev = makedev(m->dev_major, m->dev_minor), .ino = m->ino};
	struct entry *e;
	int result;

	HASH_FIND(hh, r->entries, &key, sizeof(key), e);
	if (!e) {
		result = add(r, &key, -1, m, &e);
		if (result < 0)
			return result;
		r->stats.unopened++;
	}
	*ret = mapped_file_ref(e->file);
	return 0;
}

int file_registry_get(struct file_registry *r, int proc_fd, const struct proc_map *m,
		      struct mapped_file **ret)
{
	struct found f;
	int result;

	if (find(proc_fd, m, &f) < 0)
		return get_unfound(r, m, ret);
	*ret = NULL;
	result = S_ISREG(f.st.st_mode) ? get_found(r, proc_fd, m, &f, ret) : 0;
	closep(&f.path_fd);
	return result;
}

void file_registry_sweep(struct file_registry *r)
{
	struct entry *e, *next;

	/* Only we make references to a file that no snapshot has, so 1 stays 1. */
	for (e = r->entries; e; e = next) {
		next = e->hh.next;
		if (atomic_load_explicit(&e->file->refs, memory_order_acquire) == 1)
			drop(r, e);
	}
}

void file_registry_read_stats(const struct file_registry *r, struct file_registry_stats *ret)
{
	*ret = r->stats;
}
