#include "cluster-agent/storing_ready.h"

#include "common/system/clock.h"

/* An upload that waits longer than this for the store shows. */
#define LATE_NS (15 * NS_PER_S)

static const char *refusal_of(const struct upload_log_state *log)
{
	if (log->disk_full)
		return "uploads are refused: the disk of the write-ahead log is full";
	return log->full ? "uploads are refused: the write-ahead log is full" : NULL;
}

void storing_ready_serve(struct upload_log *l, struct log_drain *d, struct http_exchange *x)
{
	struct upload_log_state log;
	struct log_drain_state drain;
	char store[80] = "the store takes rows";
	const char *refusal;

	upload_log_state(l, &log);
	log_drain_state(d, &drain);
	refusal = refusal_of(&log);
	/* the reason is in the log: it may name servers and users */
	if (drain.failing)
		snprintf(store, sizeof(store), "the store has not taken rows for %llu s",
			 (unsigned long long)(drain.failing_ns / NS_PER_S));
	else if (log.oldest_age_ns > LATE_NS)
		snprintf(store, sizeof(store), "the store is behind, or does not answer");
	else if (log.oldest_age_ns == 0)
		snprintf(store, sizeof(store), "nothing waits for the store");
	http_respond_text(x, refusal ? 503 : 200,
			  "%s\n%s\nwrite-ahead log: %llu of %llu bytes wait, the oldest for %llu s",
			  refusal ? refusal : "ok", store, (unsigned long long)log.n_bytes,
			  (unsigned long long)log.max_bytes,
			  (unsigned long long)(log.oldest_age_ns / NS_PER_S));
}
