/*
 * Counters and gauges in Prometheus' text format.
 *
 * A metric is a static array element owned by the module that counts; metrics_register() makes
 * it visible. Adding is atomic and safe from any thread; registration happens before threads
 * start. Labels are fixed text: `reason="ring_full"`; few and bounded. What has labels that come and go is written by
 * its module at each scrape: struct metric_family.
 */
#ifndef COMMON_TELEMETRY_METRICS_H
#define COMMON_TELEMETRY_METRICS_H

#include <stdatomic.h>

#include "common/base.h"
#include "common/data/buf.h"

enum metric_kind {
	METRIC_COUNTER,
	METRIC_GAUGE,
};

struct metric {
	const char *name;   /* metrics that differ in labels alone stand next to each other */
	const char *labels; /* NULL: none */
	const char *help;
	enum metric_kind kind;
	double scale; /* shown value = value × scale; 0 means 1 */
	_Atomic uint64_t value;
	uint64_t (*read)(
		void *ctx); /* when not NULL: asked instead of value, by the scraping thread */
	void *ctx;
};

static inline void metric_add(struct metric *m, uint64_t n)
{
	atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

static inline void metric_set(struct metric *m, uint64_t v)
{
	atomic_store_explicit(&m->value, v, memory_order_relaxed);
}

static inline uint64_t metric_get(struct metric *m)
{
	return atomic_load_explicit(&m->value, memory_order_relaxed);
}

struct metric_family {
	const char *name;
	const char *help;
	enum metric_kind kind;
};

/*
 * Appends the lines of the family with that index, which may be none, each `name{label="…"} value\n`. Called by the scraping
 * thread. Results of buf_add().
 */
typedef int metric_family_fn(void *ctx, size_t family, struct buf *out);

struct metrics;

int metrics_new(struct metrics **ret) MUST_CHECK;
void metrics_free(struct metrics *ms);
DEFINE_CLEANUP(struct metrics *, metrics_free);

/*
 * The array stays the caller's and must outlive ms. -ENOMEM; -EINVAL for a programming error: no
 * name or help, a name that is not [a-z0-9_:], a counter that does not end in _total (or a gauge
 * that does), a name that is registered already and not the last one.
 */
int metrics_register(struct metrics *ms, struct metric *array, size_t n) MUST_CHECK;

/* The same for families whose lines fn writes. */
int metrics_register_families(struct metrics *ms, const struct metric_family *families, size_t n,
			      metric_family_fn *fn, void *ctx) MUST_CHECK;

/* Appends text as it stands between the quotes of a label. Results of buf_add(). */
int metrics_add_label_value(struct buf *out, const char *text) MUST_CHECK;

/*
 * process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds,
 * process_start_time_seconds and <prefix>_build_info{version=…}. Once per ms.
 */
int metrics_register_process(struct metrics *ms, const char *prefix,
			     const char *version) MUST_CHECK;

/* Prometheus text format 0.0.4: HELP and TYPE once per name. From any thread. */
int metrics_write(struct metrics *ms, struct buf *out) MUST_CHECK;

#endif /* COMMON_TELEMETRY_METRICS_H */
