/*
 * The files belong to the process, so they may be anything. Its /tmp may be a link, which is
 * followed inside its root (root_dir_open()); the map itself may not, and is opened as a path
 * first, because opening a pipe or a device has effects.
 */
#include "node-agent/files/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "common/data/buf.h"
#include "common/system/fs.h"
#include "common/thread/deadline_call.h"
#include "node-agent/files/file_finder.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/procfs/process_status.h"

#define STATUS_MAX_BYTES ((size_t)16 * 1024)
#define FILES_MAX 512u               /* processes; two descriptors each */
#define FILES_PART 8u                /* of RLIMIT_NOFILE */
#define CALL_KEY (UINT64_C(1) << 62) /* no device and no pid */

struct jit_files {
	atomic_uint refs;
	int dir_fd;               /* O_PATH */
	int map_fd;               /* likewise; -1: it was not there */
	struct mapped_file *dump; /* a reference; NULL: none */
	pid_t nspid;
	uid_t uid;
};

static atomic_uint n_held;

static unsigned most_held(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / FILES_PART > FILES_MAX)
		return FILES_MAX;
	return (unsigned)(limit.rlim_cur / FILES_PART);
}

struct jit_files *jit_files_ref(struct jit_files *j)
{
	if (j)
		atomic_fetch_add_explicit(&j->refs, 1, memory_order_relaxed);
	return j;
}

void jit_files_unref(struct jit_files *j)
{
	if (!j || atomic_fetch_sub_explicit(&j->refs, 1, memory_order_acq_rel) > 1)
		return;
	closep(&j->dir_fd);
	closep(&j->map_fd);
	mapped_file_unref(j->dump);
	atomic_fetch_sub_explicit(&n_held, 1, memory_order_relaxed);
	free(j);
}

bool jit_files_has_map(const struct jit_files *j)
{
	return j->map_fd >= 0;
}

struct mapped_file *jit_files_dump(const struct jit_files *j)
{
	return j->dump;
}

static int worth(const struct jit_files *j)
{
	return !j ? 0 : 1 + (j->map_fd >= 0) + 2 * (j->dump != NULL);
}

struct jit_files *jit_files_better(struct jit_files *a, struct jit_files *b)
{
	return worth(b) > worth(a) ? b : a;
}

bool jit_files_is_dump(const char *path, size_t len)
{
	static const char begin[] = "jit-", end[] = ".dump";
	const char *slash = len > 0 ? memrchr(path, '/', len) : NULL;
	const char *name = slash ? slash + 1 : path;
	size_t n = len - (size_t)(name - path), digits = n - strlen(begin) - strlen(end);

	if (n <= strlen(begin) + strlen(end) || memcmp(name, begin, strlen(begin)) != 0 ||
	    memcmp(name + n - strlen(end), end, strlen(end)) != 0)
		return false;
	name += strlen(begin);
	while (digits > 0 && *name >= '0' && *name <= '9') {
		name++;
		digits--;
	}
	return digits == 0;
}

static int read_status(int proc_fd, struct process_status *ret)
{
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, STATUS_MAX_BYTES);
	r = fs_read_at(proc_fd, "status", &text);
	return r < 0 ? r : process_status_parse(text.data, text.len, ret);
}

/* As a path, a link as the link itself. Returns a descriptor or -errno. */
static int find_map(const struct jit_files *j)
{
	char name[48];
	int fd;

	snprintf(name, sizeof(name), "perf-%d.map", (int)j->nspid);
	fd = openat(j->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int jit_files_find(struct jit_files **ret, int proc_fd)
{
	CLEANUP(jit_files_unrefp) struct jit_files *j = NULL;
	AUTO_CLOSE int root = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct process_status status;
	int r = root < 0 ? -errno : read_status(proc_fd, &status);

	if (r < 0)
		return r;
	j = malloc(sizeof(*j));
	if (!j)
		return -ENOMEM;
	*j = (struct jit_files){.map_fd = -1, .nspid = status.nspid, .uid = status.uid};
	atomic_init(&j->refs, 1);
	atomic_fetch_add_explicit(&n_held, 1, memory_order_relaxed);
	j->dir_fd = root_dir_open(root, "tmp");
	if (j->dir_fd < 0)
		return j->dir_fd;
	j->map_fd = find_map(j);
	*ret = TAKE_PTR(j);
	return 0;
}

int jit_files_open_map(const struct jit_files *j, struct stat *ret)
{
	AUTO_CLOSE int found = find_map(j);
	int path_fd = found >= 0 ? found : j->map_fd, fd;
	char path[32];

	if (path_fd < 0)
		return found;
	if (fstat(path_fd, ret) < 0)
		return -errno;
	if (!S_ISREG(ret->st_mode))
		return -EMEDIUMTYPE;
	if (ret->st_uid != j->uid && ret->st_uid != 0)
		return -EPERM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* ---- with a deadline ---- */

struct find_job {
	struct deadline_job job;
	int proc_fd; /* its own */
	int result;
	struct jit_files *found;
};

static void free_job(struct deadline_job *d)
{
	struct find_job *job = (struct find_job *)d;

	closep(&job->proc_fd);
	jit_files_unref(job->found);
	free(job);
}

static void run_job(struct deadline_job *d)
{
	struct find_job *job = (struct find_job *)d;

	job->result = jit_files_find(&job->found, job->proc_fd);
}

int jit_files_new(struct jit_files **ret, int proc_fd, struct mapped_file *dump,
		  struct deadline_caller *caller)
{
	struct find_job *job;
	int r;

	if (atomic_load_explicit(&n_held, memory_order_relaxed) >= most_held())
		return -EMFILE;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->job = (struct deadline_job){.run = run_job, .free = free_job, .key = CALL_KEY};
	job->proc_fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	/* a cast: gcc's analyzer takes a job for lost of which only a member is passed on */
	r = deadline_call(caller, (struct deadline_job *)job);
	if (r < 0) /* job is freed */
		return r;
	r = job->result;
	if (r == 0) {
		job->found->dump = dump ? mapped_file_ref(dump) : NULL;
		*ret = TAKE_PTR(job->found);
	}
	free_job(&job->job);
	return r;
}
