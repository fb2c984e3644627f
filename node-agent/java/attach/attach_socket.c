#include "node-agent/java/attach/attach_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "node-agent/java/attach/as_user.h"
#include "node-agent/java/attach/jvm_target.h"

#define NAME_BYTES 32u

static void name_of(const struct jvm_target *t, char ret[static NAME_BYTES])
{
	snprintf(ret, NAME_BYTES, ".java_pid%d", (int)t->nspid);
}

/* Opens the socket's inode, in which nobody can put another one. */
static int open_inode(int dir_fd, const struct jvm_target *t)
{
	AUTO_CLOSE int fd = -1;
	char name[NAME_BYTES];
	struct stat st;

	name_of(t, name);
	fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISSOCK(st.st_mode) && st.st_uid == t->uid ? TAKE_FD(fd) : -EBADMSG;
}

static int connect_to(int inode_fd)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d", inode_fd);
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Whether the process that listens is the JVM. */
static bool is_served_by(int fd, const struct jvm_target *t)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid == t->pid &&
	       peer.uid == t->uid;
}

static int connect_as_user(const struct jvm_target *t)
{
	AUTO_CLOSE int dir_fd = jvm_target_open_dir(t, "/tmp");
	AUTO_CLOSE int inode_fd = -1;
	AUTO_CLOSE int fd = -1;

	if (dir_fd < 0)
		return dir_fd;
	inode_fd = open_inode(dir_fd, t);
	if (inode_fd < 0)
		return inode_fd;
	fd = connect_to(inode_fd);
	if (fd < 0)
		return fd;
	return is_served_by(fd, t) ? TAKE_FD(fd) : -EBADMSG;
}

int attach_socket_connect(const struct jvm_target *t)
{
	CLEANUP(as_user_end) struct as_user user = {0};
	int r = as_user_begin(&user, t->uid, t->gid);

	if (r < 0)
		return r == -EINVAL ? -EPERM : r;
	r = connect_as_user(t);
	return r == -EPERM ? -EACCES : r;
}

int attach_socket_remove_stale(const struct jvm_target *t)
{
	CLEANUP(as_user_end) struct as_user user = {0};
	AUTO_CLOSE int dir_fd = -1;
	char name[NAME_BYTES];
	int r = as_user_begin(&user, t->uid, t->gid);

	if (r < 0)
		return r == -EINVAL ? -EPERM : r;
	dir_fd = jvm_target_open_dir(t, "/tmp");
	if (dir_fd < 0)
		return dir_fd;
	name_of(t, name);
	return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}
