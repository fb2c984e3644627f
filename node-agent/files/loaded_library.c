#include "node-agent/files/loaded_library.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include "node-agent/files/file_finder.h"
#include "node-agent/procfs/proc_maps.h"
#include "node-agent/procfs/procfs.h"

struct walk {
	int proc_fd;
	struct file_finder *finder;
	uint64_t dev, ino; /* of the previous line: a library's mappings are consecutive */

	/* listing */
	const struct file_id *exe;
	struct file_id *ids;
	size_t n, max;

	/* opening */
	const struct file_id *wanted; /* NULL when listing */
	struct loaded_library *opened;
};

static void add(struct walk *w, const struct file_id *id)
{
	if (file_id_same_file(id, w->exe))
		return;
	for (size_t i = 0; i < w->n; i++) {
		if (file_id_same_file(id, &w->ids[i]))
			return;
	}
	w->ids[w->n++] = *id;
}

/* Returns 1 if this is the wanted file and it is open, 0 if it is another one, or -errno. */
static int open_found(struct walk *w, const struct proc_map *m, const struct found_file *found)
{
	struct opened_file file;
	int r;

	if (!file_id_same_file(&found->id, w->wanted))
		return 0;
	r = file_finder_open(w->finder, w->proc_fd, found, &file);
	if (r < 0)
		return r == -ESTALE ? -ESRCH : r;
	*w->opened = (struct loaded_library){
		.fd = file.fd,
		.size_bytes = found->id.size_bytes,
		.may_hang = file.may_hang,
		.start = m->start,
		.file_offset = m->file_offset,
	};
	return 1;
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct found_file found;
	struct walk *w = ctx;
	struct proc_map m;
	int r = 0;

	if (!proc_map_is_executable(line, len) || proc_map_parse(line, len, &m) < 0 || m.ino == 0)
		return 0;
	if (m.ino == w->ino && makedev(m.dev_major, m.dev_minor) == w->dev)
		return 0;
	w->ino = m.ino;
	w->dev = makedev(m.dev_major, m.dev_minor);
	/* a file that cannot be found is skipped: the next scan may find it */
	if (file_finder_find(w->finder, w->proc_fd, &m, &found) < 0)
		return 0;
	if (found.regular && w->wanted)
		r = open_found(w, &m, &found);
	else if (found.regular)
		add(w, &found.id);
	closep(&found.path_fd);
	return r == 0 && !w->wanted && w->n == w->max ? 1 : r;
}

static int each_file(struct walk *w, struct deadline_caller *caller)
{
	CLEANUP(file_finder_freep) struct file_finder *finder = NULL;
	int r = file_finder_new_with(&finder, caller);

	if (r < 0)
		return r;
	w->finder = finder;
	r = procfs_each_map(w->proc_fd, LOADED_LIBRARY_MAPS_MAX_BYTES, on_line, w);
	return r == -ENOENT ? -ESRCH : r;
}

int loaded_library_list(int proc_fd, const struct file_id *exe, struct deadline_caller *caller,
			struct file_id *ids, size_t max)
{
	struct walk w = {.proc_fd = proc_fd, .exe = exe, .ids = ids, .max = max};
	int r = each_file(&w, caller);

	return r < 0 ? r : (int)w.n;
}

int loaded_library_open(int proc_fd, const struct file_id *id, struct deadline_caller *caller,
			struct loaded_library *ret)
{
	struct walk w = {.proc_fd = proc_fd, .wanted = id, .opened = ret};
	int r = each_file(&w, caller);

	return r < 0 ? r : r > 0 ? 0 : -ESRCH;
}

/* ---- mapped files ---- */

int mapped_file_new(struct mapped_file **ret, const struct file_id *id, int fd, const char *path,
		    size_t path_len)
{
	struct mapped_file *f = malloc(sizeof(*f) + path_len + 1);

	if (!f)
		return -ENOMEM;
	atomic_init(&f->refs, 1);
	f->fd = fd;
	f->may_hang = false;
	f->layered = false;
	atomic_init(&f->has_interpreter, false);
	atomic_init(&f->unknown_interpreter, 0);
	f->id = *id;
	if (path_len > 0)
		memcpy(f->path, path, path_len);
	f->path[path_len] = '\0';
	*ret = f;
	return 0;
}

struct mapped_file *mapped_file_ref(struct mapped_file *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

void mapped_file_unref(struct mapped_file *f)
{
	/* acquire: other owners' uses of f must come before it is freed */
	if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) > 1)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}
