#include "cluster-agent/push/ingest_params.h"

#include <errno.h>
#include <stdarg.h>

#include "cluster-agent/push/request_time.h"
#include "common/system/clock.h"
#include "common/text/parse.h"

#define DEFAULT_SAMPLE_RATE 100
#define MIN_SAMPLE_RATE 1e-3
#define MAX_SAMPLE_RATE 1e9
/* A window of which only the start is given is not longer than this. */
#define MAX_OPEN_WINDOW_NS (INT64_C(86400) * (int64_t)NS_PER_S)

static bool is_given(const char *text)
{
	return text && *text;
}

void ingest_params_note(struct ingest_params *p, const char *format, ...)
{
	size_t len = strlen(p->note);
	va_list args;

	if (len > 0)
		len += (size_t)snprintf(p->note + len, sizeof(p->note) - len, "; ");
	if (len >= sizeof(p->note))
		return;
	va_start(args, format);
	vsnprintf(p->note + len, sizeof(p->note) - len, format, args);
	va_end(args);
}

static int64_t parse_time(struct ingest_params *p, const char *name, const char *text,
			  int64_t now_ns)
{
	int64_t t;

	if (!is_given(text))
		return 0;
	if (request_time_parse(text, now_ns, &t) == 0)
		return t;
	ingest_params_note(p, "%s is ignored: \"%.32s\" is not a time", name, text);
	return 0;
}

static void parse_window(struct ingest_params *p, const struct ingest_query *q, int64_t now_ns)
{
	p->start_ns = parse_time(p, "from", q->from, now_ns);
	p->end_ns = parse_time(p, "until", q->until, now_ns);
	if (p->start_ns > 0 && p->end_ns == 0)
		p->end_ns = p->start_ns < now_ns - MAX_OPEN_WINDOW_NS ? p->start_ns : now_ns;
	if (p->start_ns > p->end_ns)
		ingest_params_note(p, "from is ignored: it is after until");
	if (p->end_ns > 0 && (p->start_ns == 0 || p->start_ns > p->end_ns))
		p->start_ns = p->end_ns;
}

static void parse_rate(struct ingest_params *p, const struct ingest_query *q)
{
	double rate = DEFAULT_SAMPLE_RATE;

	if (is_given(q->sample_rate) &&
	    (parse_real(q->sample_rate, strlen(q->sample_rate), &rate) < 0 ||
	     !(rate >= MIN_SAMPLE_RATE && rate <= MAX_SAMPLE_RATE))) {
		rate = DEFAULT_SAMPLE_RATE;
		ingest_params_note(p, "sampleRate is taken for %d: \"%.32s\" is not a rate",
				   DEFAULT_SAMPLE_RATE, q->sample_rate);
	}
	p->period_ns = (int64_t)((double)NS_PER_S / rate);
}

static void parse_format(struct ingest_params *p, const struct ingest_query *q)
{
	static const struct {
		const char *name;
		enum ingest_format format;
	} formats[] = {
		{"folded", INGEST_FORMAT_FOLDED},
		{"groups", INGEST_FORMAT_FOLDED},
		{"collapsed", INGEST_FORMAT_FOLDED},
		{"lines", INGEST_FORMAT_LINES},
		{"pprof", INGEST_FORMAT_PPROF},
		{"jfr", INGEST_FORMAT_JFR},
		{"speedscope", INGEST_FORMAT_SPEEDSCOPE},
		{"trie", INGEST_FORMAT_TRIE},
		{"tree", INGEST_FORMAT_TREE},
	};

	if (!is_given(q->format))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(q->format, formats[i].name) == 0) {
			p->format = formats[i].format;
			return;
		}
	}
	ingest_params_note(p, "format \"%.32s\" is not known; the body decides", q->format);
}

static void count_samples(struct ingest_params *p, const char *type)
{
	p->unit = (struct folded_unit){type, "nanoseconds", p->period_ns, true};
}

