#include "node-agent/procfs/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include "common/system/fs.h"
#include "common/text/parse.h"
#include "node-agent/procfs/proc_maps.h"
#include "node-agent/procfs/procmap_query.h"

#define STAT_MAX_BYTES 4096
#define STATM_MAX_BYTES 256
#define STATM_ALL 0 /* as proc(5) orders them */
#define STATM_DATA 5
#define FIELD_PARENT 4 /* as proc(5) counts them */
#define FIELD_FLAGS 9
#define FIELD_START_TIME 22
#define FIELD_START_CODE 26
#define FIELD_START_STACK 28
#define FIELD_ENVIRON_START 50
#define FIELD_ENVIRON_END 51
#define FIRST_FIELD_AFTER_COMM 3
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

/* Parses the number that n others and a blank each come before, and a blank after. */
static int take_number(const char *text, const char *end, int n, uint64_t *ret)
{
	const char *p = text, *stop;

	for (int i = 0; i < n; i++) {
		p = memchr(p, ' ', (size_t)(end - p));
		if (!p)
			return -EBADMSG;
		p++;
	}
	stop = memchr(p, ' ', (size_t)(end - p));
	if (!stop)
		return -EBADMSG;
	return parse_u64(p, (size_t)(stop - p), 0, UINT64_MAX, ret) < 0 ? -EBADMSG : 0;
}

/* Parses a numeric field; text starts at the first field after the name. */
static int take_field(const char *text, const char *end, int field, uint64_t *ret)
{
	return take_number(text, end, field - FIRST_FIELD_AFTER_COMM, ret);
}

int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret)
{
	/* the process chooses its name, which may contain ')' and spaces */
	const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len);
	const char *end = text + len;
	struct proc_stat s = {0};
	uint64_t parent, flags;
	size_t comm_len;

	if (!open || !close || close < open || end - close < 3)
		return -EBADMSG;
	if (take_field(close + 2, end, FIELD_PARENT, &parent) < 0 || parent > INT32_MAX ||
	    take_field(close + 2, end, FIELD_FLAGS, &flags) < 0 ||
	    take_field(close + 2, end, FIELD_START_TIME, &s.start_time) < 0)
		return -EBADMSG;
	comm_len = (size_t)(close - open - 1);
	if (comm_len >= sizeof(s.comm)) /* kernel workers append what they work on */
		comm_len = sizeof(s.comm) - 1;
	memcpy(s.comm, open + 1, comm_len);
	s.parent = (pid_t)parent;
	if (take_field(close + 2, end, FIELD_START_CODE, &s.start_code) < 0 ||
	    take_field(close + 2, end, FIELD_START_STACK, &s.start_stack) < 0 ||
	    take_field(close + 2, end, FIELD_ENVIRON_START, &s.environ_start) < 0 ||
	    take_field(close + 2, end, FIELD_ENVIRON_END, &s.environ_end) < 0)
		s.start_code = s.start_stack = s.environ_start = s.environ_end = UINT64_MAX;
	s.kernel_thread = flags & PF_KTHREAD;
	s.ended = close[2] == 'Z' || close[2] == 'X';
	s.exiting = s.ended || (flags & PF_EXITING);
	*ret = s;
	return 0;
}

struct each_pid {
	int (*fn)(void *ctx, pid_t pid);
	void *ctx;
};

static int see_name(void *ctx, const char *name)
{
	const struct each_pid *e = ctx;
	uint64_t pid;

	if (parse_u64(name, strlen(name), 1, INT32_MAX, &pid) < 0)
		return 0;
	return e->fn(e->ctx, (pid_t)pid);
}

int procfs_each_pid(int root_fd, int (*fn)(void *ctx, pid_t pid), void *ctx)
{
	struct each_pid e = {.fn = fn, .ctx = ctx};

	return fs_each_name(root_fd, see_name, &e);
}

