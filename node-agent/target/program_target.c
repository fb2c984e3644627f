/*
 * Everything under /proc/<pid> may belong to another process by the time we read it: the
 * process may exit and its pid be reused, or it may call execve(2). Two things are reliable.
 * A descriptor of /proc/<pid>/mem stays bound to the address space it was opened for, and
 * reads nothing once that is gone. A descriptor of /proc/<pid> stays bound to the process. So
 * the folder is opened first, then the memory, and everything else is verified afterwards:
 * the start time, the executable's inode, and that no execve(2) happened while we opened
 * files (the auxiliary vector, which has addresses chosen at random for each image, is the
 * same before and after). Only then do the memory, the file and the load address fit
 * together.
 *
 * Opening or reading a file on a hung file system (NFS, FUSE) blocks in the kernel, and no
 * signal but SIGKILL ends that. So files are opened by another thread with a deadline, unless
 * the cache says that this file's system answers. Reading a process's memory can block in the
 * same way if a page is mapped from such a file and not in the page cache. Then memory is
 * read by two sources: addresses within the file's mappings with a deadline, all others
 * directly.
 */
#include "node-agent/target/program_target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "node-agent/files/file_finder.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/procfs/procfs.h"

#define RANDOM_BYTES 16                /* of AT_RANDOM */
#define AUXV_MAX_WORDS 512u            /* it has some forty, and is read at once */
#define MEMORY_END (UINT64_C(1) << 48) /* of addresses that programs use; arm64 uses all 48 bits */

/* ---- memory and file ---- */

struct opened_exe {
	int fd; /* owned by the caller; -1 if none */
	bool regular;
	enum fs_kind fs;
	struct file_version version;
};

struct open_job {
	struct deadline_job job; /* first */
	int proc_fd;             /* owned */
	int result;
	struct opened_exe exe;
};

/* Only pages mapped from the file may wait for its file system. */
static int read_memory(void *ctx, uint64_t offset, void *to, size_t len)
{
	const struct program_target *t = ctx;
	bool mapped = elf_layout_is_mapped(&t->layout, offset - t->bias, len,
					   (uint64_t)sysconf(_SC_PAGESIZE));

	return byte_source_read(mapped ? &t->mapped : &t->anonymous, offset, to, len);
}

static void set_sources(struct program_target *t, uint64_t size_bytes, const uint64_t *hung_dev,
			struct deadline_caller *caller)
{
	if (!hung_dev) {
		byte_source_from_fd(&t->file, t->exe_fd, size_bytes);
		byte_source_from_fd(&t->memory, t->mem_fd, MEMORY_END);
		return;
	}
	byte_source_from_slow_fd(&t->file, t->exe_fd, size_bytes, caller, *hung_dev);
	byte_source_from_slow_fd(&t->mapped, t->mem_fd, MEMORY_END, caller, *hung_dev);
	byte_source_from_fd(&t->anonymous, t->mem_fd, MEMORY_END);
	byte_source_from_reader(&t->memory, read_memory, t, MEMORY_END);
}

/* Not cached for remote file systems, where a file may change without its ctime saying so here. */
static int read_layout(struct program_target *t, const struct file_version *file, enum fs_kind fs,
		       struct program_file_cache *cache)
{
	struct program_file_facts found;
	int r;

	if (fs == FS_OTHER || !cache)
		return elf_layout_parse(&t->layout, &t->file);
	t->facts = program_file_cache_find(cache, file);
	if (t->facts) {
		t->layout = t->facts->layout;
		return 0;
	}
	r = elf_layout_parse(&t->layout, &t->file);
	found = (struct program_file_facts){.may_hang = fs != FS_LOCAL, .layout = t->layout};
	if (r < 0)
		return r;
	r = program_file_cache_add(cache, file, &found);
	if (r < 0)
		return r;
	t->facts = program_file_cache_find(cache, file);
	return 0;
}

/* ---- the executable ---- */

