/*
 * The text of maps is not a consistent picture: the kernel produces it page by page, and mappings
 * can change in between. Lines that overlap earlier ones are dropped, so that a snapshot is always
 * sorted and disjoint.
 *
 * Processes with tens of thousands of mappings exist, hardly any of them executable. They are read
 * whole once. When a sample has an address outside all known mappings, and when an audit is due,
 * the kernel is asked about that address and the known mappings instead (PROCMAP_QUERY). If a file
 * is not where it was, all is read again; memory in which code is generated comes and goes, and
 * is found again when a sample has its address.
 *
 * Measured on Linux 6.18, CPU time of one such reading of a process, names and cgroup included:
 *
 *   mappings   of these executable   all read    asked
 *      1,043                    15     245 us    48 us
 *      1,223                   105     460 us   280 us
 *     10,043                    15   3,400 us    80 us
 *    100,043                    15  32,500 us    80 us
 *    102,023                 1,005  36,000 us  3,300 us
 *    120,023                10,005  68,000 us 33,000 us
 *
 * Nothing is gained where a process has few mappings, and the first reading needs all. The query
 * can also search for the next executable mapping, which takes half of the time that the text
 * takes; but kernels that lock the address space for it, as Linux 6.11 does, do so for all of the
 * search, and the process cannot map memory meanwhile, whereas the text is made page by page. A
 * build id is not asked for: the kernel has one only while the page is in memory, and it
 * identifies code, not files (file_id.h).
 */
#include "node-agent/process/mapping_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>

#include "common/data/array.h"
#include "node-agent/files/file_registry.h"
#include "node-agent/process/moved_text.h"
#include "node-agent/procfs/proc_maps.h"

#define MANY_MAPS 1000      /* fewer are read as quickly as the rest of a process */
#define MAPS_PER_QUESTION 8 /* at least as many lines must be saved by one */
#define MAX_QUESTIONS 16    /* about addresses outside known mappings */

/* A line of maps: some numbers and a path. Of one that is longer, moved text is not found. */
#define FILE_LINE_BYTES (PATH_MAX + 128)

struct collector {
	struct file_registry *files;
	int proc_fd;
	size_t n_maps; /* of any kind */
	struct process_mapping *mappings;
	size_t n, cap;
	char file_line[FILE_LINE_BYTES]; /* the last one of a file */
	size_t file_line_len;            /* 0: there is none */
	struct mapped_file *rest;        /* a reference: that file, if text of it may be moved */
	bool rest_is_known;
};

static bool path_is(const struct proc_map *m, const char *prefix)
{
	return m->path_len >= strlen(prefix) && memcmp(m->path, prefix, strlen(prefix)) == 0;
}

static enum process_mapping_kind kind_of(const struct proc_map *m)
{
	if (path_is(m, "[vdso]"))
		return PROCESS_MAPPING_VDSO;
	return m->ino == 0 || !path_is(m, "/") ? PROCESS_MAPPING_ANONYMOUS : PROCESS_MAPPING_FILE;
}

/*
 * Memory that has the attributes of a file. Mostly it holds JIT code, which is mapped a second time
 * to be written (.NET's doublemapper), but programs run from it. Without memfd_create(2), libraries
 * take a temporary file, deleted at once.
 */
static bool is_memory(const struct proc_map *m)
{
	if (m->deleted && (path_is(m, "/tmp/") || path_is(m, "/var/tmp/")))
		return !jit_files_is_dump(m->path, m->path_len);
	return path_is(m, "/memfd:") || path_is(m, "/SYSV") || path_is(m, "/dev/") ||
	       path_is(m, "/anon_hugepage");
}

/* Stores the mapping's file, or NULL if there is none that could have names. */
static int get_file(const struct collector *c, const struct proc_map *m, struct mapped_file **ret)
{
	struct mapped_file *file;
	int r = file_registry_get(c->files, c->proc_fd, m, &file);

	if (r < 0)
		return r;
	/* what cannot be opened may have names in a perf map, but none in itself */
	if (file && is_memory(m) && (file->fd < 0 || !file_registry_keep_program(c->files, file))) {
		mapped_file_unref(file);
		file = NULL;
	}
	*ret = file;
	return 0;
}

