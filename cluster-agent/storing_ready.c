#include "cluster-agent/storing_ready.h"

#include "common/system/clock.h"
#include "common/text/json_writer.h"

/* An upload that waits longer than this for the store shows. */
#define LATE_NS (15 * NS_PER_S)
#define BACKLOG_BYTES ((size_t)4096)

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

static void put(struct json_writer *w, const char *name, uint64_t value)
{
	json_key(w, name);
	json_put_int(w, (int64_t)value);
}

void storing_backlog_serve(struct upload_log *l, struct log_drain *d, struct http_exchange *x)
{
	CLEANUP(buf_fini) struct buf out;
	struct upload_log_state log;
	struct log_drain_state drain;
	struct json_writer w;
	size_t len;
	char *body;

	upload_log_state(l, &log);
	log_drain_state(d, &drain);
	buf_init(&out, BACKLOG_BYTES);
	json_writer_init(&w, &out);
	json_open(&w, '{');
	put(&w, "uploads", log.n_records);
	put(&w, "bytes", log.n_bytes);
	put(&w, "oldestSeconds", log.oldest_age_ns / NS_PER_S);
	put(&w, "failingSeconds", drain.failing ? drain.failing_ns / NS_PER_S : 0);
	json_close(&w, '}');
	if (json_writer_finish(&w) < 0) {
		http_respond_text(x, 503, "out of memory");
		return;
	}
	body = buf_take(&out, &len);
	http_respond(x, 200, "application/json", body, len);
}
