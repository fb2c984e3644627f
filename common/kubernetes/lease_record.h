/*
 * A Lease as this process would write it, and which request about it comes next. Of several
 * processes that want it, one succeeds, because a write names the version that it replaces. Pure;
 * times come from the caller, monotonic, in ns.
 */
#ifndef COMMON_KUBERNETES_LEASE_RECORD_H
#define COMMON_KUBERNETES_LEASE_RECORD_H

#include "common/base.h"
#include "common/kubernetes/lease_json.h"

#define LEASE_HOLDER_BYTES (LEASE_NAME_BYTES + 20)

enum lease_step {
	LEASE_READ, /* GET */
	LEASE_CREATE,
	LEASE_WRITE, /* PUT: renew it, or take it over */
};

enum lease_owner {
	LEASE_ABSENT,
	LEASE_OURS,
	LEASE_OTHERS, /* or nobody's: its holder may be empty */
};

struct lease_record {
	char name[LEASE_NAME_BYTES];
	char holder[LEASE_HOLDER_BYTES]; /* identifies this process; never used by another */
	enum lease_step step;
	char version[LEASE_VERSION_BYTES];
	char uid[LEASE_VERSION_BYTES];
	char acquired[LEASE_TIME_BYTES]; /* "": acquired by this write */
	int64_t transitions;

	/* of another holder; "": none */
	char seen_version[LEASE_VERSION_BYTES];
	uint64_t seen_ns; /* when that version was first seen */
};

/* Both must fit their arrays. */
void lease_record_init(struct lease_record *l, const char *name, const char *holder);

/* "<host>_<random number>", at most LEASE_NAME_BYTES of the first. Returns 0 or -EIO. */
int lease_holder_make(char ret[static LEASE_HOLDER_BYTES], const char *host) MUST_CHECK;

/*
 * Handles what a read found: NULL if there is no Lease, which is then to be created. Ours is to be
 * renewed. About that of others the caller decides.
 */
enum lease_owner lease_record_read(struct lease_record *l, const struct lease *got);
/*
 * Whether its holder is alive: a read that was sent expiry_ns after this version was first seen
 * has not shown it again.
 */
bool lease_record_is_alive(struct lease_record *l, const struct lease *got, uint64_t sent_ns,
			   uint64_t now_ns, uint64_t expiry_ns);
/* It is to be taken over from its holder. */
void lease_record_take(struct lease_record *l, const struct lease *got);
/* It was created or written, with this result. */
void lease_record_written(struct lease_record *l, const struct lease *got);
/* A write was refused, or its result is unknown: read the Lease next. */
void lease_record_unknown(struct lease_record *l);

/* The Lease to write; strings are borrowed from l. */
void lease_record_text(const struct lease_record *l, struct lease *ret);

#endif /* COMMON_KUBERNETES_LEASE_RECORD_H */
