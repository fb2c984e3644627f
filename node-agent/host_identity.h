/*
 * The labels host.name and host.id of every upload, which identify this node.
 *
 * They are the same as Coroot's: the node name in the host's UTS namespace, and the machine id
 * without dashes from the host's /etc/machine-id, /var/lib/dbus/machine-id or DMI product UUID,
 * whichever exists. Read once at start.
 */
#ifndef NODE_AGENT_HOST_IDENTITY_H
#define NODE_AGENT_HOST_IDENTITY_H

#include "common/base.h"

#define HOST_ID_MAX_BYTES 64

struct host_identity {
	char name[HOST_ID_MAX_BYTES + 1];
	char id[HOST_ID_MAX_BYTES + 1]; /* "" if the host has none */
};

/* root is prepended to the paths of the files above: "/" but in tests. Never fails. */
void host_identity_read(struct host_identity *ret, const char *root);

#endif /* NODE_AGENT_HOST_IDENTITY_H */
