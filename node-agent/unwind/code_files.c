/*
 * A file is examined once and then known by its identity. What a walk finds it by has the time of
 * change (ctime) besides, which no one but the kernel sets: a file that is changed in place, with
 * its time of modification restored, must not be unwound by the table of its old content. So that
 * time is read again now and then, and a file that has another one is examined again.
 *
 * The digest of a compiler or browser takes a tenth of a second. So such a file is known by its
 * identity at first, as if no other had the same content, and its table is made at once.
 *
 * Files are hidden from walks before the index of their table can be reused, and a walk that found
 * one just before ends within the grace period of the index.
 */
#include "node-agent/unwind/code_files.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/unwind/cfi/cfi_digest.h"
#include "node-agent/unwind/cfi/cfi_dotnet.h"
#include "node-agent/unwind/cfi/cfi_table.h"

/* One element of unwind_files is for the vDSO. */
#define FILES_MAX (UNWIND_FILES - 1u)
#define CHECK_NS (10 * NS_PER_S) /* how long a time of change is believed */
#define KERNEL_DEV_MINOR_BITS 20 /* of dev_t in the kernel */
#define LAYER_INO_BITS 54        /* of inode numbers in a layer */

/*
 * A file that changed so lately has no digest: what is read of it may change once more without
 * another time of change, which is as fine as a tick.
 */
#define SETTLED_NS (50 * NS_PER_MS)
#define NO_DIGEST UINT64_MAX /* sum[0] */

struct code_file {
	UT_hash_handle hh; /* in the order of last use */
	struct file_id id;
	uint64_t ctime_ns;
	uint64_t checked_ns; /* when ctime_ns was read */
	bool has_code;
	bool layered; /* a file of overlayfs */
	bool is_late; /* its key has no digest yet */
	struct table_key key;
	struct elf_segment *segments; /* executable ones; owned */
	size_t n_segments;
	bool shown;
	struct event_file shown_as;
	uint32_t table; /* if shown */
};

struct code_files {
	struct code_files_config cfg;
	struct code_file *files;
	struct code_file vdso;
	void *vdso_image;
	size_t vdso_bytes;
	unsigned page_shift;
	struct code_files_stats stats;
};

const struct table_key *code_file_key(const struct code_file *f)
{
	return &f->key;
}

bool table_key_is_of_build(const struct table_key *key)
{
	return key->sum[0] != NO_DIGEST;
}

void code_files_open(const struct code_files *c, const struct mapped_file *m,
		     struct byte_source *ret)
{
	if (!m)
		byte_source_from_memory(ret, c->vdso_image, c->vdso_bytes);
	else if (m->may_hang)
		byte_source_from_slow_fd(ret, m->fd, m->id.size_bytes, c->cfg.caller, m->id.dev);
	else
		byte_source_from_fd(ret, m->fd, m->id.size_bytes);
}

static void free_file(struct code_file *f)
{
	free(f->segments);
	table_free(f);
}

/* ---- examine ---- */

static int keep_segments(struct code_file *f, const struct elf_layout *layout)
{
	f->segments = calloc(layout->n_segments, sizeof(*f->segments));
	if (!f->segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < layout->n_segments; i++) {
		if (layout->segments[i].executable)
			f->segments[f->n_segments++] = layout->segments[i];
	}
	f->has_code = f->n_segments > 0;
	return 0;
}

static bool is_settled(const struct code_file *f)
{
	uint64_t now_ns = clock_realtime_ns();

	return f->ctime_ns != 0 && f->ctime_ns < now_ns && now_ns - f->ctime_ns > SETTLED_NS;
}

/*
 * Without a digest, no other file has its key. Files of other machines can change without another
 * time of change here; those of overlayfs change through it alone, so a container has the tables of
 * other containers with its image, and those on disk.
 */
