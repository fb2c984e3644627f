#include "common/system/program_dir.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int program_dir(char *ret, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 1);
	char *slash;

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

int program_dir_find(const char *folder, const char *name, char *ret, size_t size)
{
	char dir[PATH_MAX];
	int r = program_dir(dir, sizeof(dir));

	if (r < 0)
		return r;
	if ((size_t)snprintf(ret, size, "%s/%s", dir, name) < size && access(ret, F_OK) == 0)
		return 0;
	if ((size_t)snprintf(ret, size, "%s/../lib/%s/%s", dir, folder, name) < size &&
	    access(ret, F_OK) == 0)
		return 0;
	return -ENOENT;
}
