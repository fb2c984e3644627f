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
 * programs come all the time, and most of them exit before they can be read, so that a file which
 * one of them left open is what gives the others their names. A sweep every few seconds closes
 * what has not been used for KEEP_NS; not later, because an open file keeps its file system from
 * being unmounted.
 */
#include "node-agent/files/file_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

#include "common/data/table.h"
#include "common/elf/elf_layout.h"
#include "common/system/clock.h"
#include "node-agent/files/file_finder.h"
#include "node-agent/files/jit_files.h"
#include "node-agent/procfs/procfs.h"

#define KEEP_NS (30 * NS_PER_S)
#define MISSING_SLOTS 256 /* a power of two */
#define MISSING_NS (10 * NS_PER_S)

enum text_state {
	TEXT_UNREAD,
	TEXT_READ,
	TEXT_NONE, /* the file is not a program */
};

struct entry {
	UT_hash_handle hh;       /* by file->id */
	UT_hash_handle by_inode; /* by inode, if it is known to differ from file->id */
	struct file_id inode;    /* ino 0: not known */
	struct mapped_file *file;
	uint64_t used_ns; /* by the clock of sweeps; 0: before the first one */
	enum text_state text_state;
	struct file_text text;
	bool over_limit; /* not opened because of max_open; retried */
	bool hung;       /* not opened in time; retried */
};

/* A file that could not be found lately. */
struct missing {
	struct file_id inode;
	uint64_t until_ns;
};

