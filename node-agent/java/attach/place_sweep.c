/*
 * A JVM that is killed leaves its directory behind, if its file system survives it. Names are read
 * as the JVM's user and judged as the agent: another user may see fewer processes, and a
 * directory whose JVM runs must not be taken for a left-over.
 */
#include "node-agent/java/attach/place_sweep.h"

#include <errno.h>
#include <fcntl.h>

#include "common/text/parse.h"
#include "node-agent/java/attach/as_user.h"
#include "node-agent/java/attach/place_dir.h"
#include "node-agent/java/attach/place_files.h"
#include "node-agent/procfs/procfs.h"

#define LEFT_OVERS_MAX 32u

struct left_over {
	char name[JVM_PLACE_NAME_BYTES];
	pid_t pid;
	uint64_t start_time;
};

struct left_overs {
	struct left_over of[LEFT_OVERS_MAX]; /* more are removed next time */
	size_t n;
};

static bool parse_name(const char *name, struct left_over *ret)
{
	const char *pid = name + strlen(JVM_PLACE_PREFIX);
	const char *dash;
	uint64_t number;

	if (strncmp(name, JVM_PLACE_PREFIX, strlen(JVM_PLACE_PREFIX)) != 0 ||
	    strlen(name) >= sizeof(ret->name))
		return false;
	dash = strchr(pid, '-');
	if (!dash || parse_u64(pid, (size_t)(dash - pid), 1, INT32_MAX, &number) < 0 ||
	    parse_u64(dash + 1, strlen(dash + 1), 0, UINT64_MAX, &ret->start_time) < 0)
		return false;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->pid = (pid_t)number;
	return true;
}

static int collect(void *ctx, int parent_fd, const char *name)
{
	struct left_overs *all = ctx;

	(void)parent_fd;
	if (parse_name(name, &all->of[all->n]))
		all->n++;
	return all->n == LEFT_OVERS_MAX ? 1 : 0;
}

/* As the agent: another user may see fewer processes. */
static bool runs(int proc_root_fd, const struct left_over *l)
{
	AUTO_CLOSE int fd = procfs_open_process(proc_root_fd, l->pid);
	struct proc_stat stat;

	if (fd < 0)
		return fd != -ENOENT; /* unknown: leave it alone */
	return procfs_read_stat(fd, &stat) == 0 && stat.start_time == l->start_time;
}

static void forget_running(struct left_overs *all, const struct jvm_target *t)
{
	AUTO_CLOSE int proc_root_fd = openat(t->proc_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (proc_root_fd >= 0 && !runs(proc_root_fd, &all->of[i]))
			all->of[n++] = all->of[i];
	}
	all->n = n;
}

/* Removes one, unless another agent, which may see other processes, works in it. */
static void remove_left_over(const struct jvm_place *p, const struct left_over *l)
{
	struct jvm_place old = {.dir_fd = -1, .lock_fd = -1, .uid = p->uid};

	snprintf(old.name, sizeof(old.name), "%s", l->name);
	old.parent_fd = fcntl(p->parent_fd, F_DUPFD_CLOEXEC, 0);
	if (old.parent_fd >= 0 && place_dir_open(&old) == 0 && place_dir_lock(&old) == 0)
		(void)place_files_remove(old.parent_fd, old.name, old.dir_fd);
	jvm_place_close(&old);
}

void place_sweep(const struct jvm_place *p, const struct jvm_target *t)
{
	UNINITIALIZED struct left_overs all;
	struct as_user user = {0};

	all.n = 0;
	if (as_user_begin(&user, t->uid, t->gid) == 0)
		(void)place_files_each(p->parent_fd, collect, &all);
	as_user_end(&user);
	forget_running(&all, t);
	if (all.n > 0 && as_user_begin(&user, t->uid, t->gid) == 0) {
		for (size_t i = 0; i < all.n; i++)
			remove_left_over(p, &all.of[i]);
	}
	as_user_end(&user);
}
