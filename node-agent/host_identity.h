/*
 * The labels host.name and host.id of every upload, which identify this node.
 *
 * They are the same as Coroot's: the node name in the host's UTS namespace, and the machine id
 * without dashes from the host's /etc/machine-id, /var/lib/dbus/machine-id or DMI product UUID,
 * whichever exists. A container may not be allowed into that namespace, and its own has the name of
 * the pod; so --node-name is used instead if it is given. Read once at start.
 */
#ifndef NODE_AGENT_HOST_IDENTITY_H
#define NODE_AGENT_HOST_IDENTITY_H

#include "common/base.h"

#define HOST_ID_MAX_BYTES 64
#define HOST_NAME_MAX_BYTES 253 /* of a Kubernetes node, which is a DNS name */

struct host_identity {
	char name[HOST_NAME_MAX_BYTES + 1];
	char id[HOST_ID_MAX_BYTES + 1]; /* "" if the host has none */
};

/*
 * root is prepended to the paths of the files above: "/" but in tests. node_name may be NULL or "".
 * Never fails.
 */
void host_identity_read(struct host_identity *ret, const char *root, const char *node_name);

#endif /* NODE_AGENT_HOST_IDENTITY_H */
