/*
 * A process is read while it runs, and may exit or execute another program between any two
 * reads. The descriptor of its /proc folder pins the process (a reused pid is not an issue
 * from then on), and its start time, read through the descriptor, proves that it is the
 * sampled one. If it has called execve(2) since, the mappings are not those that the sample's
 * addresses belong to. Where an exec event said what the sampled program is and where its code
 * ends, that is compared; else its name, if it is not that of the sample, tells programs apart.
 *
 * If the leader thread has exited, its folder has no maps and no exe, but those of the other
 * threads have.
 */
#include "node-agent/process/process_reader.h"

#include <errno.h>
#include <sys/stat.h>

#include "common/telemetry/log.h"
#include "node-agent/files/file_registry.h"
#include "node-agent/process/memory_lock.h"
#include "node-agent/process/process_image.h"
#include "node-agent/procfs/procfs.h"

/*
 * Fills in the executable and the workload. proc_fd is -1 if the process has exited, which
 * leaves its name as the only fact. If it has executed another program since the sample
 * (changed), its executable is not the one of the sample, but its cgroup still is.
 */
static int fill_names(struct process_snapshot *s, const struct process_reader *reader, int proc_fd,
		      struct process_reading *reading)
{
	struct workload_facts facts = {
		.comm = s->comm, .kernel_thread = s->kernel_thread, .namer = reader->namer};
	int r = -ENOENT;

	if (proc_fd >= 0 && !reading->changed)
		r = procfs_read_link(proc_fd, "exe", &s->exe);
	if (r < 0 && r != -ENOMEM)
		s->exe = strdup("");
	if (!s->exe)
		return -ENOMEM;
	facts.exe = s->exe;
	r = -ESRCH;
	if (proc_fd >= 0)
		r = workload_read_cgroup(&reading->cgroup, proc_fd, reader->hierarchy);
	if (r == -ENOMEM)
		return r;
	reading->has_cgroup = r == 0;
	/* a name without the cgroup is better than a lost sample */
	if (!reading->has_cgroup)
		return workload_new(&s->workload, &facts);
	facts.cgroup = reading->cgroup.path;
	return workload_read_name(&s->workload, proc_fd, &facts);
}

/*
 * Opens the folder of another thread, for a process whose leader has exited. Returns a
 * descriptor, or -ESRCH if it is not (or no longer) a thread of the process.
 */
static int open_thread(int root_fd, int leader_fd, pid_t tid)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;
	char name[32];

	fd = procfs_open_process(root_fd, tid);
	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "task/%d", (int)tid);
	return fstatat(leader_fd, name, &st, 0) < 0 ? -ESRCH : TAKE_FD(fd);
}

/* Opens the folder of exactly this process and reads its stat. Returns a descriptor or -errno. */
static int open_same(int root_fd, const struct process_identity *id, struct proc_stat *ret)
{
	AUTO_CLOSE int fd = -1;
	int r;

	fd = procfs_open_process(root_fd, id->pid);
	if (fd < 0)
		return fd;
	r = procfs_read_stat(fd, ret);
	if (r < 0)
		return r;
	if (ret->start_time != id->start_time)
		return -ESRCH;
	if (ret->ended && id->tid != 0 && id->tid != id->pid)
		return open_thread(root_fd, fd, id->tid);
	return TAKE_FD(fd);
}

/* Where the image's code ends there is a file. */
static struct mapped_file *file_of_image(const struct process_snapshot *s,
					 const struct process_image *image)
{
	const struct process_mapping *m = process_snapshot_find(s, image->end_code - 1);

	return m ? m->file : NULL;
}

/*
 * Whether the mappings are not of the program in id. Processes rename themselves, and some unmap
 * their executable (packed ones), so neither alone means another program.
 */
static bool is_another_program(const struct process_snapshot *s, struct file_registry *files,
			       const struct process_identity *id, bool renamed, int proc_fd)
{
	const struct process_image *image = id->image;
	const struct mapped_file *known, *mapped;
	struct file_id exe;

	if (!image || !image->executed)
		return renamed;
	mapped = file_of_image(s, image);
	if (mapped && !renamed)
		return false;
	known = file_registry_find(files, &image->file.id);
	if (mapped)
		return mapped != known;
	return renamed || (known && procfs_read_exe_id(proc_fd, &exe) == 0 &&
			   !file_id_equal(&known->id, &exe));
}

/* The kernel and /proc both describe the files of this program. */
static void learn_files(const struct process_snapshot *s, struct file_registry *files,
			const struct process_image *image)
{
	struct mapped_file *file = image->executed ? file_of_image(s, image) : NULL;
	const struct process_mapping *m;

	if (file)
		file_registry_learn(files, file, &image->file.id);
	for (size_t i = 0; i < image->n_maps; i++) {
		m = process_snapshot_find(s, image->maps[i].start);
		if (m && m->file)
			file_registry_learn(files, m->file, &image->maps[i].file);
	}
}

