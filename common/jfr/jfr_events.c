#include "common/jfr/jfr_events.h"

#include <math.h>

#define DEFAULT_CPU_INTERVAL_NS UINT64_C(10000000)
#define DEFAULT_WALL_INTERVAL_NS UINT64_C(50000000)
#define DEFAULT_ALLOC_INTERVAL_BYTES UINT64_C(524287)

enum slot { SLOT_STACK, SLOT_VALUE, SLOT_CLASS, SLOT_SIZE };
/* of settings */
enum { SLOT_NAME, SLOT_TEXT, SLOT_ID };

static const struct definition {
	const char *type;
	enum jfr_kind kind;
	struct jfr_wanted fields;
} definitions[JFR_EVENT_MAX] = {
	[JFR_EVENT_EXECUTION] = {"jdk.ExecutionSample",
				 JFR_CPU,
				 {{"stackTrace", NULL, "state"}, 1, true}},
	[JFR_EVENT_CPU_TIME] = {"jdk.CPUTimeSample",
				JFR_CPU,
				{{"stackTrace", "samplingPeriod"}, 2, true}},
	[JFR_EVENT_NATIVE] = {"jdk.NativeMethodSample", JFR_NATIVE, {{"stackTrace"}, 1, true}},
	[JFR_EVENT_WALL] = {"profiler.WallClockSample",
			    JFR_WALL,
			    {{"stackTrace", "samples"}, 2, true}},
	[JFR_EVENT_ALLOC_SAMPLE] = {"jdk.ObjectAllocationSample",
				    JFR_ALLOC,
				    {{"stackTrace", "weight", "objectClass"}, 2, true}},
	[JFR_EVENT_ALLOC_TLAB] = {"jdk.ObjectAllocationInNewTLAB",
				  JFR_ALLOC,
				  {{"stackTrace", "tlabSize", "objectClass", "allocationSize"},
				   2,
				   true}},
	[JFR_EVENT_ALLOC_OUTSIDE] = {"jdk.ObjectAllocationOutsideTLAB",
				     JFR_ALLOC,
				     {{"stackTrace", "allocationSize", "objectClass"}, 2, true}},
	[JFR_EVENT_LIVE] = {"profiler.LiveObject",
			    JFR_LIVE,
			    {{"stackTrace", "allocationSize", "objectClass"}, 2, true}},
	[JFR_EVENT_OLD_OBJECT] = {"jdk.OldObjectSample",
				  JFR_LIVE,
				  {{"stackTrace", "objectSize"}, 1, true}},
	[JFR_EVENT_MONITOR_ENTER] = {"jdk.JavaMonitorEnter",
				     JFR_LOCK,
				     {{"stackTrace", "duration", "monitorClass"}, 2, true}},
	[JFR_EVENT_MONITOR_WAIT] = {"jdk.JavaMonitorWait",
				    JFR_WAIT,
				    {{"stackTrace", "duration", "monitorClass"}, 2, true}},
	[JFR_EVENT_PARK] = {"jdk.ThreadPark",
			    JFR_PARK,
			    {{"stackTrace", "duration", "parkedClass"}, 2, true}},
	[JFR_EVENT_MALLOC] = {"profiler.Malloc", JFR_MALLOC, {{"stackTrace", "size"}, 2, true}},
	[JFR_EVENT_SETTING] = {"jdk.ActiveSetting",
			       JFR_KIND_MAX,
			       {{"name", "value", "id"}, 2, true}},
};

void jfr_events_init(struct jfr_events *e, const struct jfr_settings *settings)
{
	memset(e, 0, sizeof(*e));
	if (settings)
		e->settings = *settings;
}

static bool has_async_profiler_types(const struct jfr_metadata *m)
{
	static const char prefix[] = "profiler.";

	for (uint32_t i = 0; i < m->n_types; i++) {
		if (strncmp(m->types[i].name, prefix, sizeof(prefix) - 1) == 0)
			return true;
	}
	return false;
}

