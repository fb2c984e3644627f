/*
 * Files are opened when a process is first read, not when symbols are needed: by then the
 * process may have exited, taking the mount namespace and the only way to the file with it. A
 * node has far fewer distinct files than mappings (everybody maps libc), so keeping them open
 * is cheap, up to max_open.
 *
 * A file that cannot be opened is remembered too, with fd -1, so that each is tried and
 * counted once; only a full registry and a hanging file system are reasons to try again, as
 * both pass. A file that cannot even be found is known by the device and inode in the text of
 * maps alone, without size and mtime.
 *
 * Files are not closed when the last snapshot releases them: short-lived processes of the same
 * programs come all the time. A sweep every few seconds closes what is unused.
 */
#include "node-agent/process/file_registry.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include "common/data/table.h"
#include "node-agent/process/file_finder.h"

struct entry {
	UT_hash_handle hh; /* by file->id */
	struct mapped_file *file;
	bool over_limit; /* not opened because of max_open; retried */
	bool hung;       /* not opened in time; retried */
};

struct file_registry {
	struct entry *entries;
	struct file_finder *finder;
	size_t max_open;
	struct file_registry_stats stats;
};

int file_registry_new(struct file_registry **ret, size_t max_open)
{
	CLEANUP(file_registry_freep) struct file_registry *r = calloc(1, sizeof(*r));

	if (!r || file_finder_new(&r->finder) < 0)
		return -ENOMEM;
	r->max_open = max_open;
	*ret = TAKE_PTR(r);
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
	file_finder_free(r->finder);
	free(r);
}

/* Takes over fd_adopt, on failure too. */
static int add(struct file_registry *r, const struct file_id *id, int fd_adopt,
	       const struct proc_map *m, struct entry **ret)
{
	CLEANUP(mapped_file_unrefp) struct mapped_file *file = NULL;
	AUTO_FREE struct entry *e = NULL;
	AUTO_CLOSE int fd = fd_adopt;

	e = calloc(1, sizeof(*e));
	if (!e || mapped_file_new(&file, id, fd, m->path, m->path_len) < 0)
		return -ENOMEM;
	(void)TAKE_FD(fd); /* owned by the file */
	e->file = file;
	HASH_ADD_KEYPTR(hh, r->entries, &file->id, sizeof(file->id), e);
	if (!TABLE_ADDED(hh, e))
		return -ENOMEM;
	r->stats.n_files++;
	r->stats.n_open += file->fd >= 0;
	(void)TAKE_PTR(file);
	*ret = TAKE_PTR(e);
	return 0;
}

static int add_found(struct file_registry *r, const struct proc_map *m,
		     const struct found_file *found, const struct opened_file *opened,
		     int open_error, struct entry **ret)
{
	int result = add(r, &found->id, opened->fd, m, ret);

	if (result < 0)
		return result;
	(*ret)->file->may_hang = opened->may_hang;
	(*ret)->over_limit = open_error == -EMFILE;
	(*ret)->hung = open_error == -ETIMEDOUT || open_error == -EBUSY;
	r->stats.over_limit += (*ret)->over_limit;
	r->stats.hung += (*ret)->hung;
	r->stats.unopened += open_error < 0 && !(*ret)->over_limit && !(*ret)->hung;
	return 0;
}

static int get_found(struct file_registry *r, int proc_fd, const struct proc_map *m,
		     const struct found_file *found, struct mapped_file **ret)
{
	struct opened_file opened = {.fd = -1};
	int result, open_error = 0;
	struct entry *e;

	HASH_FIND(hh, r->entries, &found->id, sizeof(found->id), e);
	if (!e || e->hung || e->over_limit)
		open_error = r->stats.n_open < r->max_open
				     ? file_finder_open(r->finder, proc_fd, found, &opened)
				     : -EMFILE;
	if (open_error == -ENOMEM)
		return open_error;
	if (e && opened.fd >= 0) {
		/* files are immutable: earlier snapshots keep the one that is not open */
		drop(r, e);
		e = NULL;
	}
	if (!e) {
		result = add_found(r, m, found, &opened, open_error, &e);
		if (result < 0)
			return result;
	}
	*ret = mapped_file_ref(e->file);
	return 0;
}

/* A file that cannot be found is identified by the text of maps. */
static int get_unfound(struct file_registry *r, const struct proc_map *m, struct mapped_file **ret)
{
	struct file_id id = {.dev = makedev(m->dev_major, m->dev_minor), .ino = m->ino};
	struct entry *e;
	int result;

	HASH_FIND(hh, r->entries, &id, sizeof(id), e);
	if (!e) {
		result = add(r, &id, -1, m, &e);
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
	struct found_file found;
	int result;

	result = file_finder_find(r->finder, proc_fd, m, &found);
	if (result < 0)
		return result == -ENOMEM ? result : get_unfound(r, m, ret);
	*ret = NULL;
	result = found.regular ? get_found(r, proc_fd, m, &found, ret) : 0;
	closep(&found.path_fd);
	return result;
}

void file_registry_sweep(struct file_registry *r)
{
	struct entry *e, *next;

	/* Only this thread makes references to a file that no snapshot has, so 1 stays 1. */
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
