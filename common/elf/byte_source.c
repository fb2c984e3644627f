#include "common/elf/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/thread/deadline_call.h"

/* Most names are shorter; one read is then enough. */
#define FIRST_STRING_READ_BYTES 128

void byte_source_from_fd(struct byte_source *src, int fd, uint64_t size_bytes)
{
	*src = (struct byte_source){.fd = fd, .size_bytes = size_bytes};
}

void byte_source_from_slow_fd(struct byte_source *src, int fd, uint64_t size_bytes,
			      struct deadline_caller *caller, uint64_t dev)
{
	*src = (struct byte_source){
		.fd = fd, .size_bytes = size_bytes, .caller = caller, .dev = dev};
}

void byte_source_from_memory(struct byte_source *src, const void *data, size_t len)
{
	*src = (struct byte_source){.data = data, .fd = -1, .size_bytes = len};
}

void byte_source_from_reader(struct byte_source *src, byte_source_read_fn *read, void *ctx,
			     uint64_t size_bytes)
{
	*src = (struct byte_source){.fd = -1, .size_bytes = size_bytes, .read = read, .ctx = ctx};
}

static int read_with_budget(void *ctx, uint64_t offset, void *to, size_t len)
{
	struct byte_budget *b = ctx;

	if (len + BYTE_BUDGET_READ_BYTES > b->left_bytes) {
		b->left_bytes = 0;
		return -EFBIG;
	}
	b->left_bytes -= len + BYTE_BUDGET_READ_BYTES;
	return byte_source_read(b->src, offset, to, len);
}

void byte_source_with_budget(struct byte_source *src, struct byte_budget *b)
{
	byte_source_from_reader(src, read_with_budget, b, b->src->size_bytes);
}

static int read_fd(int fd, uint64_t offset, uint8_t *to, size_t len)
{
	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA; /* the file was truncated after it was opened */
		to += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Has a descriptor and a buffer of its own: it may outlive the call that waits for it. */
struct read_job {
	struct deadline_job job; /* first */
	int fd;
	uint64_t offset;
	size_t len;
	int result;
	uint8_t data[];
};

static void read_job_run(struct deadline_job *j)
{
	struct read_job *job = (struct read_job *)j;

	job->result = read_fd(job->fd, job->offset, job->data, job->len);
}

static void drop_read_job(struct read_job *job)
{
	closep(&job->fd);
	free(job);
}

static void read_job_free(struct deadline_job *j)
{
	drop_read_job((struct read_job *)j);
}

static struct read_job *read_job_new(const struct byte_source *src, uint64_t offset, size_t len)
{
	struct read_job *job = calloc(1, sizeof(*job) + len);

	if (!job)
		return NULL;
	job->job = (struct deadline_job){read_job_run, read_job_free, src->dev};
	job->fd = fcntl(src->fd, F_DUPFD_CLOEXEC, 0);
	job->offset = offset;
	job->len = len;
	return job;
}

static int read_slow(const struct byte_source *src, uint64_t offset, void *to, size_t len)
{
	struct read_job *job = read_job_new(src, offset, len);
	int r;

	if (!job)
		return -ENOMEM;
	r = deadline_call(src->caller, &job->job);
	if (r < 0)
		return r;
	r = job->result;
	if (r == 0)
		memcpy(to, job->data, len);
	drop_read_job(job);
	return r;
}

int byte_source_read(const struct byte_source *src, uint64_t offset, void *to, size_t len)
{
	if (offset > src->size_bytes || len > src->size_bytes - offset)
		return -ENODATA;
	if (src->read)
		return src->read(src->ctx, offset, to, len);
	if (!src->data && src->caller)
		return read_slow(src, offset, to, len);
	if (!src->data)
		return read_fd(src->fd, offset, to, len);
	if (len > 0)
		memcpy(to, src->data + offset, len);
	return 0;
}

int byte_source_read_string(const struct byte_source *src, uint64_t offset, uint64_t limit,
			    char *to, size_t cap)
{
	size_t have = 0, want;

	if (limit > src->size_bytes)
		limit = src->size_bytes;
	if (offset >= limit)
		return -ENODATA;
	if (cap > limit - offset)
		cap = (size_t)(limit - offset);
	want = cap < FIRST_STRING_READ_BYTES ? cap : FIRST_STRING_READ_BYTES;

	while (have < cap) {
		const char *end;
		int r;

		r = byte_source_read(src, offset + have, to + have, want - have);
		if (r < 0)
			return r;
		end = memchr(to + have, '\0', want - have);
		if (end)
			return (int)(end - to);
		have = want;
		want = cap;
	}
	return -ENAMETOOLONG;
}
