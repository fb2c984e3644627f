/*
 * The times that replicas share work by. All replicas of a group must agree on them, since one
 * stops working when the others may take its keys; replica_members.c asserts their relations.
 */
#ifndef CLUSTER_AGENT_REPLICA_REPLICA_TIMES_H
#define CLUSTER_AGENT_REPLICA_REPLICA_TIMES_H

#include "common/system/clock.h"

#define REPLICA_RENEW_NS (3 * NS_PER_S)   /* between renewals, and between lists */
#define REPLICA_TIMEOUT_NS (3 * NS_PER_S) /* of one request */
#define REPLICA_PAUSE_NS (13 * NS_PER_S)
#define REPLICA_EXPIRY_NS (17 * NS_PER_S)
#define REPLICA_HANDOVER_NS (17 * NS_PER_S)
/*
 * With more Leases in the group no member takes pods. Leases of dead members are deleted after
 * some minutes.
 */
#define REPLICA_MAX_MEMBERS 256

#endif /* CLUSTER_AGENT_REPLICA_REPLICA_TIMES_H */
