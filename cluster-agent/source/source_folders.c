#include "cluster-agent/source/source_folders.h"

#include <errno.h>

#define SEPARATORS ",\n"
#define MAX_PATH_BYTES 4096u

static size_t without_slashes(const char *s, size_t len)
{
	while (len > 0 && s[len - 1] == '/')
		len--;
	return len;
}

static int add(struct source_folders *f, const char *item, size_t len, struct err *err)
{
	const char *equals = memchr(item, '=', len);
	size_t n_prefix = equals ? without_slashes(item, (size_t)(equals - item)) : 0;
	const char *dir = equals ? equals + 1 : item;
	size_t n_dir = without_slashes(dir, len - (size_t)(dir - item));
	struct source_folder *new = &f->items[f->n];

	if (f->n == SOURCE_FOLDERS_MAX)
		return err_set(err, -EINVAL, "--source-path: more than %u folders",
			       SOURCE_FOLDERS_MAX);
	if (n_dir == 0 || dir[0] != '/' || n_dir >= MAX_PATH_BYTES)
		return err_set(err, -EINVAL,
			       "--source-path: \"%.*s\" is not the absolute path of a folder",
			       (int)(len < 80 ? len : 80), item);
	*new = (struct source_folder){.dir = strndup(dir, n_dir)};
	f->n++;
	if (n_prefix > 0)
		new->prefix = strndup(item, n_prefix);
	return new->dir && (new->prefix || n_prefix == 0) ? 0 : -ENOMEM;
}

int source_folders_parse(struct source_folders *ret, const char *text, struct err *err)
{
	int r = 0;

	*ret = (struct source_folders){.n = 0};
	while (text && *text && r == 0) {
		size_t len = strcspn(text, SEPARATORS);

		if (len > 0)
			r = add(ret, text, len, err);
		text += len;
		text += *text != '\0';
	}
	if (r < 0)
		source_folders_fini(ret);
	return r;
}

void source_folders_fini(struct source_folders *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->items[i].prefix);
		free(f->items[i].dir);
	}
	f->n = 0;
}

const char *source_after_prefix(const char *file, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(file, prefix, len) == 0 && file[len] == '/' ? file + len + 1 : NULL;
}

bool source_path_is_plain(const char *path)
{
	if (strlen(path) >= MAX_PATH_BYTES)
		return false;
	for (;;) {
		if (*path == '\0' || *path == '/' || *path == '.')
			return false;
		path += strcspn(path, "/");
		if (*path == '\0')
			return true;
		path++;
	}
}

const char *source_folder_path(const struct source_folder *f, const char *file)
{
	const char *path;

	if (strncmp(file, "./", 2) == 0)
		file += 2;
	path = source_after_prefix(file, f->prefix ?: f->dir);
	if (!path && !f->prefix)
		path = file;
	return path && source_path_is_plain(path) ? path : NULL;
}
