#include "node-agent/container/directory_source.h"

#include <errno.h>
#include <inttypes.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"

#define PREFIX "coroot_node_agent_container_source_"
#define PAUSE_MIN_NS (1 * NS_PER_S)
#define PAUSE_MAX_NS (60 * NS_PER_S)
#define GONE_NS (60 * NS_PER_S)

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
	if (!s->is_reported && error != -ENOENT) {
		log_warn("cannot ask for names of containers; they keep their ids until it answers",
			 "source=%s error=\"%s\"", s->cfg.ops->name, strerror(-error));
		s->is_reported = true;
	}
	if (!s->is_failing)
		s->failing_since_ns = now_ns;
	s->is_failing = true;
}

bool directory_source_is_dispensable(const struct directory_source *s, uint64_t now_ns)
{
	return s->cfg.is_users || (s->is_failing && now_ns >= s->failing_since_ns + GONE_NS);
}

bool directory_source_answered(struct directory_source *s)
{
	bool was_failing = s->is_failing;

	backoff_reset(&s->pause);
	s->not_before_ns = 0;
	s->is_failing = false;
	if (s->is_reported)
		log_info("names of containers can be asked for again", "source=%s",
			 s->cfg.ops->name);
	s->is_reported = false;
	return was_failing;
}

/* ---- metrics ---- */

/* The counter of a family, of all sources with the same name as s. */
static uint64_t sum_up(const struct directory_sources *ss, const struct directory_source *s,
		       size_t family, size_t reason)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ss->n; i++) {
		struct directory_source *other = ss->at[i];

		if (strcmp(other->cfg.ops->name, s->cfg.ops->name) != 0)
			continue;
		if (family == FAMILY_FAILED)
			sum += metric_get(&other->n_failures[reason]);
		else
			sum += metric_get(family == FAMILY_REQUESTS ? &other->n_requests
								    : &other->request_ns);
	}
	return sum;
}

static int write_failures(const struct directory_sources *ss, const struct directory_source *s,
			  struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < DIRECTORY_SOURCE_FAILURES && r == 0; i++)
		r = buf_addf(out, "%s{source=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
			     families[FAMILY_FAILED].name, s->cfg.ops->name, reasons[i].reason,
			     sum_up(ss, s, FAMILY_FAILED, i));
	return r;
}

static int write_source(const struct directory_sources *ss, const struct directory_source *s,
			size_t family, struct buf *out)
{
	double scale = families[family].scale != 0 ? families[family].scale : 1;

	if (family == FAMILY_FAILED)
		return write_failures(ss, s, out);
	return buf_addf(out, "%s{source=\"%s\"} %.15g\n", families[family].name, s->cfg.ops->name,
			(double)sum_up(ss, s, family, 0) * scale);
}

static bool is_first_of_its_name(const struct directory_sources *ss, unsigned i)
{
	for (unsigned k = 0; k < i; k++) {
		if (strcmp(ss->at[k]->cfg.ops->name, ss->at[i]->cfg.ops->name) == 0)
			return false;
	}
	return true;
}

static int write_family(void *ctx, size_t family, struct buf *out)
{
	const struct directory_sources *ss = ctx;
	int r = 0;

	pthread_mutex_lock(ss->lock);
	for (unsigned i = 0; i < ss->n && r == 0; i++) {
		if (is_first_of_its_name(ss, i))
			r = write_source(ss, ss->at[i], family, out);
	}
	pthread_mutex_unlock(ss->lock);
	return r;
}

int directory_sources_register_metrics(struct directory_sources *ss, struct metrics *ms)
{
	return metrics_register_families(ms, "", &family_table, write_family, ss);
}