/* Adds one that begins after all others. */
static int add_mapping(struct collector *c, const struct proc_map *m)
{
	struct process_mapping p;
	int r;

	if (c->n == PROCESS_MAX_MAPPINGS)
		return -EFBIG;
	r = ARRAY_RESERVE(c->mappings, c->cap, c->n + 1);
	if (r < 0)
		return r;
	p = (struct process_mapping){.start = m->start,
				     .end = m->end,
				     .file_offset = m->file_offset,
				     .kind = kind_of(m)};
	if (p.kind == PROCESS_MAPPING_FILE) {
		p.map_dev = makedev(m->dev_major, m->dev_minor);
		p.map_ino = m->ino;
		r = get_file(c, m, &p.file);
		if (r < 0)
			return r;
		if (!p.file)
			p.kind = PROCESS_MAPPING_ANONYMOUS;
	}
	c->mappings[c->n++] = p;
	return 0;
}

/* ---- moved text ---- */

static void keep_file_line(struct collector *c, const char *line, size_t len)
{
	mapped_file_unref(c->rest);
	c->rest = NULL;
	c->rest_is_known = false;
	c->file_line_len = len <= sizeof(c->file_line) ? len : 0;
	memcpy(c->file_line, line, c->file_line_len);
}

static bool is_executable_file(const struct collector *c, const struct proc_map *m)
{
	AUTO_FREE char *exe = NULL;

	return procfs_read_link(c->proc_fd, "exe", &exe) == 0 && strlen(exe) == m->path_len &&
	       memcmp(exe, m->path, m->path_len) == 0;
}

/* Only files that have other code, or that the process executes, are opened for this. */
static int find_rest(struct collector *c, const struct proc_map *m)
{
	uint64_t dev = makedev(m->dev_major, m->dev_minor);
	int r = 0;

	c->rest_is_known = true;
	for (size_t i = c->n; i > 0 && !c->rest; i--) {
		const struct process_mapping *p = &c->mappings[i - 1];

		if (p->file && p->map_ino == m->ino && p->map_dev == dev)
			c->rest = mapped_file_ref(p->file);
	}
	if (!c->rest && is_executable_file(c, m))
		r = file_registry_get(c->files, c->proc_fd, m, &c->rest);
	if (c->rest && c->rest->fd < 0) {
		mapped_file_unref(c->rest);
		c->rest = NULL;
	}
	return r;
}

/* The mapping that was added last is of no file: it may hold text of the one before it. */
static int find_moved_text(struct collector *c)
{
	struct process_mapping *p = &c->mappings[c->n - 1];
	struct text_rest rest;
	struct proc_map m;
	uint64_t offset;
	int r = 0;

	if (c->file_line_len == 0 || proc_map_parse(c->file_line, c->file_line_len, &m) < 0)
		return 0;
	if (!c->rest_is_known)
		r = find_rest(c, &m);
	if (r < 0 || !c->rest)
		return r;
	rest = (struct text_rest){c->rest, m.start, m.file_offset};
	r = moved_text_find(c->files, c->proc_fd, &rest, p->start, p->end, &offset);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	p->kind = PROCESS_MAPPING_FILE;
	p->file = mapped_file_ref(c->rest);
	p->file_offset = offset;
	p->map_dev = p->map_ino = 0;
	return 0;
}

/* ---- */

static bool is_behind_all(const struct collector *c, uint64_t addr)
{
	return c->n == 0 || addr >= c->mappings[c->n - 1].end;
}

/* ---- read all ---- */

static int add_line(void *ctx, const char *line, size_t len)
{
	struct collector *c = ctx;
	struct proc_map m;
	int r;

	c->n_maps++;
	if (!proc_map_is_executable(line, len) || proc_map_parse(line, len, &m) < 0) {
		if (memchr(line, '/', len))
			keep_file_line(c, line, len);
		return 0;
	}
	/* mappings can change while we read */
	if (!is_behind_all(c, m.start))
		return 0;
	r = add_mapping(c, &m);
	if (r == 0 && c->mappings[c->n - 1].kind == PROCESS_MAPPING_ANONYMOUS)
		return find_moved_text(c);
	if (r == 0 && c->mappings[c->n - 1].file)
		keep_file_line(c, line, len);
	return r;
}

static int read_all(struct collector *c)
{
	c->n_maps = 0;
	return procfs_each_map(c->proc_fd, PROCESS_MAX_MAPS_BYTES, add_line, c);
}

