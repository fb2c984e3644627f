#include "node-agent/unwind/debug_cfi.h"

#include <errno.h>

#include "node-agent/elf/elf_debug_link.h"

void debug_cfi_free(struct debug_cfi *d)
{
	if (!d)
		return;
	closep(&d->file.fd);
	free(d);
}

static int find(struct debug_cfi *d, const struct debug_cfi_query *q,
		const struct elf_layout *layout, const struct byte_source *src)
{
	struct debug_file_query query = {
		.proc_root = q->proc_root,
		.pid = q->pid,
		.start_time = q->start_time,
		.path = q->path,
		.layout = layout,
	};
	struct elf_debug_link link;
	int r = elf_debug_link_read(layout, src, &link);

	if (r == 0)
		query.link = &link;
	else if (r != -ENOENT)
		return r;
	return debug_file_open(q->caller, &query, &d->file);
}

int debug_cfi_open(struct debug_cfi **ret, const struct debug_cfi_query *q,
		   const struct elf_layout *layout, const struct byte_source *src)
{
	CLEANUP(debug_cfi_freep) struct debug_cfi *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->file.fd = -1;
	r = find(d, q, layout, src);
	if (r < 0)
		return r;
	if (d->file.may_hang)
		byte_source_from_slow_fd(&d->src, d->file.fd, d->file.id.size_bytes, q->caller,
					 d->file.id.dev);
	else
		byte_source_from_fd(&d->src, d->file.fd, d->file.id.size_bytes);
	r = elf_layout_parse_debug(&d->layout, &d->src);
	if (r < 0)
		return r;
	if (d->layout.sections[ELF_SECTION_DEBUG_FRAME].size_bytes == 0)
		return -ENOENT;
	*ret = TAKE_PTR(d);
	return 0;
}