/* The jitdump that the process has mapped, or NULL. */
static struct mapped_file *find_dump(const struct process_snapshot *s)
{
	for (size_t i = 0; i < s->n_mappings; i++) {
		struct mapped_file *file = s->mappings[i].file;

		if (file && file->fd >= 0 && jit_files_is_dump(file->path, strlen(file->path)))
			return file;
	}
	return NULL;
}

/* Without them, code is named as long as the process runs. Returns 0 or -ENOMEM. */
static int hold_jit_files(struct process_snapshot *s, struct file_registry *files,
			  const struct process_identity *id, int proc_fd)
{
	struct jit_files *known = id->known.snapshot ? id->known.snapshot->jit_files : NULL;
	struct mapped_file *dump = find_dump(s), *had = known ? jit_files_dump(known) : NULL;
	int r = 0;

	if (!dump && !process_snapshot_has_jit(s))
		return 0;
	/* a dump that is unmapped, as on exit, still has the names */
	if (!known || !jit_files_has_map(known) || (dump && dump != had))
		r = jit_files_new(&s->jit_files, proc_fd, dump ?: had, file_registry_caller(files));
	if (!s->jit_files)
		s->jit_files = jit_files_ref(known);
	return r == -ENOMEM ? r : 0;
}

/* Reads mappings, but keeps them only if they are of the program in id. */
static int read_program(struct process_snapshot *s, struct file_registry *files,
			const struct process_identity *id, int proc_fd, bool renamed,
			struct process_reading *ret)
{
	int r = mapping_reader_read(s, files, proc_fd, &id->known, &ret->mappings);

	if (r < 0)
		return r;
	ret->changed = is_another_program(s, files, id, renamed, proc_fd);
	if (ret->changed) {
		process_snapshot_drop_mappings(s);
		return 0;
	}
	if (id->image)
		learn_files(s, files, id->image);
	return hold_jit_files(s, files, id, proc_fd);
}

/* Returns 0, 1 if its mappings cannot be read now, or -ENOMEM. */
static int check_lock(const struct process_reader *reader, const struct process_identity *id,
		      int proc_fd)
{
	int r = memory_lock_check(file_registry_caller(reader->files), proc_fd, id->pid,
				  id->start_time);

	if (r == -ETIMEDOUT)
		log_warn_limited("cannot read a process's mappings for now: its memory was locked "
				 "for too long, by something that hangs or is slow; trying again "
				 "when the lock is free",
				 "pid=%d name=%s", (int)id->pid, LOG_QUOTED(id->comm));
	return r < 0 && r != -ENOMEM ? 1 : r;
}

int process_read(const struct process_reader *reader, const struct process_identity *id,
		 struct process_reading *ret)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *s = NULL;
	struct process_reading reading = {0};
	AUTO_CLOSE int fd = -1;
	struct proc_stat st = {.parent = 0};
	int r = 0;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	atomic_init(&s->refs, 1);
	s->pid = id->pid;
	s->start_time = id->start_time;
	s->start_boottime_ns = id->start_boottime_ns;
	s->kernel_thread = id->kernel_thread;
	memcpy(s->comm, id->comm, sizeof(s->comm));

	if (!id->kernel_thread)
		fd = open_same(reader->root_fd, id, &st);
	s->start_stack = fd >= 0 && st.start_stack != UINT64_MAX ? st.start_stack : 0;
	if (fd >= 0)
		r = check_lock(reader, id, fd);
	reading.is_locked = r > 0;
	if (r == 0 && fd >= 0)
		r = read_program(s, reader->files, id, fd, strcmp(st.comm, id->comm) != 0,
				 &reading);
	if (r >= 0)
		r = fill_names(s, reader, fd, &reading);
	if (r < 0)
		return r;
	/* a process that is exiting has a folder, but no memory and no executable */
	s->unreadable = !id->kernel_thread && (fd < 0 || reading.is_locked || reading.changed ||
					       (s->n_mappings == 0 && s->exe[0] == '\0'));
	reading.snapshot = TAKE_PTR(s);
	*ret = reading;
	return 0;
}

static bool has_map(const struct process_snapshot *s)
{
	return s->jit_files && jit_files_has_map(s->jit_files);
}

bool process_snapshots_equal(const struct process_snapshot *a, const struct process_snapshot *b)
{
	if (a->n_mappings != b->n_mappings || has_map(a) != has_map(b) ||
	    strcmp(a->comm, b->comm) != 0 || strcmp(a->exe, b->exe) != 0 ||
	    workload_compare(a->workload, b->workload) != 0)
		return false;
	for (size_t i = 0; i < a->n_mappings; i++) {
		const struct process_mapping *x = &a->mappings[i], *y = &b->mappings[i];

		if (x->start != y->start || x->end != y->end || x->file_offset != y->file_offset ||
		    x->kind != y->kind || x->file != y->file)
			return false;
	}
	return true;
}
