/*
 * A time in a query of Pyroscope's API → nanoseconds since the epoch. Pure; foreign data.
 *
 * Blanks, '_' and ',' are ignored. Numbers are seconds, milliseconds, microseconds or nanoseconds
 * since the epoch, recognised by their size, and may have a fraction; eight digits that are a day,
 * "20261128", are its start in UTC. Others are RFC 3339, or an offset to now: "now-1h30m", "-7d".
 *
 * Source of the forms: pkg/og/util/attime of grafana/pyroscope.
 */
#ifndef CLUSTER_AGENT_PUSH_REQUEST_TIME_H
#define CLUSTER_AGENT_PUSH_REQUEST_TIME_H

#include "common/base.h"

/* Returns 0, or -EINVAL if it is no time or before the epoch or after the year 2262. */
int request_time_parse(const char *text, int64_t now_ns, int64_t *ret_ns) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_REQUEST_TIME_H */
