#include "cluster-agent/query/read/timeline.h"

#include <math.h>

#include "common/system/clock.h"

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int compare_start(const void *a, const void *b)
{
	const struct timeline_window *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/*
 * Adds to each step its part of the window. Windows come sorted by start, and covered_to is how
 * far the earlier ones reach, so only time after it is covered for the first time.
 */
static void spread(struct timeline *t, const struct timeline_window *w, int64_t covered_to)
{
	int64_t from = max64(w->start_ns, t->from_ns);
	int64_t to = min64(w->end_ns, t->from_ns + t->step_ns * t->n_steps);
	double per_ns = w->value;

	if (t->aggregation == PROFILE_AGGREGATION_SUM)
		per_ns /= (double)((uint64_t)w->end_ns - (uint64_t)w->start_ns);
	while (from < to) {
		int64_t i = (from - t->from_ns) / t->step_ns;
		int64_t part_end = min64(t->from_ns + (i + 1) * t->step_ns, to);
		int64_t new_from = max64(from, covered_to);

		t->steps[i].value += per_ns * (double)(part_end - from);
		if (part_end > new_from && !w->is_value)
			t->steps[i].covered_ns += (double)(part_end - new_from);
		from = part_end;
	}
}

static void give_length(struct timeline_window *w, enum profile_aggregation aggregation)
{
	if (w->end_ns > w->start_ns || w->start_ns == INT64_MAX)
		return;
	if (aggregation == PROFILE_AGGREGATION_SUM && w->end_ns > INT64_MIN + (int64_t)NS_PER_S)
		w->start_ns = w->end_ns - (int64_t)NS_PER_S;
	else
		w->end_ns = w->start_ns + 1;
}

void timeline_fill(struct timeline *t, struct timeline_window *windows, size_t n_windows)
{
	double per = t->aggregation == PROFILE_AGGREGATION_SUM ? (double)NS_PER_S : 1;
	int64_t covered_to = INT64_MIN;

	memset(t->steps, 0, t->n_steps * sizeof(*t->steps));
	for (size_t i = 0; i < n_windows; i++)
		give_length(&windows[i], t->aggregation);
	if (n_windows > 0)
		qsort(windows, n_windows, sizeof(*windows), compare_start);
	for (size_t i = 0; i < n_windows; i++) {
		if (windows[i].start_ns == INT64_MAX)
			break;
		spread(t, &windows[i], covered_to);
		if (!windows[i].is_value)
			covered_to = max64(covered_to, windows[i].end_ns);
	}
	for (uint32_t i = 0; i < t->n_steps; i++) {
		struct timeline_step *s = &t->steps[i];

		s->value = s->covered_ns > 0 ? s->value / s->covered_ns * per : NAN;
	}
}

double timeline_covered_ns(const struct timeline_window *windows, size_t n_windows, int64_t from_ns,
			   int64_t to_ns)
{
	int64_t covered_to = from_ns;
	double sum = 0;

	for (size_t i = 0; i < n_windows; i++) {
		int64_t from = max64(windows[i].start_ns, covered_to);
		int64_t to = min64(windows[i].end_ns, to_ns);

		if (windows[i].is_value || to <= from)
			continue;
		sum += (double)(to - from);
		covered_to = to;
	}
	return sum;
}

#define HOUR_MS INT64_C(3600000)

int64_t timeline_step_ms(int64_t range_ms, uint32_t n_points)
{
	static const int64_t round_s[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
					  600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
	int64_t least_ms = (range_ms + n_points - 1) / n_points;

	for (size_t i = 0; i < ARRAY_SIZE(round_s); i++)
		if (round_s[i] * 1000 >= least_ms)
			return round_s[i] * 1000;
	return (least_ms + HOUR_MS - 1) / HOUR_MS * HOUR_MS;
}

void timeline_set_steps(struct timeline *t, int64_t from_ns, int64_t to_ns, uint32_t n_points)
{
	const int64_t hour_ns = HOUR_MS * (int64_t)NS_PER_MS;
	int64_t range_ms = (to_ns - from_ns) / (int64_t)NS_PER_MS;
	int64_t step_ms = timeline_step_ms(range_ms, n_points);

	if (step_ms >= HOUR_MS && from_ns > 0) {
		from_ns -= from_ns % hour_ns;
		range_ms = (to_ns - from_ns) / (int64_t)NS_PER_MS;
		step_ms = timeline_step_ms(range_ms, n_points);
	}
	t->from_ns = from_ns;
	t->step_ns = step_ms * (int64_t)NS_PER_MS;
	t->n_steps = (uint32_t)((range_ms + step_ms - 1) / step_ms);
}
