#include "node-agent/files/pdb_file.h"

#include <errno.h>

#include "common/data/gzip.h"
#include "node-agent/files/debug_file.h"

void pdb_file_fini(struct pdb_file *f)
{
	free(f->bytes);
	if (f->has_fd)
		close(f->fd);
	*f = (struct pdb_file){.bytes = NULL};
}

/* ---- embedded ---- */

static int read_deflated(const struct pdb_query *q, uint8_t **ret)
{
	const struct pe_debug *d = q->debug;
	AUTO_FREE uint8_t *bytes = NULL;
	int r;

	if (d->embedded_bytes > q->max_bytes || d->embedded.size_bytes > q->max_bytes)
		return -EFBIG;
	bytes = malloc(d->embedded.size_bytes);
	if (!bytes)
		return -ENOMEM;
	r = pe_image_read(q->pe, q->image, d->embedded.rva, bytes, d->embedded.size_bytes);
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	*ret = TAKE_PTR(bytes);
	return 0;
}

static int open_embedded(struct pdb_file *f, const struct pdb_query *q)
{
	const struct pe_debug *d = q->debug;
	AUTO_FREE uint8_t *deflated = NULL;
	struct buf out;
	int r = read_deflated(q, &deflated);

	if (r < 0)
		return r;
	buf_init(&out, d->embedded_bytes);
	r = zlib_inflate(deflated, d->embedded.size_bytes, &out);
	if (r < 0) {
		buf_fini(&out);
		return r == -EFBIG ? -EBADMSG : r; /* it is larger than it says */
	}
	f->bytes = (uint8_t *)buf_take(&out, &f->n_bytes);
	byte_source_from_memory(&f->src, f->bytes, f->n_bytes);
	return portable_pdb_open(&f->pdb, &f->src, d->id);
}

/* ---- beside ---- */

static int open_beside(struct pdb_file *f, struct deadline_caller *caller,
		       const struct pdb_query *q)
{
	const struct pe_debug *d = q->debug;
	const struct debug_file_query query = {
		.proc_root = q->proc_root,
		.pid = q->pid,
		.start_time = q->start_time,
		.path = q->path,
		.sibling = d->name,
	};
	struct debug_file found;
	int r = d->name[0] ? debug_file_open(caller, &query, &found) : -ENOENT;

	if (r < 0)
		return r;
	f->fd = found.fd;
	f->has_fd = true;
	if (found.may_hang)
		byte_source_from_slow_fd(&f->src, f->fd, found.id.size_bytes, caller, found.id.dev);
	else
		byte_source_from_fd(&f->src, f->fd, found.id.size_bytes);
	return portable_pdb_open(&f->pdb, &f->src, d->id);
}

int pdb_file_open(struct pdb_file *ret, struct deadline_caller *caller, const struct pdb_query *q)
{
	struct pdb_file f = {.bytes = NULL};
	int r = q->debug->embedded.rva != 0 ? open_embedded(&f, q) : open_beside(&f, caller, q);

	if (r < 0) {
		pdb_file_fini(&f);
		return r;
	}
	*ret = f;
	return 0;
}