/* ---- ask ---- */

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* What to ask about, ascending: known mappings, and addresses outside them. */
static int choose_addresses(const struct known_mappings *known, uint64_t **ret, size_t *ret_n)
{
	const struct process_snapshot *s = known->snapshot;
	uint64_t *at = malloc((s->n_mappings + MAX_QUESTIONS) * sizeof(*at));
	size_t n = 0, most;

	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_mappings; i++)
		at[n++] = s->mappings[i].start;
	most = n + MAX_QUESTIONS;
	for (size_t i = 0; i < known->n_addrs && n < most; i++) {
		if (!process_snapshot_find(s, known->addrs[i]))
			at[n++] = known->addrs[i];
	}
	qsort(at, n, sizeof(*at), compare_addresses);
	*ret = at;
	*ret_n = n;
	return 0;
}

static bool is_moved(const struct process_mapping *m)
{
	return m->file && m->map_ino == 0;
}

static bool is_same(const struct process_mapping *was, const struct proc_map *m)
{
	if (is_moved(was))
		return m->start == was->start && m->end == was->end &&
		       (m->ino == 0 || is_memory(m));
	return m->start == was->start && m->end == was->end && m->file_offset == was->file_offset &&
	       m->ino == was->map_ino && makedev(m->dev_major, m->dev_minor) == was->map_dev;
}

static int copy_mapping(struct collector *c, const struct process_mapping *m)
{
	int r = ARRAY_RESERVE(c->mappings, c->cap, c->n + 1);

	if (r < 0)
		return r;
	if (m->file)
		mapped_file_ref(m->file);
	c->mappings[c->n++] = *m;
	return 0;
}

/* Returns 0, -ESTALE if a file is not where it was, or another -errno. */
static int ask_about(struct collector *c, int maps_fd, const struct process_snapshot *known,
		     uint64_t addr, char *name)
{
	const struct process_mapping *was = process_snapshot_find(known, addr);
	struct proc_map m;
	int r;

	if (!is_behind_all(c, addr))
		return 0;
	/* [vsyscall] is in no address space, so the kernel does not find it */
	if ((int64_t)addr < 0)
		return was ? copy_mapping(c, was) : 0;
	r = procfs_query_map(maps_fd, addr, name, &m);
	if (was && was->file && (r == -ENOENT || (r == 0 && !is_same(was, &m))))
		return -ESTALE;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (was && is_moved(was))
		return copy_mapping(c, was);
	return is_behind_all(c, m.start) ? add_mapping(c, &m) : 0;
}

static int ask(struct collector *c, const struct known_mappings *known)
{
	AUTO_CLOSE int fd = openat(c->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	char name[PROCFS_MAP_NAME_BYTES];
	AUTO_FREE uint64_t *at = NULL;
	size_t n;
	int r;

	if (fd < 0)
		return -errno;
	r = choose_addresses(known, &at, &n);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = ask_about(c, fd, known->snapshot, at[i], name);
	c->n_maps = known->snapshot->n_maps;
	return r;
}

static bool is_worth_asking(const struct process_snapshot *known)
{
	return known && known->n_maps >= MANY_MAPS &&
	       known->n_maps / MAPS_PER_QUESTION >= known->n_mappings;
}

/* ---- */

static void drop_all(struct collector *c)
{
	for (size_t i = 0; i < c->n; i++)
		mapped_file_unref(c->mappings[i].file);
	c->n = 0;
}

/* Snapshots live as long as their processes, and there are many: no room is left over. */
static int hand_over(struct collector *c, struct process_snapshot *s)
{
	struct process_mapping *m = c->n > 0 ? realloc(c->mappings, c->n * sizeof(*m)) : NULL;

	s->mappings = m ?: c->mappings;
	s->n_mappings = c->n;
	s->n_maps = c->n_maps;
	return c->n > 0 && !m ? -ENOMEM : 0;
}

int mapping_reader_read(struct process_snapshot *s, struct file_registry *files, int proc_fd,
			const struct known_mappings *known, struct mappings_reading *ret)
{
	struct collector c = {.files = files, .proc_fd = proc_fd};
	struct mappings_reading reading = {.asked = is_worth_asking(known->snapshot)};
	int r = reading.asked ? ask(&c, known) : -ENOTTY, handed_over;

	if (r < 0 && r != -ENOMEM && r != -EFBIG) {
		drop_all(&c);
		reading.asked = false;
		r = read_all(&c);
	}
	mapped_file_unref(c.rest);
	reading.cut = r == -EFBIG;
	*ret = reading;
	handed_over = hand_over(&c, s);
	return r == -ENOMEM ? r : handed_over; /* unreadable: no mappings */
}
