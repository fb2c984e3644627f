#include <errno.h>
#include <stdint.h>

#include "cluster-agent/store/store_marker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_path(void *ctx, const char *path)
{
	(void)ctx;
	if (path[0] == '/' || path[0] == '\0' || strstr(path, ".."))
		__builtin_trap();
	return path[0] == 'x' ? -EIO : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int r = store_marker_parse((const char *)data, size, check_path, NULL);

	if (r != 0 && r != -EBADMSG && r != -EIO)
		__builtin_trap();
	return 0;
}
