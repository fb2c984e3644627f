/*
 * A path that does not fit into sockaddr_un is reached through its folder: the folder is opened,
 * and the socket's address is /proc/self/fd/<number>/<last component>. Sockets below a host root
 * mounted into a container, or below /proc/<pid>/root, have such paths.
 */
#include "common/system/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static int long_address(struct sockaddr_un *addr, const char *path, int *ret_folder_fd)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *folder = NULL;
	AUTO_CLOSE int fd = -1;
	int len;

	if (!slash)
		return -ENAMETOOLONG;
	folder = strndup(path, (size_t)(slash - path) + 1);
	if (!folder)
		return -ENOMEM;
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d%s", fd, slash);
	if (len < 0 || (size_t)len >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	*ret_folder_fd = TAKE_FD(fd);
	return 0;
}

int unix_address(struct sockaddr_un *ret, const char *path, int *ret_folder_fd)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	int folder_fd = -1, r = 0;

	if (len == 0)
		return -ENOENT;
	if (len < sizeof(addr.sun_path))
		memcpy(addr.sun_path, path, len + 1);
	else
		r = long_address(&addr, path, &folder_fd);
	if (r < 0)
		return r;
	*ret = addr;
	*ret_folder_fd = folder_fd;
	return 0;
}
