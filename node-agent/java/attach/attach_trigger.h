/*
 * The file .attach_pid<nspid>, whose existence makes a JVM start its attach listener on SIGQUIT.
 *
 * A JVM looks for it in its working directory and then in /tmp, and wants it to belong to its
 * effective user. It is made in /tmp: if that fails, the JVM cannot make its socket there either.
 * Only if something else has the name, it is made in the working directory, which programs may
 * watch and which may be on a network.
 *
 * A file of that name may be somebody else's: of jcmd, which is attaching right then, or left by a
 * tool that was killed. It does as well, and is not removed. Ours are recognised by their content,
 * also those of an earlier agent.
 */
#ifndef NODE_AGENT_JAVA_ATTACH_ATTACH_TRIGGER_H
#define NODE_AGENT_JAVA_ATTACH_ATTACH_TRIGGER_H

#include <sys/types.h>

#include "common/base.h"

struct jvm_target;

struct attach_trigger {
	bool exists; /* we made it; dir_fd is open */
	int dir_fd;  /* O_PATH */
	char name[32];
	uid_t uid;
	gid_t gid;
};

/*
 * Makes the file. Returns 0; 1 if somebody else's is there; -EPERM if we may not act as the JVM's
 * user; -EBADMSG if something is in the way that no JVM would accept; or -errno.
 */
int attach_trigger_make(struct attach_trigger *ret, const struct jvm_target *t) MUST_CHECK;

/* Removes the file if we made it. Works after the process has died. */
void attach_trigger_remove(struct attach_trigger *g);

#endif /* NODE_AGENT_JAVA_ATTACH_ATTACH_TRIGGER_H */