static void make_key(const struct code_files *c, struct code_file *f, const struct mapped_file *m,
		     const struct elf_layout *layout, const struct byte_source *src)
{
	struct table_key key;

	f->key = (struct table_key){
		.id = {f->id.dev, f->id.ino},
		.sum = {NO_DIGEST, f->id.size_bytes, f->id.mtime_ns, f->ctime_ns},
	};
	if (!m || (m->may_hang && !m->layered) || !layout->has_build_id || !is_settled(f))
		return;
	memcpy(key.id, layout->build_id, sizeof(key.id));
	f->is_late = c->cfg.late_functions > 0 &&
		     cfi_table_count_sorted(layout) >= c->cfg.late_functions &&
		     !(c->cfg.knows_build && c->cfg.knows_build(c->cfg.ctx, key.id));
	if (!f->is_late && cfi_digest(layout, src, key.sum) == 0)
		f->key = key;
}

/* Returns 0, also if the file has no code, or -errno if it cannot be read. */
static int examine(struct code_files *c, const struct mapped_file *m, struct code_file *f)
{
	AUTO_FREE struct elf_layout *layout = malloc(sizeof(*layout));
	struct byte_source src;
	struct pe_image pe;
	int r;

	if (!layout)
		return -ENOMEM;
	code_files_open(c, m, &src);
	r = elf_layout_parse(layout, &src);
	if (r == -ENOEXEC && m)
		r = cfi_dotnet_open(&pe, layout, &src);
	if (r < 0)
		return r == -ENOEXEC || r == -EBADMSG ? 0 : r;
	c->stats.cut += layout->lacks_code;
	r = keep_segments(f, layout);
	if (r == 0)
		make_key(c, f, m, layout, &src);
	return r;
}

/* ---- show ---- */

static uint64_t kernel_dev(uint64_t dev)
{
	return (uint64_t)major(dev) << KERNEL_DEV_MINOR_BITS | minor(dev);
}

static void describe(const struct code_files *c, const struct code_file *f,
		     const struct event_file *key, uint32_t table, struct unwind_file *ret)
{
	uint64_t page_mask = (UINT64_C(1) << c->page_shift) - 1;

	*ret = (struct unwind_file){
		.ino = key->ino,
		.ctime_ns = key->ctime_ns,
		.table = table,
		.page_shift = c->page_shift,
	};
	for (size_t i = 0; i < f->n_segments && i < UNWIND_FILE_SEGMENTS; i++) {
		const struct elf_segment *s = &f->segments[i];

		ret->segments[i] = (struct unwind_segment){
			.from = s->offset & ~page_mask,
			.end = s->offset + s->file_bytes,
			.ahead = s->vaddr - s->offset,
		};
	}
}

static bool is_shown_as(const struct code_file *f, const struct event_file *key)
{
	return f->shown && memcmp(&f->shown_as, key, sizeof(*key)) == 0;
}

/* The same file of a layer is a file of each container with this layer, under the same key. */
static void hide(const struct code_files *c, struct code_file *f)
{
	const struct unwind_memory *memory = c->cfg.memory;
	const struct code_file *other = f->layered ? c->files : NULL;
	struct unwind_file file;

	if (!f->shown)
		return;
	f->shown = false;
	while (other && !is_shown_as(other, &f->shown_as))
		other = other->hh.next;
	if (!other) {
		(void)memory->remove_file(memory->ctx, &f->shown_as);
		return;
	}
	describe(c, other, &other->shown_as, other->table, &file);
	(void)memory->put_file(memory->ctx, &other->shown_as, &file);
}

static void show_as(const struct code_files *c, struct code_file *f, const struct event_file *key,
		    uint32_t table)
{
	const struct unwind_memory *memory = c->cfg.memory;
	struct unwind_file file;

	if (is_shown_as(f, key) && f->table == table)
		return;
	hide(c, f);
	describe(c, f, key, table, &file);
	if (memory->put_file(memory->ctx, key, &file) < 0)
		return;
	f->shown = true;
	f->shown_as = *key;
	f->table = table;
}

