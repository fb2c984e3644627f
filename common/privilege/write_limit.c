/*
 * Landlock (Documentation/userspace-api/landlock.rst) checks paths when files are opened, so it
 * costs nothing later, and needs no privilege. A rule names a directory by descriptor and holds for
 * everything below, also on file systems that are mounted there.
 *
 * Its first version could not allow to move a file from one directory to another, not even within
 * dir, and a store moves its parts; so the second version is the least that is used.
 */
#include "common/privilege/write_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>

/* since version 3, Linux 6.2 */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (UINT64_C(1) << 14)
#endif

#define WRITE                                                            \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |     \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

static int allow_below(int ruleset, const char *dir, uint64_t access)
{
	AUTO_CLOSE int fd = open(dir, O_PATH | O_CLOEXEC);
	const struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};

	if (fd < 0)
		return -errno;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

int write_limit_to(const char *dir)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = WRITE};
	AUTO_CLOSE int ruleset = -1;
	int r, version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
				      LANDLOCK_CREATE_RULESET_VERSION);

	if (version < 0)
		return -errno;
	if (version < 2)
		return -EOPNOTSUPP;
	if (version >= 3)
		attr.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return -errno;
	r = allow_below(ruleset, dir, attr.handled_access_fs);
	if (r == 0)
		r = allow_below(ruleset, "/dev", LANDLOCK_ACCESS_FS_WRITE_FILE);
	if (r < 0)
		return r;
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}
