#include "node-agent/java/attach/attach_trigger.h"

#include <errno.h>
#include <fcntl.h>

#include "common/system/fs.h"
#include "node-agent/java/attach/as_user.h"
#include "node-agent/java/attach/jvm_target.h"

#define MODE 0600
#define MARK "coroot-node-agent\n"

static bool is_marked(int fd)
{
	char text[sizeof(MARK)];
	ssize_t n = pread(fd, text, sizeof(text), 0);

	return n == (ssize_t)strlen(MARK) && memcmp(text, MARK, strlen(MARK)) == 0;
}

/* What to do with a file that exists: 0 if an agent made it, 1 if it is good but not ours. */
static int judge_existing(int dir_fd, const char *name, uid_t uid)
{
	struct stat st;
	AUTO_CLOSE int fd = fs_open_regular(dir_fd, name, O_RDONLY, &st);

	if (fd < 0)
		return fd == -ENOENT ? -EAGAIN : -EBADMSG; /* a link, or not readable */
	if (st.st_uid != uid)
		return -EBADMSG;
	return is_marked(fd) ? 0 : 1;
}

static int make_in(struct attach_trigger *g, const struct jvm_target *t, const char *path)
{
	AUTO_CLOSE int dir_fd = jvm_target_open_dir(t, path);
	AUTO_CLOSE int fd = -1;
	int r = 0;

	if (dir_fd < 0)
		return dir_fd;
	fd = openat(dir_fd, g->name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, MODE);
	if (fd < 0 && errno == EEXIST)
		r = judge_existing(dir_fd, g->name, t->uid);
	else if (fd < 0)
		r = -errno;
	else
		/* without its mark, as on a full disk, it works all the same */
		(void)!pwrite(fd, MARK, strlen(MARK), 0);
	if (r != 0)
		return r;
	g->exists = true;
	g->dir_fd = TAKE_FD(dir_fd);
	return 0;
}

int attach_trigger_make(struct attach_trigger *ret, const struct jvm_target *t)
{
	struct attach_trigger g = {.dir_fd = -1, .uid = t->uid, .gid = t->gid};
	CLEANUP(as_user_end) struct as_user user = {0};
	int r = as_user_begin(&user, t->uid, t->gid);

	if (r < 0)
		return r == -EINVAL ? -EPERM : r;
	snprintf(g.name, sizeof(g.name), ".attach_pid%d", (int)t->nspid);
	r = make_in(&g, t, "/tmp");
	if (r == -EBADMSG)
		r = make_in(&g, t, ".");
	if (r == -EPERM) /* of the file system, not of our rights */
		r = -EACCES;
	*ret = g;
	return r;
}

void attach_trigger_remove(struct attach_trigger *g)
{
	CLEANUP(as_user_end) struct as_user user = {0};

	if (!g->exists)
		return;
	/* as it was made as that user, it can be removed as that user */
	if (as_user_begin(&user, g->uid, g->gid) == 0)
		(void)unlinkat(g->dir_fd, g->name, 0);
	close(g->dir_fd);
	g->exists = false;
	g->dir_fd = -1;
}
