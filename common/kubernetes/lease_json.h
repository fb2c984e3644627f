/*
 * Reads and writes Leases (coordination.k8s.io/v1) as JSON. Pure; the input is untrusted.
 *
 * Source: k8s.io/api/coordination/v1/types.go
 */
#ifndef COMMON_KUBERNETES_LEASE_JSON_H
#define COMMON_KUBERNETES_LEASE_JSON_H

#include <jansson.h>

#include "common/base.h"
#include "common/data/buf.h"

#define LEASE_NAME_BYTES 254 /* a DNS subdomain with its NUL */
#define LEASE_VERSION_BYTES \
	64 /* resourceVersion and uid with their NUL: opaque, but never that long */
#define LEASE_TIME_BYTES 40 /* a MicroTime with its NUL */
#define LEASE_LIST_MAX 257  /* per list: one more than the maximum number of replicas */

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

/* The strings of leases are borrowed from root. */
struct lease_doc {
	json_t *root;
	struct lease *leases;
	size_t n;
	size_t n_bad; /* skipped: not a Lease, or with a field longer than above */
	bool more;    /* the list has more than LEASE_LIST_MAX Leases */
};

/* Parses a Lease or a LeaseList. Returns 0, -EBADMSG if it is neither, or -ENOMEM. */
int lease_doc_parse(struct lease_doc *ret, const char *text, size_t len) MUST_CHECK;
void lease_doc_fini(struct lease_doc *d);

/* The content of a Lease of ours. */
struct lease_text {
	const char *namespace;
	const char *group; /* NULL: no labels */
	int64_t duration_s;
	int64_t renewed_ns; /* since the Unix epoch */
	/* version and uid are "" if it is to be created; holder is "" to give it up */
	struct lease lease;
};

/* Returns what json_writer_finish() does. */
int lease_write(struct buf *out, const struct lease_text *t) MUST_CHECK;
/* Writes DeleteOptions that delete only this version. Returns as above. */
int lease_write_delete(struct buf *out, const char *version) MUST_CHECK;

#endif /* COMMON_KUBERNETES_LEASE_JSON_H */
