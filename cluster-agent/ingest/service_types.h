/*
 * Which sample types which services send, so that their number can be limited: lists of services
 * and types are read by everyone, and whoever may upload could fill them. From any thread.
 *
 * Only hashes are kept, with the time of the last profile. If the table is full, the service that
 * sent none for the longest time makes room. If it returns, it may add types to those that are
 * stored, as all may after a restart. How many are forgotten in an hour is limited: names that are
 * invented without end would fill the lists all the same.
 */
#ifndef CLUSTER_AGENT_INGEST_SERVICE_TYPES_H
#define CLUSTER_AGENT_INGEST_SERVICE_TYPES_H

#include "cluster-agent/store/row_batch.h"
#include "common/base.h"

#define SERVICE_TYPES_MAX 64u
#define SERVICE_TYPES_MAX_SERVICES 20000u
#define SERVICE_TYPES_MAX_PAIRS 128000u /* of all services together */
#define SERVICE_TYPES_MAX_EVICTED 5000u /* services an hour, beside those that have expired */

struct service_types;

/* After keep_s without a profile a type is forgotten. Returns 0 or -ENOMEM. */
int service_types_new(struct service_types **ret, uint32_t keep_s) MUST_CHECK;
void service_types_free(struct service_types *t);
DEFINE_CLEANUP(struct service_types *, service_types_free);

/*
 * A profile with the type arrived at now_s. Returns 0, -EDQUOT if the service has SERVICE_TYPES_MAX
 * others, -ENOSPC if the table is full of services that were seen lately, or -ENOMEM.
 */
int service_types_admit(struct service_types *t, struct row_text service, struct row_text type,
			uint32_t now_s) MUST_CHECK;

#endif /* CLUSTER_AGENT_INGEST_SERVICE_TYPES_H */
