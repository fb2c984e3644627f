/*
 * Leases of the API (coordination.k8s.io/v1) as JSON. Pure; what is parsed is foreign data.
 *
 * Source: k8s.io/api/coordination/v1/types.go
 */
#ifndef CLUSTER_AGENT_REPLICA_LEASE_JSON_H
#define CLUSTER_AGENT_REPLICA_LEASE_JSON_H

#include <jansson.h>

#include "common/base.h"
#include "common/data/buf.h"

#define LEASE_NAME_BYTES 254 /* a DNS subdomain, with the 0 */
#define LEASE_VERSION_BYTES \
	64                  /* resourceVersion and uid, with the 0: opaque, but never that long */
#define LEASE_TIME_BYTES 40 /* a MicroTime, with the 0 */
#define LEASE_LIST_MAX 257  /* of one list: one more than there may be replicas */

#define LEASE_GROUP_LABEL "coroot.com/replica-group"

/* Strings are never NULL; name and version are not empty. */
struct lease {
	const char *name;
	const char *version; /* metadata.resourceVersion */
	const char *uid;
	const char *holder;
	const char *acquired; /* as the server wrote it */
	int64_t transitions;
};

/* Leases borrow from root. */
struct lease_doc {
	json_t *root;
	struct lease *leases;
	size_t n;
	size_t n_bad; /* left out: no Lease, or a field longer than above */
	bool more;    /* there are more than LEASE_LIST_MAX */
};

/* A Lease or a LeaseList. -EBADMSG: neither; -ENOMEM. */
int lease_doc_parse(struct lease_doc *ret, const char *text, size_t len) MUST_CHECK;
void lease_doc_fini(struct lease_doc *d);

/* What a Lease of ours says. */
struct lease_text {
	const char *namespace;
	const char *group;
	int64_t duration_s;
	int64_t renewed_ns; /* since the epoch */
	struct lease lease; /* version and uid "": it is to be created */
};

/* The errors of json_writer_finish(). */
int lease_write(struct buf *out, const struct lease_text *t) MUST_CHECK;
/* DeleteOptions: only if it is still of that version. */
int lease_write_delete(struct buf *out, const char *version) MUST_CHECK;

#endif /* CLUSTER_AGENT_REPLICA_LEASE_JSON_H */