void jfr_events_prepare(struct jfr_events *e, const struct jfr_metadata *m,
			uint64_t ticks_per_second)
{
	memset(e->direct, 0, sizeof(e->direct));
	e->is_async_profiler = has_async_profiler_types(m);
	e->ns_per_tick = 1e9 / (double)ticks_per_second;
	for (size_t i = 0; i < JFR_EVENT_MAX; i++) {
		const struct definition *d = &definitions[i];
		const struct jfr_type *t = jfr_metadata_find_name(m, d->type);

		if (!jfr_plan_make(&e->plans[i], m, t, &d->fields)) {
			e->plans[i].n = 0;
			continue;
		}
		e->ids[i] = t->id;
		if (t->id < JFR_EVENT_DIRECT_IDS)
			e->direct[t->id] = (uint8_t)(i + 1);
	}
}

/* "20 ms", as the JDK writes timespans; 0 if it is something else, such as "everyChunk". */
static uint64_t parse_timespan(const char *text)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {
		{"ns", 1},   {"us", 1e3},   {"ms", 1e6},    {"s", 1e9},
		{"m", 60e9}, {"h", 3600e9}, {"d", 86400e9},
	};
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	while (*end == ' ')
		end++;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].unit) == 0 && (double)n * units[i].ns < 1e18)
			return (uint64_t)((double)n * units[i].ns);
	}
	return 0;
}

static uint64_t number_or(const char *text, uint64_t if_zero)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	/* settings of -1 are off */
	if (*end != '\0' || n > INT64_MAX)
		return 0;
	return n != 0 ? n : if_zero;
}

static void learn_event(struct jfr_events *e, const char *event)
{
	static const char *const of_time[] = {"cpu", "itimer", "ctimer", "wall", ""};
	bool is_time = false;

	for (size_t i = 0; i < ARRAY_SIZE(of_time); i++)
		is_time = is_time || strcmp(event, of_time[i]) == 0;
	e->event_is_count = !is_time;
	e->event_is_wall = strcmp(event, "wall") == 0;
}

static void learn_async_profiler(struct jfr_events *e, const char *name, const char *value)
{
	struct jfr_settings *s = &e->settings;

	bool is_interval = strcmp(name, "interval") == 0;

	if (strcmp(name, "event") == 0)
		learn_event(e, value);
	else if (strcmp(name, "wall") == 0 || (is_interval && e->event_is_wall))
		s->wall_interval_ns = number_or(value, DEFAULT_WALL_INTERVAL_NS);
	else if (is_interval)
		s->cpu_interval_ns =
			e->event_is_count ? 0 : number_or(value, DEFAULT_CPU_INTERVAL_NS);
	else if (strcmp(name, "nobatch") == 0)
		e->state_tells_wall = strcmp(value, "true") == 0;
	else if (strcmp(name, "alloc") == 0)
		s->alloc_interval_bytes = number_or(value, DEFAULT_ALLOC_INTERVAL_BYTES);
	else if (strcmp(name, "lock") == 0)
		s->lock_interval_ns = number_or(value, 0);
}

static void read_setting(struct jfr_events *e, struct jfr_reader *r)
{
	UNINITIALIZED uint64_t slots[JFR_PLAN_SLOTS_MAX + 1];
	struct jfr_text texts[SLOT_ID + 1];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		texts[i].kind = JFR_TEXT_NULL;
		texts[i].text[0] = '\0';
	}
	jfr_plan_read(&e->plans[JFR_EVENT_SETTING], r, slots, texts);
	if (r->error != 0 || texts[SLOT_NAME].kind != JFR_TEXT_INLINE)
		return;
	if (e->is_async_profiler)
		learn_async_profiler(e, texts[SLOT_NAME].text, texts[SLOT_TEXT].text);
	else if (strcmp(texts[SLOT_NAME].text, "period") == 0 &&
		 e->plans[JFR_EVENT_EXECUTION].n != 0 &&
		 slots[SLOT_ID] == e->ids[JFR_EVENT_EXECUTION])
		e->settings.cpu_interval_ns = parse_timespan(texts[SLOT_TEXT].text);
	else if (strcmp(texts[SLOT_NAME].text, "period") == 0 &&
		 e->plans[JFR_EVENT_NATIVE].n != 0 && slots[SLOT_ID] == e->ids[JFR_EVENT_NATIVE])
		e->settings.wall_interval_ns = parse_timespan(texts[SLOT_TEXT].text);
}

