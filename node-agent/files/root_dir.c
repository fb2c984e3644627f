#include "node-agent/files/root_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#define RENAMES_MAX 16u /* a lookup is repeated so often if somebody renames directories */

/* Without openat2(2), name by name: then no component may be a link. */
static int walk(int root_fd, const char *path)
{
	AUTO_CLOSE int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);

	while (fd >= 0 && *path) {
		size_t len = strcspn(path, "/");
		char name[NAME_MAX + 1];
		int next;

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len + (path[len] == '/');
		if (len == 0)
			continue;
		if (strcmp(name, "..") == 0)
			return -ELOOP;
		next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(fd);
		fd = next;
	}
	return fd < 0 ? -errno : TAKE_FD(fd);
}

int root_dir_open(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -EAGAIN;

	for (unsigned i = 0; fd == -EAGAIN && i < RENAMES_MAX; i++) {
		fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd < 0)
			fd = -errno;
	}
	/* refused by systemd's RestrictSUIDSGID=, or by filters that are older than it */
	if (fd == -ENOSYS || fd == -EPERM)
		return walk(root_fd, path);
	return (int)fd;
}