/* Its key of zeros says besides that there is somebody who fills the map. */
static void show_vdso(struct code_files *c, uint32_t table)
{
	show_as(c, &c->vdso, &(struct event_file){.ino = 0}, table);
}

/*
 * A file of overlayfs has an inode of its own in each mount. Walks find it by that of the layer,
 * which has the same number. Only where layers are of several file systems, the highest bits may
 * say which (ovl_map_ino() in fs/overlayfs/inode.c); such a file is known in its own mount only.
 */
static uint64_t shown_dev(const struct code_file *f, const struct process_mapping *m)
{
	if (f->layered && m->map_ino >> LAYER_INO_BITS == 0)
		return UNWIND_FILE_OF_LAYER;
	return kernel_dev(m->map_dev);
}

void code_files_show(struct code_files *c, struct code_file *f, const struct process_mapping *m,
		     uint32_t table)
{
	struct event_file key = {
		.dev = shown_dev(f, m),
		.ino = m->map_ino,
		.size_bytes = f->id.size_bytes,
		.mtime_ns = f->id.mtime_ns,
		.ctime_ns = f->ctime_ns,
	};

	if (f == &c->vdso)
		show_vdso(c, table);
	else if (m->map_ino != 0 && f->n_segments <= UNWIND_FILE_SEGMENTS)
		show_as(c, f, &key, table);
}

void code_files_hide(struct code_files *c, uint32_t table)
{
	if (c->vdso.shown && c->vdso.table == table)
		show_vdso(c, UNWIND_TABLE_NONE);
	for (struct code_file *f = c->files; f; f = f->hh.next) {
		if (f->shown && f->table == table)
			hide(c, f);
	}
}

/* ---- get ---- */

static void forget(struct code_files *c, struct code_file *f)
{
	hide(c, f);
	HASH_DEL(c->files, f);
	free_file(f);
}

/* Puts it at the end of the list, which is in the order of use. On failure it is freed. */
static struct code_file *put(struct code_files *c, struct code_file *f)
{
	HASH_ADD(hh, c->files, id, sizeof(f->id), f);
	if (TABLE_ADDED(hh, f))
		return f;
	hide(c, f);
	free_file(f);
	return NULL;
}

/* The time of change of the file, if it is still the one with this identity. */
static int read_ctime(const struct mapped_file *m, uint64_t *ret)
{
	struct file_version now;
	int r = file_version_read(m->fd, "", &now, NULL);

	if (r < 0)
		return r;
	if (!file_id_equal(&now.id, &m->id))
		return -ESTALE;
	*ret = now.ctime_ns;
	return 0;
}

/* Whether what is known of it still holds. */
static bool is_fresh(struct code_file *f, const struct mapped_file *m)
{
	uint64_t now_ns = clock_monotonic_ns(), ctime_ns;

	if (now_ns - f->checked_ns < CHECK_NS || m->fd < 0)
		return true;
	f->checked_ns = now_ns;
	/* of one that has another identity by now, the processes are read again */
	return read_ctime(m, &ctime_ns) < 0 || ctime_ns == f->ctime_ns;
}

static struct code_file *add(struct code_files *c, const struct mapped_file *m)
{
	struct code_file *f = table_malloc(sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct code_file){.id = m->id, .checked_ns = clock_monotonic_ns()};
	/* without it, the file is not shown: no inode has changed at 0 */
	if (read_ctime(m, &f->ctime_ns) < 0)
		f->ctime_ns = 0;
	f->layered = m->layered;
	if (examine(c, m, f) < 0) {
		c->stats.unreadable++;
		free_file(f);
		return NULL;
	}
	if (HASH_COUNT(c->files) >= FILES_MAX)
		forget(c, c->files);
	return put(c, f);
}

static struct code_file *get(struct code_files *c, const struct mapped_file *m)
{
	struct code_file *f;

