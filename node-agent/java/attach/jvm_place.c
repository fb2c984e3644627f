#include "node-agent/java/attach/jvm_place.h"

#include <errno.h>
#include <fcntl.h>

#include "common/system/fs.h"
#include "node-agent/java/attach/as_user.h"
#include "node-agent/java/attach/place_dir.h"
#include "node-agent/java/attach/place_files.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void jvm_place_close(struct jvm_place *p)
{
	if (p->name[0] == '\0')
		return;
	close_fd(&p->lock_fd);
	close_fd(&p->dir_fd);
	close_fd(&p->parent_fd);
}

/* ---- prepare and find ---- */

static void set_library(struct jvm_place *p, const char *name)
{
	snprintf(p->library, sizeof(p->library), "%s/%s", p->dir, name);
}

static int fill_dir(struct jvm_place *p, const struct jvm_library *lib)
{
	int r = place_files_verify(p->dir_fd, lib, p->uid, &p->copied);

	if (r == -ENOENT || r == -ESTALE)
		r = place_files_copy(p->dir_fd, lib, p->uid, &p->copied);
	if (r < 0)
		return r;
	set_library(p, lib->name);
	p->current = true;
	return 0;
}

static void add_reason(struct jvm_failure *why, enum jvm_place_kind kind, const char *reason)
{
	size_t len = strlen(why->err.msg);

	snprintf(why->err.msg + len, sizeof(why->err.msg) - len, "%s%s: %s", len > 0 ? "; " : "",
		 place_dir_kind_name(kind), reason);
}

/* Returns 0, or -errno with a reason. */
static int try_place(struct jvm_place *p, const struct jvm_target *t, const char *cwd,
		     const struct jvm_library *lib, const char **ret_problem)
{
	int r = place_dir_open_parent(p, t, cwd, ret_problem);

	if (r < 0)
		return r;
	*ret_problem = place_dir_mount_problem(p->parent_fd);
	if (*ret_problem)
		return -ENOENT;
	r = place_dir_make(p);
	if (r == 0)
		r = fill_dir(p, lib);
	if (r == -EEXIST)
		*ret_problem = "somebody else's directory has the name of ours";
	else if (r < 0)
		*ret_problem = strerror(-r);
	return r;
}

static int no_permission(const struct jvm_target *t, struct jvm_failure *why)
{
	return jvm_failure_set(why, JAVA_STATE_NO_PERMISSION, -EPERM,
			       "cannot act as its user (uid %u, gid %u): %s is missing",
			       (unsigned)t->uid, (unsigned)t->gid, as_user_missing(t->uid, t->gid));
}

static int other_agent(struct jvm_failure *why, const struct jvm_place *p)
{
	return jvm_failure_set(why, JAVA_STATE_OTHER_AGENT, -EBUSY, "another node agent uses %s",
			       p->dir);
}

/* Leaves nothing behind in a place that turned out to be unsuitable. */
static void give_up(struct jvm_place *p)
{
	if (p->made && p->dir_fd >= 0)
		(void)place_files_remove(p->parent_fd, p->name, p->dir_fd);
	jvm_place_close(p);
}

static int prepare_as_user(struct jvm_place *ret, const struct jvm_target *t, const char *cwd,
			   const struct jvm_library *lib, unsigned skip, struct jvm_failure *why)
{
	struct jvm_place p;

	jvm_failure_set(why, JAVA_STATE_NO_PLACE, 0, "%s", "");
	for (unsigned kind = 0; kind < JVM_PLACES; kind++) {
		const char *problem = NULL;
		int r;

		if (skip & (1u << kind)) {
			add_reason(why, kind, "the library cannot be loaded from there");
			continue;
		}
		place_dir_init(&p, t, kind);
		r = try_place(&p, t, cwd, lib, &problem);
		if (r == 0) {
			*ret = p;
			return 0;
		}
		if (r == -EBUSY) {
			jvm_place_close(&p);
			return other_agent(why, &p);
		}
		give_up(&p);
		add_reason(why, kind, problem);
	}
	return -ENOENT;
}

int jvm_place_prepare(struct jvm_place *ret, const struct jvm_target *t,
		      const struct jvm_library *lib, unsigned skip, struct jvm_failure *why)
{
	AUTO_FREE char *cwd = place_dir_cwd(t);
	struct as_user user = {0};
	int r = as_user_begin(&user, t->uid, t->gid);

	if (r == 0)
		r = prepare_as_user(ret, t, cwd, lib, skip, why);
	else
		r = no_permission(t, why);
	as_user_end(&user);
	return r;
}

struct search {
	const struct jvm_library *lib;
	char *ret; /* a name, of the size of lib->name */
};

static int see_library(void *ctx, int dir_fd, const char *name)
{
	struct search *s = ctx;
	size_t len = strlen(name);

	(void)dir_fd;
	if (len >= sizeof(s->lib->name) || len < strlen(JVM_LIBRARY_SUFFIX) ||
	    strncmp(name, JVM_LIBRARY_PREFIX, strlen(JVM_LIBRARY_PREFIX)) != 0 ||
	    strcmp(name + len - strlen(JVM_LIBRARY_SUFFIX), JVM_LIBRARY_SUFFIX) != 0)
		return 0;
	snprintf(s->ret, sizeof(s->lib->name), "%s", name);
	return strcmp(name, s->lib->name) == 0 ? 1 : 0;
}

