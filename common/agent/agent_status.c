#include "common/agent/agent_status.h"

#include "common/data/buf.h"
#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "common/telemetry/metrics.h"

#define MAX_SILENCE_NS (30 * NS_PER_S)
#define MAX_METRICS_BYTES ((size_t)16 << 20) /* a thousand containers with long names */

void agent_status_init(struct agent_status *s, struct metrics *metrics)
{
	s->metrics = metrics;
	atomic_init(&s->last_beat_ns, clock_monotonic_ns());
}

void agent_status_beat(struct agent_status *s)
{
	atomic_store(&s->last_beat_ns, clock_monotonic_ns());
}

void agent_status_healthz(void *ctx, struct http_exchange *x)
{
	struct agent_status *s = ctx;
	uint64_t silent_ns = clock_monotonic_ns() - atomic_load(&s->last_beat_ns);

	if (silent_ns > MAX_SILENCE_NS)
		http_respond_text(x, 503, "the loop has not turned for %llu s",
				  (unsigned long long)(silent_ns / NS_PER_S));
	else
		http_respond_text(x, 200, "ok");
}

void agent_status_metrics(void *ctx, struct http_exchange *x)
{
	struct agent_status *s = ctx;
	CLEANUP(buf_fini) struct buf b;
	size_t len;
	char *body;

	buf_init(&b, MAX_METRICS_BYTES);
	if (metrics_write(s->metrics, &b) < 0) {
		http_respond_text(x, 500, "out of memory");
		return;
	}
	body = buf_take(&b, &len);
	http_respond(x, 200, "text/plain; version=0.0.4; charset=utf-8", body, len);
}
