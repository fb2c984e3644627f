#include "common/system/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* Records of one writev(2); each is a header, a payload and padding. */
#define BATCH 64u
_Static_assert(3 * BATCH <= IOV_MAX, "of one call");

int record_dir_sync(int dir_fd)
{
	/* the given descriptor may be of O_PATH */
	AUTO_CLOSE int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

/* Writes all of it, or returns -errno. */
static int write_all(int fd, struct iovec *v, int n, uint64_t offset)
{
	while (n > 0) {
		ssize_t done = pwritev(fd, v, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		offset += (uint64_t)done;
		for (; n > 0 && (size_t)done >= v->iov_len; v++, n--)
			done -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return 0;
}

static int write_file_header(struct record_file *f, int dir_fd)
{
	uint8_t header[RECORD_FILE_HEADER_BYTES];
	struct iovec v = {.iov_base = header, .iov_len = sizeof(header)};
	int r;

	record_file_header_encode(header, &f->header);
	r = write_all(f->fd, &v, 1, 0);
	if (r == 0 && fsync(f->fd) < 0)
		r = -errno;
	return r < 0 ? r : record_dir_sync(dir_fd);
}

int record_file_create(struct record_file *ret, int dir_fd, const char *name, uint32_t type,
		       uint32_t version)
{
	CLEANUP(record_file_close)
	struct record_file f = {
		.fd = -1,
		.end = RECORD_FILE_HEADER_BYTES,
		.header = {.type = type, .version = version},
	};
	int r;

	if (getrandom(f.header.id, sizeof(f.header.id), 0) != (ssize_t)sizeof(f.header.id))
		return -EIO;
	f.fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (f.fd < 0)
		return -errno;
	r = write_file_header(&f, dir_fd);
	if (r < 0) {
		(void)unlinkat(dir_fd, name, 0);
		return r;
	}
	*ret = f;
	f.fd = -1;
	return 0;
}

static int read_header(const struct record_file *f, struct record_file_header *ret)
{
	uint8_t header[RECORD_FILE_HEADER_BYTES];
	ssize_t n;

	do
		n = pread(f->fd, header, sizeof(header), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return record_file_header_parse(ret, header, (size_t)n);
}

int record_file_open(struct record_file *ret, int dir_fd, const char *name, uint32_t type,
		     uint32_t version)
{
	CLEANUP(record_file_close) struct record_file f = {.fd = -1};
	struct stat st;
	int r;

	/* O_NONBLOCK: a FIFO of this name must not make us wait */
	f.fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f.fd < 0 || fstat(f.fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	r = read_header(&f, &f.header);
	if (r == 0)
		r = record_file_header_check(&f.header, type, version);
	if (r < 0)
		return r;
	f.end = (uint64_t)st.st_size;
	*ret = f;
	f.fd = -1;
	return 0;
}

void record_file_close(struct record_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* The calls that write do not change what they are given. */
static struct iovec part(const void *data, size_t len)
{
	const union {
		const void *in;
		void *out;
	} pointer = {.in = data};

	return (struct iovec){.iov_base = pointer.out, .iov_len = len};
}

/* Writes up to BATCH records at f->end and advances it. */
static int append_batch(struct record_file *f, const struct record_data *records, size_t n)
{
	static const uint8_t zeros[8];
	uint8_t headers[BATCH][RECORD_HEADER_BYTES];
	struct iovec v[3 * BATCH];
	uint64_t end = f->end;
	int n_v = 0, r;

	for (size_t i = 0; i < n; i++) {
		const struct record_data *d = &records[i];
		const struct record_header h = {.kind = d->kind, .len = d->len, .sum = d->sum};
		size_t n_padding = record_size(d->len) - RECORD_HEADER_BYTES - d->len;

		record_header_encode(headers[i], &h, &f->header, end);
		v[n_v++] = part(headers[i], RECORD_HEADER_BYTES);
		v[n_v++] = part(d->payload, d->len);
		v[n_v++] = part(zeros, n_padding);
		end += record_size(d->len);
	}
	r = write_all(f->fd, v, n_v, f->end);
	if (r == 0)
		f->end = end;
	return r;
}

int record_file_append(struct record_file *f, const struct record_data *records, size_t n)
{
	uint64_t before = f->end;

	if (f->is_closed)
		return -EIO;
	for (size_t i = 0; i < n; i++) {
		if (records[i].len > RECORD_MAX_BYTES)
			return -EFBIG;
	}
	while (n > 0) {
		size_t batch = n < BATCH ? n : BATCH;
		int r = append_batch(f, records, batch);

		if (r < 0) {
			if (record_file_cut(f, before) < 0)
				f->is_closed = true;
			f->end = before;
			return r;
		}
		records += batch;
		n -= batch;
	}
	return 0;
}

int record_file_add(struct record_file *f, uint32_t kind, const void *payload, size_t len)
{
	const struct record_data d = {
		.kind = kind,
		.len = (uint32_t)len,
		.payload = payload,
		.sum = record_sum(payload, len),
	};

	return len > RECORD_MAX_BYTES ? -EFBIG : record_file_append(f, &d, 1);
}

int record_file_sync(struct record_file *f)
{
	return fdatasync(f->fd) < 0 ? -errno : 0;
}

int record_file_cut(struct record_file *f, uint64_t offset)
{
	if (ftruncate(f->fd, (off_t)offset) < 0)
		return -errno;
	f->end = offset;
	return 0;
}

/* Reads exactly len bytes. Returns 0, -ENODATA if the file ends before, or -errno. */
static int read_at(int fd, uint64_t offset, void *data, size_t len)
{
	char *to = data;

	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		to += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int record_file_read(struct record_file *f, uint64_t offset, struct record *ret, struct buf *out)
{
	uint8_t raw[RECORD_HEADER_BYTES];
	struct record_header h;
	int r;

	if (offset >= f->end)
		return -ENODATA;
	r = read_at(f->fd, offset, raw, sizeof(raw));
	if (r == 0)
		r = record_header_parse(&h, raw, &f->header, offset);
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	r = buf_reserve(out, h.len);
	if (r < 0)
		return r;
	r = read_at(f->fd, offset + RECORD_HEADER_BYTES, out->data + out->len, h.len);
	if (r == 0 && record_sum(out->data + out->len, h.len) != h.sum)
		r = -EBADMSG;
	if (r < 0) {
		out->data[out->len] = '\0';
		return r == -ENODATA ? -EBADMSG : r;
	}
	out->len += h.len;
	out->data[out->len] = '\0';
	*ret = (struct record){.kind = h.kind, .len = h.len, .offset = offset};
	return 0;
}
