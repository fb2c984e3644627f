#include "common/system/record_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "common/data/array.h"
#include "common/system/fs.h"

#define NUMBER_DIGITS 16

void record_dir_name(const struct record_dir *d, uint64_t number, unsigned kind,
		     char ret[static RECORD_NAME_BYTES])
{
	(void)snprintf(ret, RECORD_NAME_BYTES, "%016" PRIx64 "%s", number, d->kinds[kind].suffix);
}

/* Returns false if this is not the name of a file of ours. */
static bool parse_name(const struct record_dir *d, struct record_dir_file *ret, const char *name)
{
	*ret = (struct record_dir_file){0};
	for (int i = 0; i < NUMBER_DIGITS; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = name[i] ? strchr(digits, name[i]) : NULL;

		if (!digit)
			return false;
		ret->number = ret->number << 4 | (uint64_t)(digit - digits);
	}
	while (ret->kind < d->n_kinds &&
	       strcmp(name + NUMBER_DIGITS, d->kinds[ret->kind].suffix) != 0)
		ret->kind++;
	return ret->kind < d->n_kinds;
}

static int by_number(const void *a, const void *b)
{
	const struct record_dir_file *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

struct file_list {
	const struct record_dir *dir;
	struct record_dir_file *files;
	size_t n;
	size_t room;
};

static int see_name(void *ctx, const char *name)
{
	struct file_list *list = ctx;
	struct record_dir_file f;
	struct stat st = {.st_mode = S_IFREG};

	if (!parse_name(list->dir, &f, name))
		return 0;
	/* who reads one that a faulty disk hides hears of it then */
	if (fstatat(list->dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	if (!S_ISREG(st.st_mode))
		f.kind = list->dir->n_kinds;
	f.n_bytes = (uint64_t)st.st_size;
	if (ARRAY_RESERVE(list->files, list->room, list->n + 1) < 0)
		return -ENOMEM;
	list->files[list->n++] = f;
	return 0;
}

int record_dir_list(const struct record_dir *d, struct record_dir_file **ret, size_t *ret_n)
{
	struct file_list list = {.dir = d};
	int r = fs_each_name(d->fd, see_name, &list);

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

int record_dir_remove(const struct record_dir *d, uint64_t number, unsigned kind)
{
	char name[RECORD_NAME_BYTES];

	record_dir_name(d, number, kind, name);
	return unlinkat(d->fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int record_dir_rename(const struct record_dir *d, uint64_t number, unsigned kind, unsigned to)
{
	char name[RECORD_NAME_BYTES], new_name[RECORD_NAME_BYTES];

	record_dir_name(d, number, kind, name);
	record_dir_name(d, number, to, new_name);
	return renameat(d->fd, name, d->fd, new_name) < 0 && errno != ENOENT ? -errno : 0;
}

int record_dir_create(struct record_file *ret, const struct record_dir *d, uint64_t number,
		      unsigned kind)
{
	char name[RECORD_NAME_BYTES];

	record_dir_name(d, number, kind, name);
	return record_file_create(ret, d->fd, name, d->kinds[kind].type, d->kinds[kind].version);
}

int record_dir_open(struct record_file *ret, const struct record_dir *d, uint64_t number,
		    unsigned kind)
{
	char name[RECORD_NAME_BYTES];

	record_dir_name(d, number, kind, name);
	return record_file_open(ret, d->fd, name, d->kinds[kind].type, d->kinds[kind].version);
}

/* Reads up to len bytes. Returns how many there were, or -errno. */
static ssize_t read_upto(int fd, char *data, size_t len)
{
	size_t n = 0;

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
	return (ssize_t)n;
}

int record_dir_load(const struct record_dir *d, uint64_t number, unsigned kind, size_t max,
		    char **ret, struct record_cursor *c)
{
	const struct record_kind *k = &d->kinds[kind];
	char name[RECORD_NAME_BYTES];
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *data = NULL;
	struct stat st;
	size_t len;
	ssize_t n;
	int r;

	record_dir_name(d, number, kind, name);
	fd = openat(d->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	len = (uint64_t)st.st_size < max ? (size_t)st.st_size : max;
	data = malloc(len + 1);
	if (!data)
		return -ENOMEM;
	n = read_upto(fd, data, len);
	if (n < 0)
		return (int)n;
	r = record_cursor_open(c, data, (size_t)n, k->type, k->version);
	if (r == -EBADMSG && n <= (ssize_t)RECORD_FILE_HEADER_BYTES)
		return -ENODATA;
	if (r == 0)
		*ret = TAKE_PTR(data);
	return r;
}
