#include "common/debuginfod/debuginfod_cache.h"

#include <sys/stat.h>

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void debuginfod_cache_path(char ret[static DEBUGINFOD_CACHE_PATH_BYTES])
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	const size_t size = DEBUGINFOD_CACHE_PATH_BYTES;

	ret[0] = '\0';
	if (own && own[0])
		snprintf(ret, size, "%s", own);
	else if (xdg && xdg[0])
		snprintf(ret, size, "%s/debuginfod_client", xdg);
	if (!ret[0] || (!is_dir(ret) && !(own && own[0])))
		snprintf(ret, size, "%s/.cache/debuginfod_client", home ? home : "");
	if (ret[0] != '/')
		ret[0] = '\0';
}
