/*
 * Linkers place a file's segments at fixed distances, so the address of any of them says where the
 * code belongs. A JIT compiler may have taken that place for code of its own, so bytes from all
 * over it are compared with the file's: nothing is relocated in code.
 *
 * Memory of a process may be such that reading it never returns (userfaultfd(2)), so this has a
 * deadline.
 */
#include "node-agent/process/moved_text.h"

#include <errno.h>
#include <fcntl.h>

#include "common/elf/byte_source.h"
#include "common/thread/deadline_call.h"
#include "node-agent/files/file_registry.h"

#define WINDOWS 16u
#define WINDOW_BYTES 64u
/* Padding is the same everywhere: so many windows must have something to say. */
#define TELLING_WINDOWS (WINDOWS / 2)
#define NOT_A_DEVICE (UINT64_C(3) << 62) /* nor the key of a process's lock (memory_lock.c) */

struct memory_job {
	struct deadline_job job; /* first */
	int proc_fd;             /* owned: the job may outlive the caller's */
	uint64_t start, end;
	bool is_read;
	uint8_t bytes[WINDOWS][WINDOW_BYTES];
};

static uint64_t window_at(uint64_t start, uint64_t end, unsigned i)
{
	return start + (end - start - WINDOW_BYTES) / (WINDOWS - 1) * i;
}

static void read_windows(struct deadline_job *j)
{
	struct memory_job *job = (struct memory_job *)j;
	AUTO_CLOSE int fd = openat(job->proc_fd, "mem", O_RDONLY | O_CLOEXEC);

	job->is_read = fd >= 0;
	for (unsigned i = 0; job->is_read && i < WINDOWS; i++)
		job->is_read = pread(fd, job->bytes[i], WINDOW_BYTES,
				     (off_t)window_at(job->start, job->end, i)) == WINDOW_BYTES;
}

static void free_job(struct deadline_job *j)
{
	struct memory_job *job = (struct memory_job *)j;

	closep(&job->proc_fd);
	free(job);
}

/* Returns 0, -ENOMEM, or another -errno. */
static int read_memory(struct file_registry *files, int proc_fd, uint64_t start, uint64_t end,
		       struct memory_job **ret)
{
	AUTO_CLOSE int fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	struct memory_job *job;
	int r;

	if (fd < 0)
		return -errno;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->job = (struct deadline_job){
		.run = read_windows,
		.free = free_job,
		.key = NOT_A_DEVICE ^ start,
		.once = true,
	};
	job->start = start;
	job->end = end;
	job->proc_fd = TAKE_FD(fd);
	r = deadline_call(file_registry_caller(files), &job->job);
	if (r == 0)
		*ret = job;
	return r;
}

static bool is_padding(const uint8_t *bytes)
{
	return memcmp(bytes, bytes + 1, WINDOW_BYTES - 1) == 0;
}

static int compare_windows(struct file_registry *files, const struct mapped_file *file,
			   const struct memory_job *job, uint64_t offset)
{
	uint8_t bytes[WINDOW_BYTES];
	struct byte_source src;
	unsigned n_telling = 0;

	file_registry_source(files, file, &src);
	for (unsigned i = 0; i < WINDOWS; i++) {
		uint64_t at = window_at(job->start, job->end, i) - job->start;

		if (byte_source_read(&src, offset + at, bytes, sizeof(bytes)) < 0 ||
		    memcmp(bytes, job->bytes[i], sizeof(bytes)) != 0)
			return -ENOENT;
		n_telling += !is_padding(bytes);
	}
	return n_telling >= TELLING_WINDOWS ? 0 : -ENOENT;
}

/* Returns 0 if the memory has what the file has from this offset on, -ENOENT if not, or -ENOMEM. */
static int compare(struct file_registry *files, int proc_fd, const struct mapped_file *file,
		   uint64_t start, uint64_t end, uint64_t offset)
{
	struct memory_job *job = NULL;
	int r = read_memory(files, proc_fd, start, end, &job);

	if (!job)
		return r == -ENOMEM ? r : -ENOENT;
	r = job->is_read ? compare_windows(files, file, job, offset) : -ENOENT;
	free_job(&job->job);
	return r;
}

static uint64_t page_down(uint64_t n)
{
	return n & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

static uint64_t page_up(uint64_t n)
{
	return page_down(n + (uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Whether code of the file belongs there if it is loaded with this bias. */
static bool has_code(const struct file_text *text, uint64_t bias, uint64_t start, uint64_t end,
		     uint64_t *ret_offset)
{
	for (size_t i = 0; i < text->n_segments; i++) {
		const struct file_segment *s = &text->segments[i];
		uint64_t from = bias + page_down(s->vaddr);

		if (start < from || end > bias + page_up(s->vaddr + s->file_bytes))
			continue;
		*ret_offset = page_down(s->offset) + (start - from);
		return true;
	}
	return false;
}

static bool is_in(const struct file_segment *s, uint64_t offset)
{
	return offset >= page_down(s->offset) && offset < s->offset + s->file_bytes;
}

/* Two segments may share a page of the file, and only one of them fits. */
static int find_offset(const struct file_text *text, const struct text_rest *rest, uint64_t start,
		       uint64_t end, uint64_t *ret)
{
	for (size_t i = 0; i < text->n_loaded; i++) {
		const struct file_segment *s = &text->segments[i];
		uint64_t bias = rest->start - (s->vaddr - s->offset + rest->file_offset);

		if (is_in(s, rest->file_offset) && (bias == 0 || text->relocatable) &&
		    has_code(text, bias, start, end, ret))
			return 0;
	}
	return -ENOENT;
}

int moved_text_find(struct file_registry *files, int proc_fd, const struct text_rest *rest,
		    uint64_t start, uint64_t end, uint64_t *ret_offset)
{
	const struct file_text *text;
	uint64_t offset;
	int r = file_registry_text(files, rest->file, &text);

	if (r < 0 || end - start < WINDOWS * WINDOW_BYTES)
		return r == -ENOMEM ? r : -ENOENT;
	if (find_offset(text, rest, start, end, &offset) < 0)
		return -ENOENT;
	r = compare(files, proc_fd, rest->file, start, end, offset);
	if (r == 0)
		*ret_offset = offset;
	return r;
}
