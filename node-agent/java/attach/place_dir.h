/*
 * The private directory of a JVM and its parent: steps of jvm_place.c, on a place that is not
 * complete yet. To be called while acting as the JVM's user, but for place_dir_cwd().
 */
#ifndef NODE_AGENT_JAVA_ATTACH_PLACE_DIR_H
#define NODE_AGENT_JAVA_ATTACH_PLACE_DIR_H

#include "common/base.h"
#include "node-agent/java/attach/jvm_place.h"

/* "/tmp", "its working directory": for sentences. */
const char *place_dir_kind_name(enum jvm_place_kind kind);

/* The JVM's working directory as it sees it; NULL if its path cannot be used. To be freed. */
char *place_dir_cwd(const struct jvm_target *t);

void place_dir_init(struct jvm_place *p, const struct jvm_target *t, enum jvm_place_kind kind);

/* Opens the parent and makes the path that the JVM sees. Returns 0, or -errno and why not. */
int place_dir_open_parent(struct jvm_place *p, const struct jvm_target *t, const char *cwd,
			  const char **ret_problem) MUST_CHECK;

/* Why no library can be put on that mount, or NULL. */
const char *place_dir_mount_problem(int fd);

/* Opens the directory. Returns 0, -ENOENT, -EEXIST if it is not one of ours, or -errno. */
int place_dir_open(struct jvm_place *p) MUST_CHECK;

/* Makes it if necessary, opens and locks it. Returns the same, or as place_dir_lock(). */
int place_dir_make(struct jvm_place *p) MUST_CHECK;

/* Returns 0, -EBUSY if another agent has the lock, or -errno. */
int place_dir_lock(struct jvm_place *p) MUST_CHECK;

/* Whether it is a directory of that user which nobody else may enter. */
bool place_dir_is_right(const struct stat *st, uid_t uid);

bool place_dir_is_same(const struct stat *a, const struct stat *b);

#endif /* NODE_AGENT_JAVA_ATTACH_PLACE_DIR_H */
