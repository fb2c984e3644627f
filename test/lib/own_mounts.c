#include "test/lib/own_mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

static bool put(const char *file, const char *text)
{
	AUTO_CLOSE int fd = open(file, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool leave_mounts(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char uids[32], gids[32];

	if (uid == 0)
		return unshare(CLONE_NEWNS) == 0;
	(void)snprintf(uids, sizeof(uids), "0 %u 1", uid);
	(void)snprintf(gids, sizeof(gids), "0 %u 1", gid);
	return unshare(CLONE_NEWNS | CLONE_NEWUSER) == 0 && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", uids) && put("/proc/self/gid_map", gids);
}

bool own_mounts_enter(void)
{
	return leave_mounts() && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}
