#include "node-agent/files/mapped_file.h"

#include <errno.h>

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
