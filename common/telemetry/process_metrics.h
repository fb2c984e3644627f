/*
 * What every Prometheus client shows of its own process: process_cpu_seconds_total,
 * process_resident_memory_bytes, process_open_fds, process_start_time_seconds, and the version as
 * <prefix>_build_info{version="…"}.
 */
#ifndef COMMON_TELEMETRY_PROCESS_METRICS_H
#define COMMON_TELEMETRY_PROCESS_METRICS_H

#include "common/base.h"
#include "common/telemetry/metrics.h"

/* Once per process and ms. prefix and version must outlive ms. As metrics_register(). */
int process_metrics_register(struct metrics *ms, const char *prefix,
			     const char *version) MUST_CHECK;

#endif /* COMMON_TELEMETRY_PROCESS_METRICS_H */