/* For each object of that size sampled at exponentially distributed points, so many bytes. */
static double sampled_bytes(double size, double interval)
{
	if (interval <= 1)
		return size;
	return size / -expm1(-size / interval);
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* s->amount is total, the object's size is what the event says. */
static void weigh_allocation(const struct jfr_events *e, enum jfr_event event, double size,
			     struct jfr_sample *s)
{
	double interval = (double)e->settings.alloc_interval_bytes;
	bool is_sampled = event == JFR_EVENT_LIVE ||
			  (event == JFR_EVENT_ALLOC_TLAB && s->amount == larger(size, interval));

	if (event == JFR_EVENT_ALLOC_SAMPLE)
		return;
	if (size > 0 && e->is_async_profiler && is_sampled)
		s->amount = sampled_bytes(size, interval);
	else if (e->is_async_profiler && event != JFR_EVENT_LIVE)
		s->amount = larger(s->amount, interval);
	if (size > 0)
		s->count = s->amount / size;
}

static void weigh_wait(const struct jfr_events *e, enum jfr_event event, struct jfr_sample *s)
{
	double interval = (double)e->settings.lock_interval_ns;

	s->amount *= e->ns_per_tick;
	if (e->is_async_profiler && event != JFR_EVENT_MONITOR_WAIT && s->amount < interval &&
	    s->amount > 0) {
		s->count = interval / s->amount;
		s->amount = interval;
	}
}

/* Numbers are signed in Java; negative ones make no sense here. */
static double positive(uint64_t value)
{
	return value <= INT64_MAX ? (double)value : 0;
}

bool jfr_events_read(struct jfr_events *e, enum jfr_event event, struct jfr_reader *r,
		     struct jfr_sample *ret)
{
	UNINITIALIZED uint64_t slots[JFR_PLAN_SLOTS_MAX + 1];
	double value;

	if (event == JFR_EVENT_SETTING) {
		read_setting(e, r);
		return false;
	}
	jfr_plan_read(&e->plans[event], r, slots, NULL);
	value = positive(slots[SLOT_VALUE]);
	*ret = (struct jfr_sample){
		.kind = definitions[event].kind,
		.stack = slots[SLOT_STACK],
		.class_id = slots[SLOT_CLASS],
		.count = 1,
		.amount = value,
	};
	switch (event) {
	case JFR_EVENT_EXECUTION:
		if (!e->state_tells_wall)
			ret->class_id = 0;
		break;
	case JFR_EVENT_CPU_TIME:
		ret->amount *= e->ns_per_tick;
		break;
	case JFR_EVENT_WALL:
		ret->count = value;
		ret->amount = 0;
		break;
	case JFR_EVENT_ALLOC_SAMPLE:
	case JFR_EVENT_ALLOC_OUTSIDE:
	case JFR_EVENT_LIVE:
		weigh_allocation(e, event, value, ret);
		break;
	case JFR_EVENT_ALLOC_TLAB:
		weigh_allocation(e, event, positive(slots[SLOT_SIZE]), ret);
		break;
	case JFR_EVENT_MONITOR_ENTER:
	case JFR_EVENT_MONITOR_WAIT:
	case JFR_EVENT_PARK:
		weigh_wait(e, event, ret);
		break;
	default:
		break;
	}
	return true;
}