int procfs_open_process(int root_fd, pid_t pid)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%d", (int)pid);
	fd = openat(root_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int procfs_read_stat(int proc_fd, struct proc_stat *ret)
{
	char text[STAT_MAX_BYTES];
	AUTO_CLOSE int fd = -1;
	ssize_t n;

	fd = openat(proc_fd, "stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	return proc_stat_parse(text, (size_t)n, ret);
}

int procfs_read_library_pages(int root_fd, pid_t pid, uint64_t *ret)
{
	char name[32], text[STATM_MAX_BYTES];
	uint64_t all, data;
	AUTO_CLOSE int fd = -1;
	ssize_t n;

	snprintf(name, sizeof(name), "%d/statm", (int)pid);
	fd = openat(root_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	if (take_number(text, text + n, STATM_ALL, &all) < 0 ||
	    take_number(text, text + n, STATM_DATA, &data) < 0 || data > all)
		return -EBADMSG;
	*ret = all - data;
	return 0;
}

int procfs_read_exe_id(int proc_fd, struct file_id *ret)
{
	struct file_version version;
	int r = file_version_read(proc_fd, "exe", &version, NULL);

	if (r == 0)
		*ret = version.id;
	return r;
}

int program_id_read(int root_fd, pid_t pid, struct program_id *ret)
{
	AUTO_CLOSE int fd = procfs_open_process(root_fd, pid);
	struct proc_stat st;
	int e;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	e = procfs_read_stat(fd, &st);
	if (e < 0)
		return e;
	*ret = (struct program_id){.pid = pid, .start_time = st.start_time};
	return st.kernel_thread || st.exiting ? -ENOENT : procfs_read_exe_id(fd, &ret->exe);
}

int procfs_read_link(int proc_fd, const char *name, char **ret)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(proc_fd, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(target) - 1)
		return -ENAMETOOLONG;
	target[n] = '\0';
	*ret = strdup(target);
	return *ret ? 0 : -ENOMEM;
}

/*
 * Calls fn with the complete lines of text[0..len). The last *ret_rest bytes are an incomplete
 * line.
 */
static int each_line(const char *text, size_t len,
		     int (*fn)(void *ctx, const char *line, size_t len), void *ctx,
		     size_t *ret_rest)
{
	const char *p = text, *end = text + len, *newline;
	int r = 0;

	while (r == 0 && (newline = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		r = fn(ctx, p, (size_t)(newline - p));
		p = newline + 1;
	}
	*ret_rest = (size_t)(end - p);
	return r;
}

int procfs_each_map(int proc_fd, size_t max_bytes,
		    int (*fn)(void *ctx, const char *line, size_t len), void *ctx)
{
	/* a line is some numbers and a path, which escapes make up to four times as long */
	char text[4 * PATH_MAX + 4096];
	AUTO_CLOSE int fd = -1;
	size_t total = 0, rest = 0;

	fd = openat(proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(fd, text + rest, sizeof(text) - rest);
		size_t len;
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		len = rest + (size_t)n;
		r = each_line(text, len, fn, ctx, &rest);
		if (r != 0)
			return r;
		total += (size_t)n;
		if (total > max_bytes || rest == sizeof(text))
			return -EFBIG;
		memmove(text, text + len - rest, rest);
	}
}

/* As in maps: a newline becomes \012. name has room for four times its length. */
static size_t escape_newlines(char *name, size_t len)
{
	static const char newline[4] = {'\\', '0', '1', '2'};
	size_t n = 0, to, escaped;

	for (size_t i = 0; i < len; i++)
		n += name[i] == '\n';
	to = escaped = len + (sizeof(newline) - 1) * n;
	for (size_t from = len; n > 0; from--) {
		if (name[from - 1] != '\n') {
			name[--to] = name[from - 1];
			continue;
		}
		to -= sizeof(newline);
		memcpy(name + to, newline, sizeof(newline));
		n--;
	}
	return escaped;
}

int procfs_query_map(int maps_fd, uint64_t addr, char *name, struct proc_map *ret)
{
	struct procmap_request request = {
		.size = sizeof(request),
		.flags = PROCMAP_REQUEST_EXECUTABLE,
		.address = addr,
		.name_bytes = PATH_MAX,
		.name = (uintptr_t)name,
	};
	struct proc_map m;
	size_t len;

	if (ioctl(maps_fd, PROCMAP_REQUEST, &request) < 0)
		return -errno;
	m = (struct proc_map){
		.start = request.start,
		.end = request.end,
		.file_offset = request.file_offset,
		.dev_major = request.dev_major,
		.dev_minor = request.dev_minor,
		.ino = request.ino,
	};
	len = request.name_bytes > 0 ? request.name_bytes - 1 : 0;
	proc_map_set_path(&m, name, escape_newlines(name, len));
	*ret = m;
	return 0;
}

/* ---- the vDSO ---- */

#define VDSO_MAX_BYTES (1u << 20)
#define MAPS_MAX_BYTES ((size_t)16 * 1024 * 1024)

struct search {
	uint64_t start;
	uint64_t end; /* 0 until the mapping is found */
};

static int on_mapping(void *ctx, const char *line, size_t len)
{
	struct search *s = ctx;
	struct proc_map m;

	if (proc_map_parse(line, len, &m) == 0 && m.start == s->start)
		s->end = m.end;
	return s->end != 0;
}

/* Returns the end of our own mapping that starts here, or 0 if there is none. */
static uint64_t mapping_end(uint64_t start)
{
	AUTO_CLOSE int self_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct search s = {.start = start};

	return procfs_each_map(self_fd, MAPS_MAX_BYTES, on_mapping, &s) < 0 ? 0 : s.end;
}

int vdso_image_copy(void **ret, size_t *ret_len)
{
	const void *start =
		(const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
	uint64_t end;
	size_t len;
	void *copy;

	if (!start)
		return -ENOENT;
	end = mapping_end((uintptr_t)start);
	if (end <= (uintptr_t)start || end - (uintptr_t)start > VDSO_MAX_BYTES)
		return -ENOENT;
	len = (size_t)(end - (uintptr_t)start);
	copy = malloc(len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, start, len);
	*ret = copy;
	*ret_len = len;
	return 0;
}
