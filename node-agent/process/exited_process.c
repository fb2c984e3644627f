/*
 * Most processes of a build or of a shell script live for some milliseconds. Each gets few samples
 * or none, and has exited when its first one is looked at. Two sources have the mappings of such a
 * process all the same:
 *
 *   a relative   fork(2) copies the mappings, so those of a parent are those of the child until
 *                the child executes a program. They are complete, libraries included.
 *   the kernel   An exec event has the inode of the executable and the address at which its code
 *                ends. The headers of the file say where code ends in the file: the difference is
 *                the load bias. The event has no libraries, as nobody has mapped them yet; those
 *                that samples are in come with the samples (struct map_event).
 *
 * The file is one that the registry has open for another process, or is looked up by the path of
 * the exec event, below the root of a process that may have the same one. The path is no proof,
 * the inode is: only a file with the event's inode is taken.
 */
#include "node-agent/process/exited_process.h"

#include <errno.h>
#include <link.h>
#include <sys/auxv.h>

#include "node-agent/files/file_registry.h"
#include "node-agent/process/process_image.h"
#include "node-agent/process/process_snapshot.h"

#define PATH_BYTES 4096

/* ---- the file ---- */

/* The path as seen from a process's root. Returns false if it has no such form. */
static bool absolute_path(int proc_fd, const char *path, char *ret, size_t size)
{
	AUTO_FREE char *folder = NULL;
	int n;

	if (path[0] == '/')
		n = snprintf(ret, size, "%s", path);
	else if (procfs_read_link(proc_fd, "cwd", &folder) == 0)
		n = snprintf(ret, size, "%s/%s", folder, path);
	else
		return false;
	return n > 0 && (size_t)n < size;
}

static int find_at(int root_fd, struct file_registry *files, pid_t place,
		   const struct process_image *image, struct mapped_file **ret)
{
	AUTO_CLOSE int fd = procfs_open_process(root_fd, place);
	char path[PATH_BYTES];

	if (fd < 0 || !absolute_path(fd, image->path, path, sizeof(path)))
		return -ENOENT;
	return file_registry_open(files, fd, path, &image->file, ret);
}

/* *ret is the executable, borrowed from the registry, or NULL. Returns 0 or -ENOMEM. */
static int find_file(int root_fd, struct file_registry *files, const struct exited_process *p,
		     struct mapped_file **ret)
{
	const struct process_image *image = p->image;
	int r;

	*ret = file_registry_find(files, &image->file.id);
	if (*ret || !image->path || file_registry_is_missing(files, &image->file.id))
		return 0;
	for (size_t i = 0; i < EXITED_PROCESS_PLACES; i++) {
		/* a relative path is relative to the first place only */
		if (p->places[i] == 0 || (i > 0 && image->path[0] != '/'))
			continue;
		r = find_at(root_fd, files, p->places[i], image, ret);
		if (r == 0 || r == -ENOMEM)
			return r;
	}
	file_registry_note_missing(files, &image->file.id);
	return 0;
}

/* ---- mappings ---- */