static int open_exe(int proc_fd, struct opened_exe *ret)
{
	int r;

	ret->fd = openat(proc_fd, "exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (ret->fd < 0)
		return -errno;
	r = file_version_read(ret->fd, "", &ret->version, &ret->regular);
	if (r == 0)
		ret->fs = local_fs_kind(ret->fd);
	return r;
}

static void open_job_run(struct deadline_job *j)
{
	struct open_job *job = (struct open_job *)j;

	job->result = open_exe(job->proc_fd, &job->exe);
}

static void open_job_free(struct deadline_job *j)
{
	struct open_job *job = (struct open_job *)j;

	closep(&job->proc_fd);
	closep(&job->exe.fd);
	free(job);
}

static int open_exe_in_time(int proc_fd, uint64_t dev, struct deadline_caller *caller,
			    struct opened_exe *ret)
{
	struct open_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->job = (struct deadline_job){open_job_run, open_job_free, dev};
	job->exe.fd = -1;
	job->proc_fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	r = deadline_call(caller, &job->job);
	if (r < 0)
		return r;
	r = job->result;
	*ret = job->exe;
	job->exe.fd = -1;
	open_job_free(&job->job);
	return r;
}

/*
 * Whether the file system is known to answer, so that no other thread is needed to open the
 * file.
 */
static bool answers(int proc_fd, const struct program_file_cache *cache)
{
	const struct program_file_facts *known = NULL;
	struct file_version now;

	if (cache && file_version_read(proc_fd, "exe", &now, NULL) == 0)
		known = program_file_cache_find(cache, &now);
	return known && !known->may_hang;
}

static int open_executable(struct program_target *t, const struct file_id *key,
			   const struct program_target_files *files)
{
	struct opened_exe exe = {.fd = -1};
	int r;

	r = answers(t->proc_fd, files->cache)
		    ? open_exe(t->proc_fd, &exe)
		    : open_exe_in_time(t->proc_fd, key->dev, files->caller, &exe);
	t->exe_fd = exe.fd;
	/* size and mtime are not compared: a file may be truncated or grow while it is executed */
	if (r == 0 && (!exe.regular || !file_id_same_file(&exe.version.id, key)))
		r = -ESRCH;
	if (r < 0)
		return r;
	set_sources(t, exe.version.id.size_bytes, exe.fs == FS_LOCAL ? NULL : &key->dev,
		    files->caller);
	return read_layout(t, &exe.version, exe.fs, files->cache);
}

/* ---- the process ---- */

/* From the auxiliary vector, which the kernel makes for each execve(2). */
struct auxv {
	uint64_t entry;  /* address of the executable's first instruction */
	uint64_t random; /* address of random bytes; 0 if there are none */
	uint64_t image;  /* hash of the whole vector, which has addresses chosen at random */
};

static int read_auxv(int proc_fd, struct auxv *ret)
{
	uint64_t words[AUXV_MAX_WORDS];
	AUTO_CLOSE int fd = openat(proc_fd, "auxv", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, words, sizeof(words));
	struct auxv a = {0};

	if (n < 0)
		return -errno;
	if (n == sizeof(words))
		return -EFBIG;
	for (size_t i = 0; (i + 2) * sizeof(*words) <= (size_t)n; i += 2) {
		if (words[i] == AT_ENTRY)
			a.entry = words[i + 1];
		else if (words[i] == AT_RANDOM)
			a.random = words[i + 1];
	}
	a.image = XXH3_64bits(words, (size_t)n);
	*ret = a;
	return a.entry != 0 ? 0 : -ESRCH; /* the vector of an exiting process is empty */
}

static int check_identity(int proc_fd, const struct program_id *id, struct proc_stat *ret)
{
	int r = procfs_read_stat(proc_fd, ret);

	if (r < 0)
		return r;
	return ret->start_time == id->start_time && !ret->ended ? 0 : -ESRCH;
}

static int open_folder(struct program_target *t, int root_fd, const struct program_id *id)
{
	*t = (struct program_target){
		.pid = id->pid,
		.start_time = id->start_time,
		.proc_fd = -1,
		.mem_fd = -1,
		.exe_fd = -1,
	};
	t->proc_fd = procfs_open_process(root_fd, id->pid);
	return t->proc_fd < 0 ? t->proc_fd : 0;
}

/*
 * Closes t after an error. If the process has just exited, its files are missing or its links
 * may not be followed: that is -ESRCH.
 */
static int finish_open(struct program_target *t, const struct program_id *id, int r)
{
	struct proc_stat st;

	if (r == -ENOENT ||
	    ((r == -EACCES || r == -EPERM) && check_identity(t->proc_fd, id, &st) < 0))
		r = -ESRCH;
	if (r < 0)
		program_target_close(t);
	return r;
}

/* Returns -ESRCH if the process has executed another file since. */
static int check_executable(const struct program_target *t, const struct program_id *id)
{
	struct file_id exe = {0};
	int r = procfs_read_exe_id(t->proc_fd, &exe);

	if (r < 0)
		return r;
	return file_id_same_file(&exe, &id->exe) ? 0 : -ESRCH;
}

static int open_library(struct program_target *t, const struct program_id *id,
			const struct program_target_files *files, struct loaded_library *ret)
{
	const uint64_t *dev = &id->library.dev;
	struct file_version version;
	int r = check_executable(t, id);

	if (r == 0)
		r = loaded_library_open(t->proc_fd, &id->library, files->caller, ret);
	if (r < 0)
		return r;
	t->exe_fd = ret->fd;
	set_sources(t, ret->size_bytes, ret->may_hang ? dev : NULL, files->caller);
	if (ret->may_hang)
		return read_layout(t, NULL, FS_OTHER, files->cache);
	r = file_version_read(t->exe_fd, "", &version, NULL);
	return r < 0 ? r : read_layout(t, &version, FS_LOCAL, files->cache);
}

/*
 * Only its mapping says where a library was loaded; the auxiliary vector knows the executable
 * alone.
 */
static int find_bias(struct program_target *t, const struct loaded_library *library)
{
	uint64_t vaddr;
	int r = elf_layout_address(&t->layout, library->file_offset, &vaddr);

	if (r < 0)
		return -EBADMSG;
	t->bias = library->start - vaddr;
	return 0;
}

/* Opens everything but the memory, which must be open already if it is wanted. */
static int open_rest(struct program_target *t, const struct program_id *id,
		     const struct program_target_files *files)
{
	bool is_library = id->library.ino != 0;
	struct loaded_library library;
	int r;

	r = check_identity(t->proc_fd, id, &t->stat);
	if (r == 0)
		r = is_library ? open_library(t, id, files, &library)
			       : open_executable(t, &id->exe, files);
	if (r == 0 && is_library)
		r = find_bias(t, &library);
	return r == -ENODATA ? -EBADMSG : r; /* -ENODATA: the file is truncated */
}

int program_target_open_file(struct program_target *ret, int root_fd, const struct program_id *id,
			     const struct program_target_files *files)
{
	int r;

	r = open_folder(ret, root_fd, id);
	if (r == 0)
		r = open_rest(ret, id, files);
	return finish_open(ret, id, r);
}

/* If the image is the same before and after, the memory opened in between belongs to it. */
static int open_memory(struct program_target *t, uint64_t *ret_entry)
{
	struct auxv before, after;
	int r;

	r = read_auxv(t->proc_fd, &before);
	if (r < 0)
		return r;
	t->mem_fd = openat(t->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	if (t->mem_fd < 0)
		return -errno;
	r = read_auxv(t->proc_fd, &after);
	if (r < 0)
		return r;
	*ret_entry = after.entry;
	t->image = after.image;
	return before.image == after.image ? 0 : -ESRCH;
}

int program_target_open(struct program_target *ret, int root_fd, const struct program_id *id,
			const struct program_target_files *files)
{
	uint64_t entry = 0;
	int r;

	r = open_folder(ret, root_fd, id);
	if (r == 0)
		r = open_memory(ret, &entry);
	if (r == 0)
		r = open_rest(ret, id, files);
	if (r == 0 && id->library.ino == 0 && ret->layout.relocatable)
		ret->bias = entry - ret->layout.entry;
	return finish_open(ret, id, r);
}

void program_target_close(struct program_target *t)
{
	closep(&t->exe_fd);
	closep(&t->mem_fd);
	closep(&t->proc_fd);
	t->exe_fd = t->mem_fd = t->proc_fd = -1;
}

bool program_target_is_current(const struct program_target *t, const struct program_id *id)
{
	struct proc_stat st;
	struct auxv now;

	return check_identity(t->proc_fd, id, &st) == 0 && check_executable(t, id) == 0 &&
	       read_auxv(t->proc_fd, &now) == 0 && now.image == t->image;
}

/*
 * With address randomisation disabled, a parent and child that execute the same file may have
 * equal auxiliary vectors. The random bytes of AT_RANDOM are different then.
 */
bool program_target_is_copy(const struct program_target *t, int root_fd)
{
	AUTO_CLOSE int proc_fd = procfs_open_process(root_fd, t->stat.parent);
	AUTO_CLOSE int mem_fd = -1;
	uint8_t ours[RANDOM_BYTES], theirs[RANDOM_BYTES];
	struct auxv parent;

	if (proc_fd < 0 || read_auxv(proc_fd, &parent) < 0 || parent.image != t->image)
		return false;
	mem_fd = openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	return mem_fd >= 0 &&
	       pread(t->mem_fd, ours, sizeof(ours), (off_t)parent.random) == sizeof(ours) &&
	       pread(mem_fd, theirs, sizeof(theirs), (off_t)parent.random) == sizeof(theirs) &&
	       memcmp(ours, theirs, sizeof(ours)) == 0;
}

bool program_target_shares_clock(const struct program_target *t)
{
	struct stat its, ours;

	return fstatat(t->proc_fd, "ns/time", &its, 0) < 0 ||
	       stat("/proc/self/ns/time", &ours) < 0 ||
	       (its.st_dev == ours.st_dev && its.st_ino == ours.st_ino);
}

int program_target_reason(const struct program_target *t, const struct program_id *id, int error)
{
	if (error == -ENOMEM)
		return error;
	if (!program_target_is_current(t, id))
		return -ESRCH;
	return error == -ENODATA ? -EBADMSG : error;
}
