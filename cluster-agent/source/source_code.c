#include "cluster-agent/source/source_code.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "cluster-agent/source/source_folders.h"
#include "common/data/hash.h"
#include "common/system/clock.h"
#include "common/text/utf8.h"
#include "common/thread/deadline_call.h"

#define PAUSE_NS (30 * NS_PER_S) /* after a folder has not answered */

struct source_code {
	struct source_folders folders;
	struct source_links links;
	pthread_mutex_t lock; /* of the caller, which belongs to one thread at a time */
	struct deadline_caller *caller;
};

int source_code_new(struct source_code **ret, const char *paths, const char *templates,
		    struct err *err)
{
	CLEANUP(source_code_freep) struct source_code *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	r = source_folders_parse(&s->folders, paths, err);
	if (r == 0)
		r = source_links_parse(&s->links, templates, err);
	if (r == 0)
		r = deadline_caller_new(&s->caller, SOURCE_CODE_TIMEOUT_NS, PAUSE_NS);
	if (r == 0)
		*ret = TAKE_PTR(s);
	return r;
}

void source_code_free(struct source_code *s)
{
	if (!s)
		return;
	deadline_caller_free(s->caller);
	source_links_fini(&s->links);
	source_folders_fini(&s->folders);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

bool source_code_has_folders(const struct source_code *s)
{
	return s->folders.n > 0;
}

/* ---- a file ---- */

/* A file that is read on a thread of its own: the folder may be a network's. */
struct reading {
	struct deadline_job job; /* first */
	char *dir;
	char *path; /* below dir */
	char *text; /* after a result of 0 */
	size_t len;
	int result; /* 0 or -errno */
};

static void free_reading(struct deadline_job *j)
{
	struct reading *r = (struct reading *)j;

	free(r->dir);
	free(r->path);
	free(r->text);
	free(r);
}

/* Changes path. Returns a descriptor or -errno; a link at any place below dir is an error. */
static int open_below(const char *dir, char *path)
{
	AUTO_CLOSE int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	for (char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		*slash = '\0';
		fd = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		close(at);
		at = fd;
	}
	if (at < 0)
		return -errno;
	/* neither a pipe nor a device may keep us, or be changed by being opened */
	fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_all(int fd, char *to, size_t cap, size_t *ret_len)
{
	*ret_len = 0;
	while (*ret_len < cap) {
		ssize_t n = read(fd, to + *ret_len, cap - *ret_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		*ret_len += (size_t)n;
	}
	return 0;
}

static int read_text(struct reading *r, int fd)
{
	struct stat st;
	int error;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EISDIR;
	if (st.st_size > (off_t)SOURCE_CODE_MAX_BYTES)
		return -EFBIG;
	r->text = malloc((size_t)st.st_size + 1);
	if (!r->text)
		return -ENOMEM;
	error = read_all(fd, r->text, (size_t)st.st_size, &r->len);
	if (error < 0)
		return error;
	if (memchr(r->text, '\0', r->len))
		return -EILSEQ;
	utf8_repair(r->text, r->len);
	return 0;
}

static void run_reading(struct deadline_job *j)
{
	struct reading *r = (struct reading *)j;
	AUTO_CLOSE int fd = open_below(r->dir, r->path);

	r->result = fd < 0 ? fd : read_text(r, fd);
}

/* The errors of a reading as a sentence, and as -ENOENT or -ENOMEM. */
static int explain(int error, const char *path, struct err *why)
{
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
		return err_set(why, -ENOENT, "\"%s\" is not in the folders of --source-path", path);
	case -ELOOP:
		return err_set(why, -ENOENT,
			       "\"%s\" is a symbolic link, and these are not followed", path);
	case -EISDIR:
		return err_set(why, -ENOENT, "\"%s\" is not a file", path);
	case -EFBIG:
		return err_set(why, -ENOENT, "\"%s\" is larger than %zu MiB", path,
			       SOURCE_CODE_MAX_BYTES >> 20);
	case -EILSEQ:
		return err_set(why, -ENOENT, "\"%s\" is not a text", path);
	case -ETIMEDOUT:
	case -EBUSY:
		return err_set(why, -ENOENT, "the folder of \"%s\" does not answer", path);
	case -ENOMEM:
		return -ENOMEM;
	default:
		return err_set(why, -ENOENT, "\"%s\" cannot be read: %s", path, strerror(-error));
	}
}

/* Returns 0 or an error that explain() knows. */
static int read_below(struct source_code *s, const char *dir, const char *path, struct buf *out)
{
	struct reading *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return -ENOMEM;
	/* casts: gcc's analyzer takes a job for lost of which only a member is passed on */
	r->job = (struct deadline_job){.run = run_reading, .free = free_reading};
	r->job.key = fnv1a64(FNV1A64_INIT, dir, strlen(dir));
	r->dir = strdup(dir);
	r->path = strdup(path);
	if (!r->dir || !r->path) {
		free_reading((struct deadline_job *)r);
		return -ENOMEM;
	}
	pthread_mutex_lock(&s->lock);
	error = deadline_call(s->caller, (struct deadline_job *)r);
	pthread_mutex_unlock(&s->lock);
	if (error < 0)
		return error;
	error = r->result;
	if (error == 0)
		error = buf_add(out, r->text, r->len);
	free_reading((struct deadline_job *)r);
	return error;
}

int source_code_read(struct source_code *s, const char *file, struct buf *out, struct err *why)
{
	const char *path = NULL;
	int r = -ENOENT;

	for (size_t i = 0; i < s->folders.n && r == -ENOENT; i++) {
		const struct source_folder *f = &s->folders.items[i];
		const char *below = source_folder_path(f, file);

		if (!below)
			continue;
		path = below;
		r = read_below(s, f->dir, below, out);
	}
	if (!path)
		return err_set(why, -ENOENT,
			       "no folder of --source-path is for files with this name");
	return r == 0 ? 0 : explain(r, path, why);
}

int source_code_link(const struct source_code *s, const char *application, const char *file,
		     const struct source_labels *labels, struct buf *out, struct err *err)
{
	return source_links_make(&s->links, application, file, labels, out, err);
}