static void parse_units(struct ingest_params *p, const struct ingest_query *q)
{
	static const struct {
		const char *name, *type, *average, *unit;
	} units[] = {
		{"nanoseconds", "cpu", "cpu", "nanoseconds"},
		{"bytes", "alloc_space", "inuse_space", "bytes"},
		{"objects", "alloc_objects", "inuse_objects", "count"},
		{"goroutines", "goroutine", "goroutine", "count"},
		{"lock_nanoseconds", "delay", "delay", "nanoseconds"},
		{"lock_samples", "contentions", "contentions", "count"},
	};
	bool average = q->aggregation_type && (strcmp(q->aggregation_type, "average") == 0 ||
					       strcmp(q->aggregation_type, "avg") == 0);

	count_samples(p, "cpu");
	for (size_t i = 0; is_given(q->units) && i < ARRAY_SIZE(units); i++) {
		if (strcmp(q->units, units[i].name) != 0)
			continue;
		p->unit = (struct folded_unit){average ? units[i].average : units[i].type,
					       units[i].unit, 1, false};
		p->has_unit = true;
		return;
	}
	p->has_unit = is_given(q->units) && strcmp(q->units, "samples") == 0;
	if (is_given(q->units) && !p->has_unit)
		ingest_params_note(p, "units \"%.32s\" are not known and taken for samples",
				   q->units);
}

/* pkg/ingester/pyroscope/ingest_adapter.go of grafana/pyroscope */
int ingest_params_split_name(struct ingest_params *p)
{
	static const struct {
		const char *ending, *type, *unit, *metric; /* unit NULL: samples of that time */
	} names[] = {
		{".cpu", "cpu", NULL, NULL},
		{".itimer", "cpu", NULL, NULL},
		{".wall", "wall", NULL, NULL},
		{".alloc_objects", "alloc_objects", "count", NULL},
		{".alloc_space", "alloc_space", "bytes", NULL},
		{".inuse_objects", "inuse_objects", "count", NULL},
		{".inuse_space", "inuse_space", "bytes", NULL},
		{".goroutines", "goroutines", "count", NULL},
		{".mutex_count", "contentions", "count", "mutex"},
		{".mutex_duration", "delay", "nanoseconds", "mutex"},
		{".block_count", "contentions", "count", "block"},
		{".block_duration", "delay", "nanoseconds", "block"},
		{".lock_count", "lock_count", "count", "block"},
		{".lock_duration", "lock_duration", "nanoseconds", "block"},
		{".alloc_in_new_tlab_objects", "alloc_in_new_tlab_objects", "count", NULL},
		{".alloc_in_new_tlab_bytes", "alloc_in_new_tlab_bytes", "bytes", NULL},
		{".alloc_outside_tlab_objects", "alloc_outside_tlab_objects", "count", NULL},
		{".alloc_outside_tlab_bytes", "alloc_outside_tlab_bytes", "bytes", NULL},
		{".live", "live", "count", NULL},
		{".exceptions", "exceptions", "count", NULL},
	};
	struct row_text *service = &p->labels.service;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i].ending);
		char *copy;

		if (service->len <= len ||
		    memcmp(service->data + service->len - len, names[i].ending, len) != 0)
			continue;
		copy = arena_strndup(p->labels.arena, service->data, service->len - len);
		if (!copy)
			return arena_error(p->labels.arena, service->len);
		*service = (struct row_text){copy, service->len - len};
		if (names[i].unit)
			p->unit = (struct folded_unit){names[i].type, names[i].unit, 1, false};
		else
			count_samples(p, names[i].type);
		p->has_unit = true;
		p->metric = names[i].metric;
		return 0;
	}
	return 0;
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
	if (r < 0)
		return r;
	parse_window(ret, q, now_ns);
	parse_rate(ret, q);
	parse_format(ret, q);
	parse_units(ret, q);
	return 0;
}
