#include "node-agent/heap/go_target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/fs.h"
#include "node-agent/process/local_fs.h"
#include "node-agent/process/procfs.h"

#define CGROUP_MAX_BYTES 65536u
#define AUXV_MAX_BYTES 4096u
#define MEMORY_END (UINT64_C(1) << 47) /* of what a process can have; file offsets go further */

struct open_job {
	struct deadline_job job; /* first */
	int proc_fd;             /* owned */
	int fd;                  /* the result's */
	int result;
	bool may_hang;
	struct stat st;
};

int go_target_read_key(int proc_fd, struct go_file_key *ret)
{
	struct statx st;

	if (statx(proc_fd, "exe", AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) < 0)
		return -errno;
	*ret = (struct go_file_key){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.size_bytes = st.stx_size,
		.mtime_ns = (uint64_t)st.stx_mtime.tv_sec * NS_PER_S + st.stx_mtime.tv_nsec,
	};
	return 0;
}

/* ---- the executable ---- */

static void open_exe(struct deadline_job *j)
{
	struct open_job *job = (struct open_job *)j;

	job->fd = openat(job->proc_fd, "exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	job->result = job->fd < 0 || fstat(job->fd, &job->st) < 0 ? -errno : 0;
	job->may_hang = job->result == 0 && !local_fs_has(job->fd);
}

static void open_job_free(struct deadline_job *j)
{
	struct open_job *job = (struct open_job *)j;

	closep(&job->proc_fd);
	closep(&job->fd);
	free(job);
}

static bool is_same_file(const struct stat *st, const struct go_file_key *key)
{
	return S_ISREG(st->st_mode) && st->st_dev == key->dev && st->st_ino == key->ino &&
	       (uint64_t)st->st_size == key->size_bytes;
}

static int open_executable(struct go_target *t, const struct go_file_key *key,
			   struct deadline_caller *caller)
{
	struct open_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->job = (struct deadline_job){open_exe, open_job_free, key->dev};
	job->fd = -1;
	job->proc_fd = fcntl(t->proc_fd, F_DUPFD_CLOEXEC, 0);
	r = deadline_call(caller, &job->job);
	if (r < 0)
		return r;
	r = job->result;
	if (r == 0 && !is_same_file(&job->st, key))
		r = -ESRCH;
	if (r == 0) {
		t->exe_fd = TAKE_FD(job->fd);
		if (job->may_hang) {
			byte_source_from_slow_fd(&t->file, t->exe_fd, key->size_bytes, caller,
						 key->dev);
			/* its pages may have to come from there too */
			byte_source_from_slow_fd(&t->memory, t->mem_fd, MEMORY_END, caller,
						 key->dev);
		} else {
			byte_source_from_fd(&t->file, t->exe_fd, key->size_bytes);
			byte_source_from_fd(&t->memory, t->mem_fd, MEMORY_END);
		}
	}
	open_job_free(&job->job);
	return r;
}

/* ---- the process ---- */

/* What the kernel told the program about itself when it was started. */
static int read_entry(int proc_fd, uint64_t *ret)
{
	CLEANUP(buf_fini) struct buf auxv;
	int r;

	buf_init(&auxv, AUXV_MAX_BYTES);
	r = fs_read_at(proc_fd, "auxv", &auxv);
	if (r < 0)
		return r;
	for (size_t i = 0; i + 2 * sizeof(uint64_t) <= auxv.len; i += 2 * sizeof(uint64_t)) {
		uint64_t pair[2];

		memcpy(pair, auxv.data + i, sizeof(pair));
		if (pair[0] == AT_ENTRY) {
			*ret = pair[1];
			return 0;
		}
	}
	return -ESRCH; /* of one that is ending it is empty */
}

static int check_identity(const struct go_target *t, const struct go_process_id *id)
{
	struct proc_stat st;
	int r = procfs_read_stat(t->proc_fd, &st);

	if (r < 0)
		return r;
	return st.start_time == id->start_time && !st.ended ? 0 : -ESRCH;
}

static int open_folder(struct go_target *t, int root_fd, const struct go_process_id *id)
{
	*t = (struct go_target){.proc_fd = -1, .mem_fd = -1, .exe_fd = -1};
	t->proc_fd = procfs_open_process(root_fd, id->pid);
	return t->proc_fd < 0 ? t->proc_fd : 0;
}

/* Of a process that has just ended, files are not there. */
static int finish_open(struct go_target *t, int r)
{
	if (r < 0)
		go_target_close(t);
	return r == -ENOENT ? -ESRCH : r;
}

/* Everything but the memory, which is open already when it is wanted. */
static int open_rest(struct go_target *t, const struct go_process_id *id,
		     struct deadline_caller *caller)
{
	int r;

	r = check_identity(t, id);
	if (r == 0)
		r = open_executable(t, &id->exe, caller);
	return r == 0 ? elf_layout_parse(&t->layout, &t->file) : r;
}

int go_target_open_file(struct go_target *ret, int root_fd, const struct go_process_id *id,
			struct deadline_caller *caller)
{
	int r;

	r = open_folder(ret, root_fd, id);
	if (r == 0)
		r = open_rest(ret, id, caller);
	return finish_open(ret, r);
}

int go_target_open(struct go_target *ret, int root_fd, const struct go_process_id *id,
		   struct deadline_caller *caller)
{
	uint64_t entry = 0;
	int r;

	r = open_folder(ret, root_fd, id);
	if (r == 0) {
		ret->mem_fd = openat(ret->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
		r = ret->mem_fd < 0 ? -errno : open_rest(ret, id, caller);
	}
	if (r == 0)
		r = read_entry(ret->proc_fd, &entry);
	if (r == 0 && ret->layout.relocatable)
		ret->bias = entry - ret->layout.entry;
	return finish_open(ret, r);
}

void go_target_close(struct go_target *t)
{
	closep(&t->exe_fd);
	closep(&t->mem_fd);
	closep(&t->proc_fd);
	t->exe_fd = t->mem_fd = t->proc_fd = -1;
}

int go_target_service(const struct go_target *t, char ret[static WORKLOAD_NAME_BYTES])
{
	CLEANUP(buf_fini) struct buf cgroup;
	AUTO_FREE char *exe = NULL;
	struct workload_facts facts = {0};
	struct proc_stat st;
	int r;

	buf_init(&cgroup, CGROUP_MAX_BYTES);
	r = procfs_read_stat(t->proc_fd, &st);
	if (r == 0)
		r = procfs_read_link(t->proc_fd, "exe", &exe);
	if (r == 0)
		r = fs_read_at(t->proc_fd, "cgroup", &cgroup);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	cgroup_path_parse(cgroup.data ? cgroup.data : "", cgroup.len, &facts.cgroup);
	facts.exe = exe;
	facts.comm = st.comm;
	workload_name(&facts, ret);
	return 0;
}
