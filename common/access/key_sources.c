/*
 * Kubernetes exchanges a mounted Secret by renaming "..data", a symbolic link to a directory
 * "..2026_11_23_…" with the files; what has a name of its own links to "..data/<name>". So paths
 * are followed, and a file is the same one as before only if its identity is.
 */
#include "common/access/key_sources.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "common/data/hash.h"
#include "common/system/fs.h"

DEFINE_CLEANUP(DIR *, closedir);

void key_sources_fini(struct key_sources *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->paths[i]);
	s->n = 0;
}

static int add_file(struct key_sources *s, const char *path, struct err *err)
{
	if (s->n == KEY_SOURCES_MAX)
		return err_set(err, -E2BIG, "%s: more than %u files of keys", path,
			       KEY_SOURCES_MAX);
	s->paths[s->n] = strdup(path);
	if (!s->paths[s->n])
		return err_set(err, -ENOMEM, "out of memory");
	s->n++;
	return 0;
}

static int add_directory(struct key_sources *s, const char *path, unsigned depth, struct err *err);

static int add_path(struct key_sources *s, const char *path, unsigned depth, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		int r = -errno;

		return r == -ENOENT && depth > 0 ? 0
						 : err_set(err, r, "%s: %s", path, strerror(-r));
	}
	if (S_ISREG(st.st_mode))
		return add_file(s, path, err);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -EINVAL, "%s: neither a file nor a directory of files", path);
	if (depth > 1)
		return err_set(err, -EINVAL, "%s: a directory too deep for files of keys", path);
	return add_directory(s, path, depth, err);
}

static int add_directory(struct key_sources *s, const char *path, unsigned depth, struct err *err)
{
	CLEANUP(closedirp) DIR *dir = opendir(path);
	int r;

	if (!dir) {
		r = -errno;
		return err_set(err, r, "%s: %s", path, strerror(-r));
	}
	for (;;) {
		AUTO_FREE char *inner = NULL;
		const struct dirent *e;

		errno = 0;
		e = readdir(dir);
		if (!e)
			break;
		if (e->d_name[0] == '.')
			continue;
		if (asprintf(&inner, "%s/%s", path, e->d_name) < 0) {
			inner = NULL;
			return err_set(err, -ENOMEM, "out of memory");
		}
		r = add_path(s, inner, depth + 1, err);
		if (r < 0)
			return r;
	}
	r = -errno;
	return r < 0 ? err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int key_sources_list(struct key_sources *ret, const char *path, struct err *err)
{
	int r;

	ret->n = 0;
	r = add_path(ret, path, 0, err);
	if (r < 0)
		key_sources_fini(ret);
	else
		qsort(ret->paths, ret->n, sizeof(ret->paths[0]), by_path);
	return r;
}

int key_sources_stamp(const char *path, uint64_t *ret)
{
	struct key_sources s;
	int r = key_sources_list(&s, path, NULL);
	uint64_t hash = fnv1a64(FNV1A64_INIT, &r, sizeof(r));

	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; i < s.n; i++) {
		struct file_stamp stamp = file_stamp(s.paths[i]);

		hash = fnv1a64(hash, s.paths[i], strlen(s.paths[i]) + 1);
		hash = fnv1a64(hash, &stamp, sizeof(stamp));
	}
	key_sources_fini(&s);
	*ret = hash;
	return 0;
}