struct file_registry {
	struct entry *entries;
	struct entry *inodes;
	struct file_finder *finder;
	uint64_t now_ns; /* of the last sweep */
	struct missing missing[MISSING_SLOTS];
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

static void forget_inode(struct file_registry *r, struct entry *e)
{
	if (e->inode.ino != 0)
		HASH_DELETE(by_inode, r->inodes, e);
	e->inode.ino = 0;
}

static void drop(struct file_registry *r, struct entry *e)
{
	forget_inode(r, e);
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

struct deadline_caller *file_registry_caller(struct file_registry *r)
{
	return file_finder_caller(r->finder);
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
	e->used_ns = r->now_ns;
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
	(*ret)->file->layered = opened->layered;
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
	e->used_ns = r->now_ns;
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
	/* it grows while it is mapped, and stays the same file */
	if (jit_files_is_dump(m->path, m->path_len))
		found.id.size_bytes = found.id.mtime_ns = 0;
	result = found.regular ? get_found(r, proc_fd, m, &found, ret) : 0;
	closep(&found.path_fd);
	return result;
}

/* ---- by inode ---- */

static struct entry *find_entry(const struct file_registry *r, const struct file_id *id)
{
	struct entry *e;

	HASH_FIND(hh, r->entries, id, sizeof(*id), e);
	return e;
}

static struct entry *find_by_inode(const struct file_registry *r, const struct file_id *inode)
{
	struct entry *e = find_entry(r, inode);

	if (!e)
		HASH_FIND(by_inode, r->inodes, inode, sizeof(*inode), e);
	return e;
}

void file_registry_learn(struct file_registry *r, struct mapped_file *file,
			 const struct file_id *inode)
{
	struct entry *e = find_entry(r, &file->id);

	if (!e || inode->ino == 0 || find_by_inode(r, inode) == e ||
	    inode->size_bytes != file->id.size_bytes || inode->mtime_ns != file->id.mtime_ns)
		return;
	forget_inode(r, e);
	e->inode = *inode;
	HASH_ADD(by_inode, r->inodes, inode, sizeof(e->inode), e);
	if (!TABLE_ADDED(by_inode, e))
		e->inode.ino = 0;
}

struct mapped_file *file_registry_find(struct file_registry *r, const struct file_id *inode)
{
	struct entry *e = find_by_inode(r, inode);

	if (!e)
		return NULL;
	e->used_ns = r->now_ns;
	return e->file;
}

/* ---- by path ---- */

static struct missing *missing_slot(struct file_registry *r, const struct file_id *inode)
{
	return &r->missing[table_hash(inode, sizeof(*inode)) & (MISSING_SLOTS - 1)];
}

bool file_registry_is_missing(struct file_registry *r, const struct file_id *inode)
{
	const struct missing *m = missing_slot(r, inode);

	return file_id_equal(&m->inode, inode) && r->now_ns < m->until_ns;
}

void file_registry_note_missing(struct file_registry *r, const struct file_id *inode)
{
	*missing_slot(r, inode) = (struct missing){*inode, r->now_ns + MISSING_NS};
}

/* The path of an open file in the mount namespace it was opened in, as maps would have it. */
static char *path_of_fd(int fd)
{
	AUTO_CLOSE int self = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[32], *path;

	if (self < 0)
		return NULL;
	snprintf(name, sizeof(name), "%d", fd);
	return procfs_read_link(self, name, &path) == 0 ? path : NULL;
}

int file_registry_open(struct file_registry *r, int proc_fd, const char *path,
		       const struct file_version *inode, struct mapped_file **ret)
{
	CLEANUP(mapped_file_unrefp) struct mapped_file *file = NULL;
	struct proc_map named = {.path = path};
	AUTO_FREE char *resolved = NULL;
	struct found_file found;
	int result;

	result = file_finder_find_path(r->finder, proc_fd, path, inode, &found);
	if (result < 0)
		return result;
	resolved = path_of_fd(found.path_fd);
	if (resolved)
		named.path = resolved;
	named.path_len = strlen(named.path);
	result = found.regular ? get_found(r, proc_fd, &named, &found, &file) : -ENOENT;
	closep(&found.path_fd);
	if (result < 0)
		return result;
	file_registry_learn(r, file, &inode->id);
	*ret = file; /* the registry's own reference keeps it */
	return 0;
}

void file_registry_source(struct file_registry *r, const struct mapped_file *file,
			  struct byte_source *ret)
{
	if (file->may_hang)
		byte_source_from_slow_fd(ret, file->fd, file->id.size_bytes,
					 file_finder_caller(r->finder), file->id.dev);
	else
		byte_source_from_fd(ret, file->fd, file->id.size_bytes);
}

static void add_segments(struct file_text *text, const struct elf_layout *l, bool executable)
{
	for (size_t i = 0; i < l->n_segments && text->n_loaded < FILE_TEXT_SEGMENTS_MAX; i++) {
		const struct elf_segment *s = &l->segments[i];

		if (s->executable == executable)
			text->segments[text->n_loaded++] =
				(struct file_segment){s->vaddr, s->offset, s->file_bytes};
	}
}

static int read_text(struct file_registry *r, const struct mapped_file *file, struct file_text *ret)
{
	struct byte_source src;
	struct elf_layout layout;
	int result;

	file_registry_source(r, file, &src);
	result = elf_layout_parse(&layout, &src);
	if (result < 0)
		return result;
	*ret = (struct file_text){.relocatable = layout.relocatable};
	add_segments(ret, &layout, true);
	ret->n_segments = ret->n_loaded;
	add_segments(ret, &layout, false);
	return ret->n_segments > 0 ? 0 : -ENOEXEC;
}

int file_registry_text(struct file_registry *r, struct mapped_file *file,
		       const struct file_text **ret)
{
	struct entry *e = find_entry(r, &file->id);
	int result;

	if (!e || e->text_state == TEXT_NONE)
		return -ENOEXEC;
	if (e->text_state == TEXT_UNREAD) {
		if (e->file->fd < 0)
			return -EBADF;
		result = read_text(r, e->file, &e->text);
		/* anything else may pass: a file system that does not answer */
		if (result == -ENOEXEC || result == -EBADMSG)
			e->text_state = TEXT_NONE;
		if (result < 0)
			return result;
		e->text_state = TEXT_READ;
	}
	*ret = &e->text;
	return 0;
}

bool file_registry_keep_program(struct file_registry *r, struct mapped_file *file)
{
	const struct file_text *text;
	struct mapped_file *closed;
	struct entry *e;

	if (file_registry_text(r, file, &text) != -ENOEXEC)
		return true;
	e = find_entry(r, &file->id);
	if (!e || e->file->fd < 0 ||
	    mapped_file_new(&closed, &file->id, -1, file->path, strlen(file->path)) < 0)
		return false;
	/* the key of the entry is in its file */
	HASH_DEL(r->entries, e);
	mapped_file_unref(e->file);
	e->file = closed;
	r->stats.n_open--;
	HASH_ADD_KEYPTR(hh, r->entries, &closed->id, sizeof(closed->id), e);
	if (!TABLE_ADDED(hh, e)) {
		forget_inode(r, e);
		r->stats.n_files--;
		mapped_file_unref(closed);
		free(e);
	}
	return false;
}

void file_registry_sweep(struct file_registry *r, uint64_t now_ns)
{
	/* the rest is for files that are in use */
	bool many_open = r->stats.n_open > r->max_open / 2;
	struct entry *e, *next;

	r->now_ns = now_ns;
	/* Only this thread makes references to a file that no snapshot has, so 1 stays 1. */
	for (e = r->entries; e; e = next) {
		next = e->hh.next;
		if (atomic_load_explicit(&e->file->refs, memory_order_acquire) > 1 ||
		    e->used_ns == 0)
			e->used_ns = now_ns;
		else if (many_open || now_ns - e->used_ns >= KEEP_NS)
			drop(r, e);
	}
}

void file_registry_read_stats(const struct file_registry *r, struct file_registry_stats *ret)
{
	*ret = r->stats;
}
