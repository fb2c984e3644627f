/* Addresses of unix sockets, for connecting to other daemons. */
#ifndef COMMON_SYSTEM_UNIX_SOCKET_H
#define COMMON_SYSTEM_UNIX_SOCKET_H

#include <sys/un.h>

#include "common/base.h"

/*
 * The address of the socket at path, which may be longer than sockaddr_un's 107 bytes if its last
 * component is shorter than about 80. *ret_folder_fd is then a descriptor that the caller closes
 * once it has connected, else -1. Connect a non-blocking socket: a blocking one waits for a place
 * in the queue of a server that hangs, a non-blocking one fails with EAGAIN. Returns 0,
 * -ENAMETOOLONG, -ENOMEM, or -ENOENT, -EACCES and the like for the folder.
 */
int unix_address(struct sockaddr_un *ret, const char *path, int *ret_folder_fd) MUST_CHECK;

#endif /* COMMON_SYSTEM_UNIX_SOCKET_H */
