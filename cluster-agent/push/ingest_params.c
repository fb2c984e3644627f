#include "cluster-agent/push/ingest_params.h"

#include <errno.h>

#include "common/system/clock.h"
#include "common/text/parse.h"

#define DEFAULT_SAMPLE_RATE 100u
#define MAX_SAMPLE_RATE 1000000u
/* More would be milliseconds: 1973 in those, the year 5138 in seconds. */
#define MAX_SECONDS UINT64_C(100000000000)

static bool is_given(const char *text)
{
	return text && *text;
}

static int parse_time(const char *name, const char *text, int64_t *ret_ns, struct err *err)
{
	uint64_t t, factor = NS_PER_S;

	if (!is_given(text))
		return 0;
	if (parse_u64(text, strlen(text), 1, INT64_MAX, &t) < 0)
		t = 0;
	for (uint64_t max = MAX_SECONDS; t >= max && factor > 1; max *= 1000)
		factor /= 1000;
	if (t == 0 || __builtin_mul_overflow(t, factor, ret_ns))
		return err_set(err, -EBADMSG,
			       "%s is not a time since the epoch in seconds, or in milli-, micro- "
			       "or nanoseconds",
			       name);
	return 0;
}

static int parse_window(struct ingest_params *p, const struct ingest_query *q, int64_t now_ns,
			struct err *err)
{
	int r = parse_time("from", q->from, &p->start_ns, err);

	if (r == 0)
		r = parse_time("until", q->until, &p->end_ns, err);
	if (r < 0)
		return r;
	if (p->start_ns > 0 && p->end_ns == 0)
		p->end_ns = now_ns;
	if (p->end_ns > 0 && p->start_ns == 0)
		p->start_ns = p->end_ns;
	return p->start_ns <= p->end_ns ? 0 : err_set(err, -EBADMSG, "from is after until");
}

static int parse_rate(struct ingest_params *p, const struct ingest_query *q, struct err *err)
{
	uint64_t rate = 0;

	if (is_given(q->sample_rate) &&
	    parse_u64(q->sample_rate, strlen(q->sample_rate), 0, MAX_SAMPLE_RATE, &rate) < 0)
		return err_set(err, -EBADMSG, "sampleRate is not a number up to %u, per second",
			       MAX_SAMPLE_RATE);
	p->period_ns = (int64_t)(NS_PER_S / (rate > 0 ? rate : DEFAULT_SAMPLE_RATE));
	return 0;
}

static int parse_format(struct ingest_params *p, const struct ingest_query *q, struct err *err)
{
	static const struct {
		const char *name;
		enum ingest_format format;
	} formats[] = {
		{"folded", INGEST_FORMAT_FOLDED},    {"groups", INGEST_FORMAT_FOLDED},
		{"collapsed", INGEST_FORMAT_FOLDED}, {"lines", INGEST_FORMAT_LINES},
		{"pprof", INGEST_FORMAT_PPROF},      {"jfr", INGEST_FORMAT_JFR},
	};

	if (!is_given(q->format))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(q->format, formats[i].name) == 0) {
			p->format = formats[i].format;
			return 0;
		}
	}
	return err_set(err, -EBADMSG,
		       "format \"%.32s\" is none of folded, groups, lines, pprof and jfr",
		       q->format);
}

static int parse_units(struct ingest_params *p, const struct ingest_query *q, struct err *err)
{
	static const struct {
		const char *name, *type, *average, *unit;
	} units[] = {
		{"", "samples", "samples", "count"},
		{"samples", "samples", "samples", "count"},
		{"nanoseconds", "cpu", "cpu", "nanoseconds"},
		{"bytes", "alloc_space", "inuse_space", "bytes"},
		{"objects", "alloc_objects", "inuse_objects", "count"},
		{"goroutines", "goroutine", "goroutine", "count"},
		{"lock_nanoseconds", "delay", "delay", "nanoseconds"},
		{"lock_samples", "contentions", "contentions", "count"},
	};
	const char *unit = q->units ? q->units : "";
	bool average = q->aggregation_type && (strcmp(q->aggregation_type, "average") == 0 ||
					       strcmp(q->aggregation_type, "avg") == 0);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(unit, units[i].name) == 0) {
			p->type = average ? units[i].average : units[i].type;
			p->unit = units[i].unit;
			return 0;
		}
	}
	return err_set(err, -EBADMSG,
		       "units \"%.32s\" is none of samples, nanoseconds, bytes, objects, "
		       "goroutines, lock_samples and lock_nanoseconds",
		       unit);
}

static int parse_name(struct ingest_params *p, const struct ingest_query *q, struct err *err)
{
	enum foreign_source spy = FOREIGN_ANY;
	int r;

	if (!is_given(q->name))
		return err_set(err, -EBADMSG, "query parameter name is missing");
	r = series_labels_add_app(&p->labels, q->name, strlen(q->name), err);
	if (is_given(q->spy_name))
		spy = foreign_source_find(q->spy_name, strlen(q->spy_name));
	if (spy != FOREIGN_ANY)
		p->labels.source = spy;
	return r;
}

int ingest_params_parse(struct ingest_params *ret, struct arena *arena,
			const struct ingest_query *q, int64_t now_ns, struct err *err)
{
	int r;

	*ret = (struct ingest_params){.labels = {.arena = arena}};
	r = parse_name(ret, q, err);
	if (r == 0)
		r = parse_window(ret, q, now_ns, err);
	if (r == 0)
		r = parse_rate(ret, q, err);
	if (r == 0)
		r = parse_format(ret, q, err);
	return r == 0 ? parse_units(ret, q, err) : r;
}