	HASH_FIND(hh, c->files, &m->id, sizeof(m->id), f);
	if (f && is_fresh(f, m)) {
		HASH_DEL(c->files, f);
		return put(c, f);
	}
	if (f)
		forget(c, f);
	return m->fd < 0 ? NULL : add(c, m);
}

bool code_files_is_current(struct code_files *c, const struct mapped_file *m,
			   const struct table_key *key)
{
	struct code_file *f;
	uint64_t ctime_ns;

	if (!m || !table_key_is_of_build(key))
		return true;
	f = get(c, m);
	if (!f || read_ctime(m, &ctime_ns) < 0)
		return false;
	if (ctime_ns != f->ctime_ns) {
		forget(c, f);
		f = add(c, m);
	}
	return f && memcmp(&f->key, key, sizeof(*key)) == 0;
}

int code_files_settle(struct code_files *c, const struct mapped_file *m, struct table_key *ret)
{
	AUTO_FREE struct elf_layout *layout = malloc(sizeof(*layout));
	struct code_file *f;
	struct byte_source src;
	uint64_t ctime_ns;
	int r;

	if (!layout)
		return -ENOMEM;
	HASH_FIND(hh, c->files, &m->id, sizeof(m->id), f);
	if (!f || !f->is_late)
		return -ENOENT;
	f->is_late = false;
	code_files_open(c, m, &src);
	r = elf_layout_parse(layout, &src);
	if (r == 0)
		r = cfi_digest(layout, &src, ret->sum);
	/* what was read is what the file had when it was first examined, and so its table */
	if (r == 0)
		r = read_ctime(m, &ctime_ns);
	if (r == 0 && ctime_ns != f->ctime_ns)
		r = -ESTALE;
	if (r < 0)
		return r;
	memcpy(ret->id, layout->build_id, sizeof(ret->id));
	f->key = *ret;
	return 0;
}

/* The address in the file of what is mapped from this offset on. */
static bool address_of(const struct code_files *c, const struct code_file *f, uint64_t offset,
		       uint64_t *ret)
{
	for (size_t i = 0; i < f->n_segments; i++) {
		const struct elf_segment *s = &f->segments[i];

		/* whole pages are mapped */
		if (offset >> c->page_shift < s->offset >> c->page_shift ||
		    offset >= s->offset + s->file_bytes)
			continue;
		*ret = s->vaddr + (offset - s->offset);
		return true;
	}
	return false;
}

struct code_file *code_files_get(struct code_files *c, const struct process_mapping *m,
				 uint64_t *ret_bias)
{
	bool vdso = m->kind == PROCESS_MAPPING_VDSO;
	struct code_file *f = vdso ? &c->vdso : m->file ? get(c, m->file) : NULL;
	uint64_t address;

	/* the kernel gives the vDSO's mapping no offset */
	if (!f || !f->has_code || !address_of(c, f, vdso ? 0 : m->file_offset, &address))
		return NULL;
	*ret_bias = m->start - address;
	return f;
}

/* ---- create and destroy ---- */

static int read_vdso(struct code_files *c)
{
	int r = vdso_image_copy(&c->vdso_image, &c->vdso_bytes);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return examine(c, NULL, &c->vdso);
}

int code_files_new(struct code_files **ret, const struct code_files_config *cfg)
{
	CLEANUP(code_files_freep) struct code_files *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	c->page_shift = (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	r = read_vdso(c);
	if (r < 0)
		return r;
	show_vdso(c, UNWIND_TABLE_NONE);
	*ret = TAKE_PTR(c);
	return 0;
}

void code_files_free(struct code_files *c)
{
	if (!c)
		return;
	hide(c, &c->vdso);
	while (c->files)
		forget(c, c->files);
	free(c->vdso.segments);
	free(c->vdso_image);
	free(c);
}

void code_files_read_stats(const struct code_files *c, struct code_files_stats *ret)
{
	*ret = c->stats;
}
