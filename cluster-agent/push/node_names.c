#include "cluster-agent/push/node_names.h"

#include "common/limits.h"

/* Of a path; each costs a comparison with the file. */
#define MAX_COLONS 16u

/* Whether the file ends with the path that the name begins with; both are empty for natives. */
static bool is_of_file(const char *path, size_t len, const struct profile_string *file)
{
	if (len == 0 || len > file->len)
		return len == 0 && file->len == 0;
	return memcmp(file->data + file->len - len, path, len) == 0;
}

/* Returns the colon before the line at the end, or NULL. */
static const char *find_line(const struct profile_string *name)
{
	const char *end = name->data + name->len, *p = end;

	while (p > name->data && p[-1] >= '0' && p[-1] <= '9')
		p--;
	return p < end && p > name->data && p[-1] == ':' ? p - 1 : NULL;
}

/* Returns the colon before the name, or NULL. */
static const char *find_name(const struct profile_function *f, const char *end)
{
	const char *p = f->name.data, *colon;
	unsigned n = 0;

	if (end - p >= 2 && memcmp(p, "./", 2) == 0)
		p += 2;
	/* paths have colons, too: "node:internal/timers" */
	for (colon = p; (colon = memchr(colon, ':', (size_t)(end - colon))); colon++) {
		if (is_of_file(p, (size_t)(colon - p), &f->file))
			return colon;
		if (++n == MAX_COLONS)
			break;
	}
	return NULL;
}

int node_name_shorten(struct profile_function *f, struct arena *arena)
{
	const char *end = f->name.len <= LIMIT_SYMBOL_NAME_BYTES ? find_line(&f->name) : NULL;
	const char *colon = end ? find_name(f, end) : NULL;
	size_t len;
	char *copy;

	if (!colon || colon + 1 == end)
		return 0;
	len = (size_t)(end - colon - 1);
	copy = arena_strndup(arena, colon + 1, len);
	if (!copy)
		return arena_error(arena, len);
	f->name = (struct profile_string){copy, len};
	return 0;
}
