/*
 * The socket .java_pid<nspid> in a JVM's /tmp, on which its attach listener accepts commands.
 *
 * The name may be anything that another user of the same /tmp put there. So the socket is opened
 * without following links, must belong to the JVM's user, is connected to by its descriptor, and
 * the kernel must say that the process which listens is the JVM.
 */
#ifndef NODE_AGENT_JAVA_ATTACH_ATTACH_SOCKET_H
#define NODE_AGENT_JAVA_ATTACH_ATTACH_SOCKET_H

#include "common/base.h"

struct jvm_target;

/*
 * Connects. Returns a descriptor that does not block, or
 *   -ENOENT        there is no socket
 *   -ECONNREFUSED  nobody listens: it was left by an earlier process with that pid
 *   -EAGAIN        too many clients are waiting already
 *   -EPERM         we may not act as the JVM's user
 *   -EBADMSG       it is not the JVM's socket
 *   another -errno
 */
int attach_socket_connect(const struct jvm_target *t) MUST_CHECK;

/* Removes a socket that nobody listens on. Returns 0 or -errno. */
int attach_socket_remove_stale(const struct jvm_target *t) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_ATTACH_ATTACH_SOCKET_H */