static uint64_t page_down(uint64_t n)
{
	return n & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

static uint64_t page_up(uint64_t n)
{
	return page_down(n + (uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

/* The vDSO is the same in all processes: its size is that of ours. */
static uint64_t vdso_bytes(void)
{
	const uint8_t *base =
		(const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
	const ElfW(Ehdr) *eh = (const void *)base;
	const ElfW(Phdr) * ph;
	uint64_t end = 0;

	if (!eh)
		return 0;
	ph = (const void *)(base + eh->e_phoff);
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr + ph[i].p_memsz > end)
			end = ph[i].p_vaddr + ph[i].p_memsz;
	}
	return page_up(end);
}

/* What to add to addresses in the file. Returns 0, or -EINVAL if the two do not fit together. */
static int load_bias(const struct process_image *image, const struct file_text *text, uint64_t *ret)
{
	uint64_t end = 0;

	for (size_t i = 0; i < text->n_segments; i++) {
		if (text->segments[i].vaddr + text->segments[i].file_bytes > end)
			end = text->segments[i].vaddr + text->segments[i].file_bytes;
	}
	*ret = image->end_code - end;
	if (image->end_code < end || *ret != page_down(*ret) || (!text->relocatable && *ret != 0))
		return -EINVAL;
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct process_mapping *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorts the mappings and takes references of their files; overlapping ones are left out. */
static void finish_mappings(struct process_snapshot *s, size_t n)
{
	qsort(s->mappings, n, sizeof(*s->mappings), compare_starts);
	for (size_t i = 0; i < n; i++) {
		const struct process_mapping *m = &s->mappings[i];

		if (m->start >= m->end ||
		    (s->n_mappings > 0 && m->start < s->mappings[s->n_mappings - 1].end))
			continue;
		if (m->file)
			mapped_file_ref(m->file);
		s->mappings[s->n_mappings++] = *m;
	}
}

/* Writes the mappings that execve(2) made of the file to ret; returns their number. */
static size_t segments_of(const struct process_image *image, const struct file_text *text,
			  uint64_t bias, struct mapped_file *file, struct process_mapping *ret)
{
	for (size_t i = 0; i < text->n_segments; i++) {
		uint64_t start = bias + text->segments[i].vaddr;

		ret[i] = (struct process_mapping){
			.start = page_down(start),
			.end = page_up(start + text->segments[i].file_bytes),
			.file_offset = page_down(text->segments[i].offset),
			.kind = PROCESS_MAPPING_FILE,
			.file = file,
		};
	}
	ret[text->n_segments] = (struct process_mapping){
		.start = image->vdso,
		.end = image->vdso ? image->vdso + vdso_bytes() : 0,
		.kind = PROCESS_MAPPING_VDSO,
	};
	return text->n_segments + 1;
}

/* Returns whether somebody has the file. */
static bool mapping_of(const struct process_map *map, struct file_registry *files,
		       struct process_mapping *ret)
{
	*ret = (struct process_mapping){.start = map->start,
					.end = map->end,
					.file_offset = map->file_offset,
					.kind = PROCESS_MAPPING_FILE,
					.file = file_registry_find(files, &map->file)};
	return ret->file != NULL;
}

/* file is that of the executable, or NULL. */
static int make_mappings(struct process_snapshot *s, struct file_registry *files,
			 const struct process_image *image, struct mapped_file *file)
{
	const struct file_text *text;
	uint64_t bias;
	size_t n = 0;

	free(s->mappings);
	s->mappings = calloc(FILE_TEXT_SEGMENTS_MAX + 1 + image->n_maps, sizeof(*s->mappings));
	if (!s->mappings)
		return -ENOMEM;
	if (file && file_registry_text(files, file, &text) == 0 &&
	    load_bias(image, text, &bias) == 0)
		n = segments_of(image, text, bias, file, s->mappings);
	for (size_t i = 0; i < image->n_maps; i++)
		n += mapping_of(&image->maps[i], files, &s->mappings[n]);
	finish_mappings(s, n);
	return 0;
}

static int set_exe(struct process_snapshot *s, const char *path)
{
	char *exe = strdup(path);

	if (!exe)
		return -ENOMEM;
	free(s->exe);
	s->exe = exe;
	return 0;
}

static int take_from_relative(struct process_snapshot *s, struct process_snapshot *relative)
{
	struct process_snapshot *owner = relative->mappings_of ? relative->mappings_of : relative;

	free(s->mappings);
	s->mappings_of = process_snapshot_ref(owner);
	s->mappings = owner->mappings;
	s->n_mappings = owner->n_mappings;
	/*
	 * Under another name it is about to execute another program: execve(2) renames the process
	 * before the exec event. The user addresses are still the old program's.
	 */
	return strcmp(s->comm, relative->comm) == 0 ? set_exe(s, relative->exe) : 0;
}

static int take_from_events(struct process_snapshot *s, int root_fd, struct file_registry *files,
			    const struct exited_process *p)
{
	struct mapped_file *file = NULL;
	const char *exe = NULL;
	int r = 0;

	if (p->image->executed)
		r = find_file(root_fd, files, p, &file);
	if (r == 0)
		r = make_mappings(s, files, p->image, file);
	if (r == 0)
		exe = file ? file->path : p->image->path;
	return exe ? set_exe(s, exe) : r;
}

static int name_workload(struct process_snapshot *s, const struct exited_process *p)
{
	struct workload_facts facts = {.comm = s->comm, .exe = s->exe};
	const struct process_to_name named = {-1, s->exe, s->comm};
	char name[WORKLOAD_NAME_BYTES];
	struct workload *workload = NULL;
	int r = 0;

	if (p->cgroup)
		facts.cgroup = *p->cgroup;
	if (p->namer && facts.cgroup.kind == CGROUP_NONE) {
		r = process_namer_name(p->namer, &named, name, sizeof(name));
		facts.name = name;
	}
	if (r == 0)
		r = workload_new(&workload, &facts);
	if (r < 0)
		return r;
	workload_unref(s->workload);
	s->workload = workload;
	return 0;
}

int exited_process_restore(struct process_snapshot *s, int root_fd, struct file_registry *files,
			   const struct exited_process *p)
{
	int r = 0;

	if (!s->unreadable)
		return name_workload(s, p);
	if (p->image && p->image->snapshot)
		r = take_from_relative(s, p->image->snapshot);
	else if (p->image)
		r = take_from_events(s, root_fd, files, p);
	if (r < 0)
		return r;
	s->unreadable = s->n_mappings == 0;
	return name_workload(s, p);
}

int exited_process_extend(struct process_snapshot *s, const struct process_snapshot *earlier,
			  struct file_registry *files, const struct process_image *image)
{
	size_t n = earlier->n_mappings, n_before = n;
	int r = set_exe(s, earlier->exe);

	process_snapshot_drop_mappings(s);
	free(s->mappings);
	s->mappings = calloc(n + image->n_maps + 1, sizeof(*s->mappings));
	if (r < 0 || !s->mappings)
		return -ENOMEM;
	if (n > 0)
		memcpy(s->mappings, earlier->mappings, n * sizeof(*s->mappings));
	for (size_t i = 0; i < image->n_maps; i++)
		if (!process_snapshot_find(earlier, image->maps[i].start))
			n += mapping_of(&image->maps[i], files, &s->mappings[n]);
	finish_mappings(s, n);
	s->start_stack = earlier->start_stack;
	s->jit_files = earlier->jit_files ? jit_files_ref(earlier->jit_files) : NULL;
	workload_unref(s->workload);
	s->workload = workload_ref(earlier->workload);
	s->unreadable = false;
	return s->n_mappings > n_before;
}
