/*
 * Who this node is: the labels host.name and host.id of every upload.
 *
 * As Coroot has them: the node name of the host's UTS namespace, and the machine id without dashes
 * from /etc/machine-id, /var/lib/dbus/machine-id or the DMI product UUID of the host,
 * whichever is there. Read once at start.
 */
#ifndef NODE_AGENT_HOST_IDENTITY_H
#define NODE_AGENT_HOST_IDENTITY_H

#include "common/base.h"

#define HOST_ID_MAX_BYTES 64

struct host_identity {
	char name[HOST_ID_MAX_BYTES + 1];
	char id[HOST_ID_MAX_BYTES + 1]; /* "" when the host has none */
};

/* root: "/" on a real host; files below it are what the host's own root has. Never fails. */
void host_identity_read(struct host_identity *ret, const char *root);

#endif /* NODE_AGENT_HOST_IDENTITY_H */
