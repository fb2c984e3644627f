#include "node-agent/container/directory_source.h"

#include <errno.h>
#include <inttypes.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"

#define PREFIX "coroot_node_agent_container_source_"
#define PAUSE_MIN_NS (1 * NS_PER_S)
#define PAUSE_MAX_NS (60 * NS_PER_S)

enum {
	FAMILY_REQUESTS,
	FAMILY_SECONDS,
	FAMILY_FAILED,
	FAMILY_MAX,
};

static const struct metric_def families[FAMILY_MAX] = {
	[FAMILY_REQUESTS] = {PREFIX "requests_total", "source",
			     "Requests for names of containers, by source"},
	[FAMILY_SECONDS] = {PREFIX "request_seconds_total", "source",
			    "Time until the requests for names of containers were answered"},
	[FAMILY_FAILED] = {PREFIX "requests_failed_total", "source, reason",
			   "Requests for names of containers that failed, by source and reason"},
};
METRIC_TABLE(family_table, families);

static const struct {
	int error;
	const char *reason;
} reasons[DIRECTORY_SOURCE_FAILURES] = {
	{-ETIMEDOUT, "timeout"},
	{-ECONNREFUSED, "refused"},
	{-ENOENT, "no_socket"},
	{-EACCES, "denied"},
	{-EBADMSG, "bad_answer"},
	{-EFBIG, "too_large"},
	{0, "other"},
};

static size_t reason_of(int error)
{
	size_t i = 0;

	if (error == -EPERM)
		error = -EACCES;
	else if (error == -ENOBUFS)
		error = -EFBIG;
	else if (error == -ECONNRESET)
		error = -ECONNREFUSED;
	while (i + 1 < DIRECTORY_SOURCE_FAILURES && reasons[i].error != error)
		i++;
	return i;
}

void directory_source_init(struct directory_source *s, const struct container_source_config *cfg)
{
	*s = (struct directory_source){.cfg = *cfg};
	s->pause = (struct backoff){
		.min_ns = PAUSE_MIN_NS,
		.max_ns = PAUSE_MAX_NS,
		.random = clock_monotonic_ns() | 1,
	};
}

void directory_source_failed(struct directory_source *s, int error, uint64_t now_ns)
{
	metric_add(&s->n_failures[reason_of(error)], 1);
	s->not_before_ns = now_ns + backoff_next_ns(&s->pause);
	/* without a socket this node just does not have that runtime */
	if (!s->is_failing && error != -ENOENT)
		log_warn("cannot ask for names of containers; they keep their ids until it answers",
			 "source=%s error=\"%s\"", s->cfg.ops->name, strerror(-error));
	s->is_failing = true;
}

bool directory_source_answered(struct directory_source *s)
{
	bool was_failing = s->is_failing;

	backoff_reset(&s->pause);
	s->not_before_ns = 0;
	s->is_failing = false;
	if (was_failing)
		log_info("names of containers can be asked for again", "source=%s",
			 s->cfg.ops->name);
	return was_failing;
}

/* ---- metrics ---- */

static int write_failures(struct directory_source *s, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < DIRECTORY_SOURCE_FAILURES && r == 0; i++)
		r = buf_addf(out, "%s{source=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
			     families[FAMILY_FAILED].name, s->cfg.ops->name, reasons[i].reason,
			     metric_get(&s->n_failures[i]));
	return r;
}

static int write_source(struct directory_source *s, size_t family, struct buf *out)
{
	if (family == FAMILY_FAILED)
		return write_failures(s, out);
	if (family == FAMILY_REQUESTS)
		return buf_addf(out, "%s{source=\"%s\"} %" PRIu64 "\n", families[family].name,
				s->cfg.ops->name, metric_get(&s->n_requests));
	return buf_addf(out, "%s{source=\"%s\"} %.9g\n", families[family].name, s->cfg.ops->name,
			(double)metric_get(&s->request_ns) * 1e-9);
}

static int write_family(void *ctx, size_t family, struct buf *out)
{
	const struct directory_sources *ss = ctx;
	int r = 0;

	for (unsigned i = 0; i < ss->n && r == 0; i++)
		r = write_source(ss->at[i], family, out);
	return r;
}

int directory_sources_register_metrics(struct directory_sources *ss, struct metrics *ms)
{
	return metrics_register_families(ms, "", &family_table, write_family, ss);
}