/* Which library is in the directory: the installed one if it is there. */
static int find_library(struct jvm_place *p, const struct jvm_library *lib)
{
	char name[sizeof(lib->name)] = "";
	struct search s = {.lib = lib, .ret = name};
	int r = place_files_verify(p->dir_fd, lib, p->uid, &p->copied);

	p->current = r == 0;
	r = place_files_each(p->dir_fd, see_library, &s);
	if (r >= 0 && name[0] != '\0')
		set_library(p, name);
	return r < 0 ? r : 0;
}

static int find_as_user(struct jvm_place *ret, const struct jvm_target *t, const char *cwd,
			const struct jvm_library *lib, struct jvm_failure *why)
{
	const char *problem;
	struct jvm_place p;

	for (unsigned kind = 0; kind < JVM_PLACES; kind++) {
		int r;

		place_dir_init(&p, t, kind);
		r = place_dir_open_parent(&p, t, cwd, &problem);
		if (r == 0)
			r = place_dir_open(&p);
		if (r == 0)
			r = place_dir_lock(&p);
		if (r == 0)
			r = find_library(&p, lib);
		if (r == 0) {
			*ret = p;
			return 0;
		}
		jvm_place_close(&p);
		if (r == -EBUSY)
			return other_agent(why, &p);
	}
	return jvm_failure_set(why, JAVA_STATE_NO_PLACE, -ENOENT, "it has no directory of ours");
}

int jvm_place_find(struct jvm_place *ret, const struct jvm_target *t, const struct jvm_library *lib,
		   struct jvm_failure *why)
{
	AUTO_FREE char *cwd = place_dir_cwd(t);
	struct as_user user = {0};
	int r = as_user_begin(&user, t->uid, t->gid);

	if (r == 0)
		r = find_as_user(ret, t, cwd, lib, why);
	else
		r = no_permission(t, why);
	as_user_end(&user);
	return r;
}

/* ---- while it is used ---- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The kernel sets the change time with each change of content, owner, mode and links. */
static bool is_unchanged(const struct stat *a, const struct stat *b)
{
	return place_dir_is_same(a, b) && a->st_size == b->st_size &&
	       same_time(&a->st_ctim, &b->st_ctim);
}

static int check_as_user(const struct jvm_place *p)
{
	const char *library = strrchr(p->library, '/');
	struct stat opened, named;

	if (p->dir_fd < 0 || !library || !p->current)
		return -ESTALE;
	if (fstat(p->dir_fd, &opened) < 0)
		return -errno;
	if (fstatat(p->parent_fd, p->name, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !place_dir_is_same(&opened, &named) || !place_dir_is_right(&named, p->uid))
		return -ESTALE;
	if (fstatat(p->dir_fd, library + 1, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_unchanged(&named, &p->copied))
		return -ESTALE;
	return 0;
}

/* What a function of a place returns if it may not act as the JVM's user. */
static int begin(struct as_user *user, const struct jvm_place *p)
{
	return as_user_begin(user, p->uid, p->gid) < 0 ? -EPERM : 0;
}

int jvm_place_check(const struct jvm_place *p, struct jvm_failure *why)
{
	struct as_user user = {0};
	int r = begin(&user, p);

	if (r == 0)
		r = check_as_user(p);
	as_user_end(&user);
	if (r == -ESTALE)
		return jvm_failure_set(why, JAVA_STATE_FAILED, r, "%s was changed by somebody else",
				       p->library[0] ? p->library : p->dir);
	return r < 0 ? jvm_target_fail(why, r, "cannot check the library") : 0;
}

int jvm_place_open_file(const struct jvm_place *p, const char *name)
{
	CLEANUP(as_user_end) struct as_user user = {0};
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int r = begin(&user, p);

	if (r < 0)
		return r;
	fd = fs_open_regular(p->dir_fd, name, O_RDONLY, &st);
	if (fd < 0)
		return fd;
	return st.st_uid == p->uid && st.st_nlink == 1 ? TAKE_FD(fd) : -EBADMSG;
}

int jvm_place_unlink(const struct jvm_place *p, const char *name)
{
	CLEANUP(as_user_end) struct as_user user = {0};
	int r = begin(&user, p);

	if (r < 0)
		return r;
	return unlinkat(p->dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int jvm_place_rename(const struct jvm_place *p, const char *from, const char *to)
{
	CLEANUP(as_user_end) struct as_user user = {0};
	int r = begin(&user, p);

	if (r < 0)
		return r;
	return renameat(p->dir_fd, from, p->dir_fd, to) < 0 ? -errno : 0;
}

struct each_file {
	int (*fn)(void *ctx, const char *name, uint64_t size);
	void *ctx;
};

static int see_file(void *ctx, int dir_fd, const char *name)
{
	const struct each_file *e = ctx;
	struct stat st;

	if (strcmp(name, PLACE_FILES_LOCK) == 0 ||
	    strncmp(name, JVM_LIBRARY_PREFIX, strlen(JVM_LIBRARY_PREFIX)) == 0 ||
	    fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return e->fn(e->ctx, name, (uint64_t)st.st_size);
}

int jvm_place_each_file(const struct jvm_place *p,
			int (*fn)(void *ctx, const char *name, uint64_t size), void *ctx)
{
	struct each_file e = {.fn = fn, .ctx = ctx};
	CLEANUP(as_user_end) struct as_user user = {0};
	int r = begin(&user, p);

	return r < 0 ? r : place_files_each(p->dir_fd, see_file, &e);
}

int jvm_place_remove(struct jvm_place *p)
{
	struct as_user user = {0};
	int r = begin(&user, p);

	if (r == 0)
		r = place_files_remove(p->parent_fd, p->name, p->dir_fd);
	as_user_end(&user);
	jvm_place_close(p);
	return r;
}
