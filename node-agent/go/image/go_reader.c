#include "node-agent/go/image/go_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/system/clock.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/go/image/go_release.h"
#include "node-agent/procfs/procfs.h"

#define READ_TIMEOUT_NS (500 * NS_PER_MS)
#define HUNG_PAUSE_NS (60 * NS_PER_S)

struct go_reader {
	int root_fd;
	struct program_target_files files; /* owned */
	struct go_executables *executables;
	struct memory_windows *windows;
};

int go_reader_new(struct go_reader **ret, const char *proc_root)
{
	CLEANUP(go_reader_freep) struct go_reader *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	r->root_fd = open(proc_root ? proc_root : "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->root_fd < 0)
		return -errno;
	e = deadline_caller_new(&r->files.caller, READ_TIMEOUT_NS, HUNG_PAUSE_NS);
	if (e == 0)
		e = program_file_cache_new(&r->files.cache);
	if (e == 0)
		e = go_executables_new(&r->executables);
	if (e == 0)
		e = memory_windows_new(&r->windows);
	if (e < 0)
		return e;
	*ret = TAKE_PTR(r);
	return 0;
}

void go_reader_free(struct go_reader *r)
{
	if (!r)
		return;
	memory_windows_free(r->windows);
	go_executables_free(r->executables);
	program_file_cache_free(r->files.cache);
	deadline_caller_free(r->files.caller);
	closep(&r->root_fd);
	free(r);
}

int go_reader_root(const struct go_reader *r)
{
	return r->root_fd;
}

int go_reader_identify(const struct go_reader *r, pid_t pid, struct program_id *ret)
{
	return program_id_read(r->root_fd, pid, ret);
}

int go_reader_detect(struct go_reader *r, const struct program_id *id)
{
	struct program_target t;
	int e;

	e = program_target_open_file(&t, r->root_fd, id, &r->files);
	if (e == -ENOEXEC || e == -EBADMSG)
		return 0;
	if (e < 0)
		return e;
	e = go_release_detect(&t.layout, &t.file);
	program_target_close(&t);
	return e;
}

int go_reader_libraries(struct go_reader *r, const struct program_id *id, struct file_id *ids,
			size_t max)
{
	AUTO_CLOSE int fd = procfs_open_process(r->root_fd, id->pid);

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	return loaded_library_list(fd, &id->exe, r->files.caller, ids, max);
}

int go_reader_find(struct go_reader *r, pid_t pid, struct program_id *ret)
{
	AUTO_FREE struct file_id *keys = calloc(GO_READER_LIBRARIES_MAX, sizeof(*keys));
	int e, n = 0;

	if (!keys)
		return -ENOMEM;
	e = go_reader_identify(r, pid, ret);
	if (e == 0)
		e = go_reader_detect(r, ret);
	if (e == 0)
		n = go_reader_libraries(r, ret, keys, GO_READER_LIBRARIES_MAX);
	for (int i = 0; e == 0 && i < n; i++) {
		ret->library = keys[i];
		e = go_reader_detect(r, ret);
	}
	if (e != 0)
		return e < 0 ? e : 0;
	return n < 0 ? n : -ENOEXEC;
}

int go_reader_open(struct go_reader *r, const struct program_id *id, struct go_opened **ret)
{
	struct go_opened *o = calloc(1, sizeof(*o));
	int e;

	if (!o)
		return -ENOMEM;
	e = program_target_open(&o->target, r->root_fd, id, &r->files);
	if (e == 0) {
		e = go_runtime_open(&o->runtime, &o->target, r->executables, r->windows);
		e = e < 0 ? program_target_reason(&o->target, id, e) : e;
	}
	if (e < 0) {
		go_opened_close(o);
		return e;
	}
	*ret = o;
	return 0;
}

void go_opened_close(struct go_opened *o)
{
	if (!o)
		return;
	go_runtime_close(o->runtime);
	program_target_close(&o->target);
	free(o);
}

/* ---- errors in words ---- */

static const struct {
	int error;
	const char *text;
} reasons[] = {
	{-ESRCH, "no such process"},
	{-ENODATA, "the process exited while it was read"},
	{-EACCES, "permission denied: this needs the same user or CAP_SYS_PTRACE"},
	{-EPERM, "permission denied: this needs the same user or CAP_SYS_PTRACE"},
	{-ENOENT, "not a Go program, or its Go runtime was not found"},
	{-ENOEXEC, "not a Go program, and no Go library is loaded"},
	{-ENOTSUP, "unsupported release of Go: 1.13 to 1.27 are supported"},
	{-EBADMSG, "unexpected content in the memory of the process"},
	{-E2BIG, "more than 1,000,000 goroutines"},
	{-ETIME, "timed out while reading the process"},
	{-ENOBUFS, "too many different stacks"},
	{-EFBIG, "too many different stacks"},
};

const char *go_reader_error(int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].error == error)
			return reasons[i].text;
	}
	return strerror(-error);
}
