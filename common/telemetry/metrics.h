/*
 * Counters and gauges in Prometheus' text format.
 *
 * A module describes its metrics in one static table and counts in an array of the same length:
 *
 *	static const struct metric_def metric_defs[N_METRICS] = {[RETRIES] = {.name = …}, …};
 *	METRIC_TABLE(metric_table, metric_defs);
 *	struct foo { struct metric metrics[N_METRICS]; … };
 *	metrics_register(ms, &metric_table, f->metrics, f);
 *	metric_add(&f->metrics[RETRIES], 1);
 *
 * Counting is atomic and safe from any thread, before and after registration; registration must
 * happen before threads start to read. Labels are fixed text (`reason="ring_full"`): few and
 * bounded. A module whose labels come and go writes its lines itself at each scrape
 * (metrics_register_families). The documentation of all metrics is generated from the tables.
 */
#ifndef COMMON_TELEMETRY_METRICS_H
#define COMMON_TELEMETRY_METRICS_H

#include <stdatomic.h>

#include "common/base.h"
#include "common/data/buf.h"

enum metric_kind {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_COUNTER_NAMED, /* a counter whose name was chosen by others: without _total */
};

static inline bool metric_kind_counts(enum metric_kind kind)
{
	return kind != METRIC_GAUGE;
}

struct metric_def {
	const char *name;   /* a leading '_' stands for the prefix given at registration */
	const char *labels; /* `name="value"`, NULL if none; of a family: the names of its labels */
	const char *help;   /* may be NULL if the entry before has the same name */
	enum metric_kind kind;
	double scale; /* shown value = value × scale; 0 means 1 */
	/* If not NULL, called for the value at each scrape, by the scraping thread. */
	uint64_t (*read)(void *ctx);
};

/* The entries of one name, which differ in their labels, are next to each other. */
struct metric_table {
	const struct metric_def *defs;
	size_t n;
	const char *file; /* the source file, which says whose metrics these are */
};

/*
 * Defines a static struct metric_table for an array of definitions, and lists it in the section
 * "metric_tables", from which the documentation is made.
 */
#define METRIC_TABLE(table, array)                                                     \
	static const struct metric_table table = {array, ARRAY_SIZE(array), __FILE__}; \
	static const struct metric_table *const table##_listed                         \
		__attribute__((used, section("metric_tables"))) = &(table)

/* Zeroed to begin with. */
struct metric {
	_Atomic uint64_t value;
};

static inline void metric_add(struct metric *m, uint64_t n)
{
	atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

/* Of a gauge that several threads raise and lower. */
static inline void metric_sub(struct metric *m, uint64_t n)
{
	metric_add(m, -n);
}

static inline void metric_set(struct metric *m, uint64_t v)
{
	atomic_store_explicit(&m->value, v, memory_order_relaxed);
}

static inline uint64_t metric_get(struct metric *m)
{
	return atomic_load_explicit(&m->value, memory_order_relaxed);
}

/*
 * Appends the lines of one family, which may be none, each `name{label="…"} value\n`. family is the
 * index in the table. Called by the scraping thread. Returns what buf_add() returns.
 */
typedef int metric_family_fn(void *ctx, size_t family, struct buf *out);

struct metrics;

int metrics_new(struct metrics **ret) MUST_CHECK;
void metrics_free(struct metrics *ms);
DEFINE_CLEANUP(struct metrics *, metrics_free);

/*
 * Shows values[i] as t->defs[i]. t and values must outlive ms; ctx is for the read functions.
 * Returns 0, -ENOMEM, or -EINVAL for a mistake in the table: no name or help, a name that is not
 * [a-z0-9_:], a counter that does not end in _total or a gauge that does, or a name that is
 * registered already.
 */
int metrics_register(struct metrics *ms, const struct metric_table *t, struct metric *values,
		     void *ctx) MUST_CHECK;
/* The same, with prefix put before the names that begin with '_'; prefix must outlive ms. */
int metrics_register_as(struct metrics *ms, const char *prefix, const struct metric_table *t,
			struct metric *values, void *ctx) MUST_CHECK;

/* The same for families, whose lines fn writes. */
int metrics_register_families(struct metrics *ms, const char *prefix, const struct metric_table *t,
			      metric_family_fn *fn, void *ctx) MUST_CHECK;

/*
 * Appends text, escaped for its place between the quotes of a label. Returns what buf_add() does.
 */
int metrics_add_label_value(struct buf *out, const char *text) MUST_CHECK;

/* Prometheus text format 0.0.4, HELP and TYPE once per name. From any thread. */
int metrics_write(struct metrics *ms, struct buf *out) MUST_CHECK;

#endif /* COMMON_TELEMETRY_METRICS_H */
