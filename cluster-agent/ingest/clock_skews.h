/*
 * The hosts whose clock is wrong, as far as their uploads show it: for /metrics, the log and the
 * page.
 *
 * A skew is known in one of two ways. Our agents compare their clock with this receiver's, correct
 * the times of their profiles, and say by how much. Of anybody else's profile we see that its time
 * cannot be right: it is then stored at the time of its arrival (profile_rows.h), and the
 * difference is taken for the skew. A host is forgotten when it has sent nothing of the kind for
 * CLOCK_SKEW_SHOWN_NS. Hosts are limited in number, as their names are foreign; a new one takes the
 * place of the one that was seen longest ago. From any thread.
 */
#ifndef CLUSTER_AGENT_INGEST_CLOCK_SKEWS_H
#define CLUSTER_AGENT_INGEST_CLOCK_SKEWS_H

#include "cluster-agent/store/row_batch.h"
#include "common/base.h"
#include "common/data/buf.h"

#define CLOCK_SKEWS_MAX_HOSTS 256u
#define CLOCK_SKEW_HOST_BYTES 128u
#define CLOCK_SKEW_SHOWN_NS (UINT64_C(600) * 1000000000)

struct clock_skews;
struct metrics;

enum clock_skew_kind {
	CLOCK_SKEW_CORRECTED,  /* by the sender */
	CLOCK_SKEW_AT_ARRIVAL, /* profiles are stored at the time of their arrival */
};

int clock_skews_new(struct clock_skews **ret) MUST_CHECK;
void clock_skews_free(struct clock_skews *cs);
DEFINE_CLEANUP(struct clock_skews *, clock_skews_free);

/* The gauge coroot_cluster_agent_clock_skew_seconds by host. cs must outlive ms. */
int clock_skews_register(struct clock_skews *cs, struct metrics *ms) MUST_CHECK;

/*
 * A host's clock is skew_ns ahead of ours, behind if negative. host may be "" if it is unknown.
 * Logs it once an hour for each host.
 */
void clock_skews_note(struct clock_skews *cs, struct row_text host, int64_t skew_ns,
		      enum clock_skew_kind kind);

/*
 * Writes {"hosts":[{"host","skewSeconds","corrected","lastSeen"}]}, the largest skew first. Returns
 * 0 or what buf_add() does.
 */
int clock_skews_json(struct clock_skews *cs, struct buf *out) MUST_CHECK;

#define CLOCK_SKEW_TEXT_BYTES 32u
/* "50m ahead", "30d behind": few different texts, as it becomes the value of a label. Pure. */
void clock_skew_text(int64_t skew_ns, char ret[static CLOCK_SKEW_TEXT_BYTES]);

#endif /* CLUSTER_AGENT_INGEST_CLOCK_SKEWS_H */
