/*
 * The private directory in a JVM's file system that has its copy of the library and its recordings.
 *
 *   <place>/.coroot-java-<pid>-<start time>/libasyncProfiler-<12 hex digits of its SHA-256>.so
 *
 * <place> is the first of /tmp, /dev/shm and the JVM's working directory in which its user may
 * create files and from which code may be mapped. pid and start time are those in the agent's PID
 * namespace, so that a later agent knows whether the directory's JVM still runs. The directory
 * belongs to the JVM's effective user and has mode 0700. All files are made, opened and removed as
 * that user (as_user.h), so nothing is touched that the JVM could not touch itself.
 *
 * A place keeps descriptors and works without the process: it can be removed after the JVM has
 * died.
 */
#ifndef NODE_AGENT_JAVA_ATTACH_JVM_PLACE_H
#define NODE_AGENT_JAVA_ATTACH_JVM_PLACE_H

#include <limits.h>
#include <sys/stat.h>

#include "common/base.h"
#include "node-agent/java/attach/jvm_library.h"
#include "node-agent/java/attach/jvm_target.h"

#define JVM_PLACE_PREFIX ".coroot-java-"
#define JVM_PLACE_NAME_BYTES 64
#define JVM_PLACE_DIR_MAX 448  /* of a path in the JVM, with its NUL */
#define JVM_PLACE_PATH_MAX 512 /* of a file in that */
/* What must be free at least: an application needs its /tmp more than we do. */
#define JVM_PLACE_MIN_FREE_BYTES (UINT64_C(32) << 20)

enum jvm_place_kind {
	JVM_PLACE_TMP,
	JVM_PLACE_SHM,
	JVM_PLACE_CWD,
	JVM_PLACES,
};

struct jvm_place {
	enum jvm_place_kind kind;
	char dir[JVM_PLACE_DIR_MAX];      /* as the JVM sees it, without a slash at the end */
	char library[JVM_PLACE_PATH_MAX]; /* as the JVM sees it; "" if it has no library of ours */
	bool current; /* the library is the installed one; always true after prepare */

	/* private */
	int parent_fd, dir_fd;           /* O_PATH */
	int lock_fd;                     /* one agent at a time works in the directory */
	char name[JVM_PLACE_NAME_BYTES]; /* of the directory in its parent */
	bool made;                       /* by prepare, and not found */
	uid_t uid;
	gid_t gid;
	struct stat copied; /* the library's, when its content was verified */
};

/*
 * Finds or makes the directory and a verified copy of the library. Places whose bit is in `skip`
 * (1 << JVM_PLACE_TMP) are not used: one from which the JVM could not map the library. Returns 0,
 * and jvm_place_close() must be called; or
 *   -ENOENT       no place is suitable (JAVA_STATE_NO_PLACE); the sentence says why for each
 *   -EBUSY        another agent uses it (JAVA_STATE_OTHER_AGENT)
 *   -EPERM        not permitted (JAVA_STATE_NO_PERMISSION)
 *   -ESRCH        the process has ended
 *   another -errno (JAVA_STATE_FAILED)
 */
int jvm_place_prepare(struct jvm_place *ret, const struct jvm_target *t,
		      const struct jvm_library *lib, unsigned skip,
		      struct jvm_failure *why) MUST_CHECK;

/*
 * Finds the directory that an earlier agent made for this very process. The library in it may be
 * another release, or none: see ret->current and ret->library. Returns 0, -ENOENT if there is
 * none, or as above.
 */
int jvm_place_find(struct jvm_place *ret, const struct jvm_target *t, const struct jvm_library *lib,
		   struct jvm_failure *why) MUST_CHECK;

/* Closes descriptors; files stay. A zeroed or closed place is allowed. */
void jvm_place_close(struct jvm_place *p);

/*
 * To be called right before each load: whether directory and library are still those that were
 * verified. Returns 0, -ESTALE if not (prepare again), or -errno.
 */
int jvm_place_check(const struct jvm_place *p, struct jvm_failure *why) MUST_CHECK;

/*
 * Opens a recording by its name in the directory, for reading. Returns a descriptor of a regular
 * file with one link that belongs to the JVM's user; -ENOENT; -EBADMSG if it is anything else; or
 * -errno.
 */
int jvm_place_open_file(const struct jvm_place *p, const char *name) MUST_CHECK;

/* Returns 0, also if there is no such file, or -errno. */
int jvm_place_unlink(const struct jvm_place *p, const char *name) MUST_CHECK;

/* Gives a file of the directory another name. Returns 0 or -errno. */
int jvm_place_rename(const struct jvm_place *p, const char *from, const char *to) MUST_CHECK;

/*
 * Calls fn with the name and size of each regular file but the library; fn returns 0 to continue.
 * Returns 0, what fn returned, or -errno.
 */
int jvm_place_each_file(const struct jvm_place *p,
			int (*fn)(void *ctx, const char *name, uint64_t size),
			void *ctx) MUST_CHECK;

/* Removes all files and the directory, and closes the place. Returns 0 or -errno. */
int jvm_place_remove(struct jvm_place *p) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_ATTACH_JVM_PLACE_H */
