/*
 * Lets the calling thread act as another user for a moment: effective uid and gid, and no
 * effective capabilities.
 *
 * Everything that the agent does in a JVM's file system, and the connection to the JVM, happens as
 * the JVM's effective user. Files then belong to that user without chown(2), quotas and modes apply
 * as for the JVM, the JVM accepts the connection (JDK 8 compares both ids of SO_PEERCRED with its
 * own), and SIGQUIT needs no CAP_KILL. CAP_SETUID and CAP_SETGID are all that it takes.
 *
 * Linux keeps credentials per thread; the C library's seteuid() changes all threads, so raw system
 * calls are used. No thread may be started in between, as it would inherit the ids. If the old
 * ids cannot be restored the process is aborted: it must not continue as somebody else.
 */
#ifndef NODE_AGENT_JAVA_ATTACH_AS_USER_H
#define NODE_AGENT_JAVA_ATTACH_AS_USER_H

#include <sys/types.h>

#include "common/base.h"

/* What to restore. */
struct as_user {
	bool active;
	uid_t uid;
	gid_t gid;
	uint64_t capabilities;  /* effective ones */
	int dumpable;           /* PR_GET_DUMPABLE */
	int keeps_capabilities; /* PR_GET_KEEPCAPS */
};

/*
 * Returns 0, and as_user_end() must be called on the same thread; -EPERM if a capability is
 * missing (as_user_missing() names it); or -EINVAL if our user namespace has no such ids.
 */
int as_user_begin(struct as_user *u, uid_t uid, gid_t gid) MUST_CHECK;
/* Keeps errno. */
void as_user_end(struct as_user *u);

/* The capability that as_user_begin() lacked: static text. */
const char *as_user_missing(uid_t uid, gid_t gid);

#endif /* NODE_AGENT_JAVA_ATTACH_AS_USER_H */
