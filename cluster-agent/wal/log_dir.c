#include "cluster-agent/wal/log_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "common/data/array.h"
#include "common/system/clock.h"
#include "common/system/fs.h"

#define NUMBER_DIGITS 16

static const char *const suffixes[LOG_FILE_KIND_MAX] = {
	[LOG_FILE_SEGMENT] = ".segment",
	[LOG_FILE_IDS] = ".ids",
	[LOG_FILE_DAMAGED] = ".damaged",
	[LOG_FILE_REFUSED] = ".refused",
};

void log_file_name(char ret[LOG_FILE_NAME_BYTES], uint64_t number, enum log_file_kind kind)
{
	(void)snprintf(ret, LOG_FILE_NAME_BYTES, "%016" PRIx64 "%s", number, suffixes[kind]);
}

bool log_file_parse(struct log_file *ret, const char *name)
{
	struct log_file f = {0};

	for (int i = 0; i < NUMBER_DIGITS; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = name[i] ? strchr(digits, name[i]) : NULL;

		if (!digit)
			return false;
		f.number = f.number << 4 | (uint64_t)(digit - digits);
	}
	while (f.kind < LOG_FILE_KIND_MAX && strcmp(name + NUMBER_DIGITS, suffixes[f.kind]) != 0)
		f.kind++;
	if (f.kind == LOG_FILE_KIND_MAX)
		return false;
	*ret = f;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct log_file *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

struct file_list {
	struct log_file *files;
	size_t n;
	size_t room;
	int dir_fd;
};

static int add_file(struct file_list *list, const struct log_file *f)
{
	if (ARRAY_RESERVE(list->files, list->room, list->n + 1) < 0)
		return -ENOMEM;
	list->files[list->n++] = *f;
	return 0;
}

static int see_name(void *ctx, const char *name)
{
	struct file_list *list = ctx;
	struct log_file f;
	struct stat st;

	if (!log_file_parse(&f, name) ||
	    fstatat(list->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	f.n_bytes = (uint64_t)st.st_size;
	return add_file(list, &f);
}

int log_dir_list(int dir_fd, struct log_file **ret, size_t *ret_n)
{
	struct file_list list = {.dir_fd = dir_fd};
	int r = fs_each_name(dir_fd, see_name, &list);

	if (r < 0) {
		free(list.files);
		return r;
	}
	if (list.n > 0)
		qsort(list.files, list.n, sizeof(*list.files), by_number);
	*ret = list.files;
	*ret_n = list.n;
	return 0;
}

int log_dir_remove(int dir_fd, uint64_t number, enum log_file_kind kind)
{
	char name[LOG_FILE_NAME_BYTES];

	log_file_name(name, number, kind);
	return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int log_dir_keep_damaged(int dir_fd, uint64_t number, enum log_file_kind kind)
{
	char name[LOG_FILE_NAME_BYTES], aside[LOG_FILE_NAME_BYTES];

	log_file_name(name, number, kind);
	log_file_name(aside, number, LOG_FILE_DAMAGED);
	return renameat(dir_fd, name, dir_fd, aside) < 0 && errno != ENOENT ? -errno : 0;
}

int log_dir_load(int dir_fd, uint64_t number, enum log_file_kind kind, size_t max, char **ret,
		 size_t *ret_len)
{
	char name[LOG_FILE_NAME_BYTES];
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *data = NULL;
	struct stat st;
	size_t len, n = 0;

	log_file_name(name, number, kind);
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	len = (uint64_t)st.st_size < max ? (size_t)st.st_size : max;
	data = malloc(len + 1);
	if (!data)
		return -ENOMEM;
	while (n < len) {
		ssize_t got = read(fd, data + n, len - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	*ret = TAKE_PTR(data);
	*ret_len = n;
	return 0;
}

static uint64_t ns_of(const struct statx_timestamp *t)
{
	return t->tv_sec < 0 ? 0 : (uint64_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

uint64_t log_dir_age_ns(int dir_fd, uint64_t number, enum log_file_kind kind)
{
	uint64_t now_ns = clock_realtime_ns(), then_ns;
	char name[LOG_FILE_NAME_BYTES];
	struct statx st;

	log_file_name(name, number, kind);
	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW, STATX_MTIME | STATX_BTIME, &st) < 0)
		return 0;
	then_ns = ns_of(&st.stx_mtime);
	/* not every file system knows when a file was made, and a copy was made later */
	if ((st.stx_mask & STATX_BTIME) && ns_of(&st.stx_btime) < then_ns)
		then_ns = ns_of(&st.stx_btime);
	return then_ns > 0 && then_ns < now_ns ? now_ns - then_ns : 0;
}
